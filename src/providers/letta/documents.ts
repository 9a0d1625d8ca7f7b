import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, decodeText, parseJson } from "../../core/tools/json.ts";
import { idOf, key } from "./keys.ts";
import { endOf } from "./spawns.ts";

/** `conversation.json`: its title, if it has one. */
export class ConversationFile implements Parser {
  readonly #id: string;
  readonly #file: SourceFile;

  constructor(id: string, file: SourceFile) {
    this.#id = id;
    this.#file = file;
  }

  push(record: Uint8Array): Findings {
    const json = asObject(parseJson(decodeText(record).text)?.value);
    if (json === null) return problemAt(this.#file.path, 0, "line-not-json", `${record.length} bytes`);
    const title = asNonBlank(json.summary);
    // Every agent has a conversation, which is often not used.
    if (title === null || asList(json.in_context_message_ids).length === 0) return NOTHING;
    const thread = key.thread(this.#id);
    const out = new FindingsOf({ path: this.#file.path, line: 0, at: null, speaker: thread, keys: [] });
    out.addOfFile({ type: "thread-titled", of: thread, title, rank: 1 });
    return out;
  }

  events = () => [];
  save = () => null;
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
