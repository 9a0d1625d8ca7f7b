import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, decodeText, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/** `state.json` of a session: its folder, title and agents. Rewritten as a whole. */
export class State implements Parser {
  readonly #session: string;
  readonly #file: SourceFile;

  constructor(session: string, file: SourceFile) {
    this.#session = session;
    this.#file = file;
  }

  push(record: Uint8Array): Findings {
    const json = asObject(parseJson(decodeText(record).text)?.value);
    if (json === null) return problemAt(this.#file.path, 0, "line-not-json", `${record.length} bytes`);
    const thread = key.agent(this.#session, key.MAIN);
    const at = asTime(json.createdAt);
    const out = new FindingsOf({ path: this.#file.path, line: 0, at, speaker: thread, keys: [] });
    const [cwd, title] = [asNonBlank(json.cwd), asNonBlank(json.title)];
    if (cwd !== null) {
      out.addOfFile({ type: "agent-described", agent: thread, cwd });
      if (at !== null) out.add({ type: "thread-began", thread, cwd });
    }
    if (title !== null)
      out.addOfFile({ type: "thread-titled", of: thread, title, rank: json.isCustomTitle === true ? 0 : 1 });
    const source = asNonBlank(json.forkedFrom) ?? asNonBlank(asObject(json.custom)?.forkedFrom);
    if (source !== null)
      out.addOfFile({ type: "agent-described", agent: thread, forkedFrom: key.agent(source, key.MAIN) });
    for (const [id, value] of Object.entries(asObject(json.agents) ?? {})) {
      const one = asObject(value);
      const parent = asNonBlank(one?.parentAgentId);
      if (one === null || id === key.MAIN || asText(one.type) === "main") continue;
      const type = asNonBlank(asObject(one.labels)?.profileName);
      const agent = key.agent(this.#session, id);
      out.addOfFile({
        type: "agent-described",
        agent,
        vouched: true,
        ...(type === null ? {} : { agentType: type }),
        ...(cwd === null ? {} : { cwd }),
      });
      if (parent !== null)
        out.addOfFile({
          type: "parent-named",
          child: agent,
          parent: key.agent(this.#session, parent),
          rule: "state.agents.parentAgentId",
          source: "protocol",
          confidence: 1,
          says: `the state of its session names ${parent} as its parent`,
        });
    }
    return out;
  }

  events = () => [];
  save = () => null;
}
