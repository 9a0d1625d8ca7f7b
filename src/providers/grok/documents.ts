import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asTime, decodeText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { readEnd } from "./spawns.ts";

type Read = (out: FindingsOf, json: JsonObject) => void;

/** A file with one JSON value about a session. */
class Document implements Parser {
  readonly #session: string;
  readonly #file: SourceFile;
  readonly #read: Read;

  constructor(session: string, file: SourceFile, read: Read) {
    this.#session = session;
    this.#file = file;
    this.#read = read;
  }

  push(record: Uint8Array): Findings {
    const json = asObject(parseJson(decodeText(record).text)?.value);
    if (json === null) return problemAt(this.#file.path, 0, "line-not-json", `${record.length} bytes`);
    const speaker = key.session(this.#session);
    const out = new FindingsOf({ path: this.#file.path, line: 0, at: null, speaker, keys: [] });
    this.#read(out, json);
    return out;
  }

  events = () => [];
  save = () => null;
}

/** `summary.json`: folder and title. A forked session names its original as parent; that is not a spawn. */
export const summary = (session: string, file: SourceFile) =>
  new Document(session, file, (out, json) => {
    const agent = key.session(session);
    const cwd = asNonBlank(asObject(json.info)?.cwd);
    const isChild = json.session_kind === "subagent";
    out.add({
      type: "agent-described",
      agent,
      ...(cwd === null ? {} : { cwd }),
      ...(isChild ? { kind: "subagent" as const } : {}),
    });
    if (cwd !== null && !isChild) out.addAt(asTime(json.created_at), { type: "thread-began", thread: agent, cwd });
    const title = asNonBlank(json.generated_title);
    if (title !== null && !isChild) out.add({ type: "thread-titled", of: agent, title, rank: 1 });
  });

/** `subagents/<agent>/meta.json` of the root, for agents of any depth. */
export const meta = (root: string, id: string, file: SourceFile) =>
  new Document(root, file, (out, json) => {
    const agent = key.session(id);
    const [prompt, description, agentType] = [json.prompt, json.description, json.subagent_type].map(asNonBlank);
    out.add({
      type: "agent-described",
      agent,
      kind: "subagent",
      ...(prompt == null ? {} : { prompt }),
      ...(description == null ? {} : { description }),
      ...(agentType == null ? {} : { agentType }),
    });
    // A fallback: the root is named whatever the depth.
    out.add({
      type: "parent-named",
      child: agent,
      parent: key.session(root),
      rule: "subagents/<agent>/meta.json",
      source: "protocol",
      confidence: 0.5,
      says: `it is listed among the agents of session ${root}`,
    });
    readEnd(out, agent, json, asTime(json.completed_at), "the list of its root");
  });
