import type { AgentKey } from "../../core/facts/ids.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, decodeText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";
import { endOf } from "./spawns.ts";

/** `agent-<id>.meta.json`: written when the agent begins, and rewritten when it ends or is resumed. */
export class Meta implements Parser {
  readonly #session: string;
  readonly #id: string;
  readonly #file: SourceFile;

  constructor(session: string, id: string, file: SourceFile) {
    this.#session = session;
    this.#id = id;
    this.#file = file;
  }

  push(record: Uint8Array): Findings {
    const meta = asObject(parseJson(decodeText(record).text)?.value);
    if (meta === null) return problemAt(this.#file.path, 0, "line-not-json", `${record.length} bytes`);
    const agent = key.agent(this.#session, asNonBlank(meta.agentId) ?? this.#id);
    const out = new FindingsOf({
      path: this.#file.path,
      line: 0,
      at: asTime(meta.createdAt),
      speaker: agent,
      keys: [],
    });
    this.#read(out, meta, agent);
    return out;
  }

  #read(out: FindingsOf, meta: JsonObject, agent: AgentKey) {
    const [type, description] = [
      asNonBlank(meta.agentType) ?? asNonBlank(meta.subagentName),
      asNonBlank(meta.description),
    ];
    out.add({
      type: "agent-described",
      agent,
      kind: type === "fork" ? "fork" : "subagent",
      vouched: true,
      ...(type === null ? {} : { agentType: type }),
      ...(description === null ? {} : { description }),
      ...(typeof meta.isBackgrounded === "boolean" ? { background: meta.isBackgrounded } : {}),
    });
    const session = asNonBlank(meta.parentSessionId) ?? this.#session;
    const above = asNonBlank(meta.parentAgentId);
    out.add({
      type: "parent-named",
      child: agent,
      parent: above === null ? key.thread(session) : key.agent(session, above),
      rule: above === null ? "meta.parentSessionId" : "meta.parentAgentId",
      source: "protocol",
      confidence: 1,
      says: `its meta file names ${above === null ? `session ${session}` : `agent ${above}`} as its parent`,
    });
    const call = asNonBlank(meta.toolUseId);
    if (call !== null)
      out.add({
        type: "call-spawned",
        call: key.call(session, call),
        child: agent,
        rule: "meta.toolUseId",
        source: "protocol",
        says: `its meta file names call ${call}`,
      });
    const state = endOf(meta.status);
    // `running` stays there after a kill.
    if (state !== null)
      out.addAt(asTime(meta.lastUpdatedAt), {
        type: "lifecycle",
        of: agent,
        state,
        source: "protocol",
        says: `its meta file has status ${asText(meta.status)}`,
        result: null,
      });
  }

  events = () => [];
  save = () => null;
}
