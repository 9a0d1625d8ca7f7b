import { FindingsOf } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asText, decodeText, type JsonObject } from "../../core/tools/json.ts";
import { JsonRecords } from "../kit/json-records.ts";
import { idOf, key } from "./keys.ts";
import { endOf } from "./spawns.ts";

/** `conversation.json`: its title, if it has one. Every agent has a conversation, which is often not used. */
export function conversationFile(id: string, file: SourceFile): Parser {
  const thread = key.thread(id);
  const isUsed = (json: JsonObject) => asList(json.in_context_message_ids).length > 0;
  return new JsonRecords(file, {
    speaker: (json) => (asNonBlank(json.summary) !== null && isUsed(json) ? thread : null),
    read: (json, out) =>
      out.addOfFile({ type: "thread-titled", of: thread, title: asText(json.summary) ?? "", rank: 1 }),
  });
}

const HEADER = /^subagent_type=(?:.*)\bsubagent_status=(\w+) agent_id=([\w.-]+)(?: conversation_id=([\w.-]+))?/m;
const ERROR = /^\s*"message": "((?:[^"\\]|\\.)*)"/m;

/** `task_<n>.log` of a background task. It alone states that an agent failed, and it has no times. */
export class TaskLog implements Parser {
  readonly #file: SourceFile;

  constructor(file: SourceFile) {
    this.#file = file;
  }

  push(record: Uint8Array): Findings {
    const { text } = decodeText(record);
    const [, status, agent, conversation = null] = HEADER.exec(text) ?? [];
    const state = status === undefined ? null : endOf(status);
    // An agent that succeeds records its last response.
    if (status === undefined || agent === undefined || state === null || state === "completed") return NOTHING;
    const child = key.thread(idOf(agent, conversation));
    const out = new FindingsOf({ path: this.#file.path, line: 0, at: null, speaker: child, keys: [] });
    const [, block = ""] = /^\[error\] ([\s\S]*)$/m.exec(text) ?? [];
    const error = ERROR.exec(block)?.[1]?.replaceAll('\\"', '"') ?? block.split("\n")[0] ?? "";
    out.add({
      type: "lifecycle",
      of: child,
      state,
      source: "protocol",
      says: `the log of its task has status ${status}${error === "" ? "" : `: ${error}`}`,
      result: null,
    });
    return out;
  }

  events = () => [];
  save = () => null;
}
