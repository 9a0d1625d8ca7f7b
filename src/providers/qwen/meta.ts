import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { JsonRecords } from "../kit/json-records.ts";
import * as key from "./keys.ts";
import { endOf } from "./spawns.ts";

/** `agent-<id>.meta.json`: written when the agent begins, and rewritten when it ends or is resumed. */
export function agentMeta(session: string, id: string, file: SourceFile): Parser {
  const agentIn = (meta: JsonObject) => key.agent(session, asNonBlank(meta.agentId) ?? id);
  return new JsonRecords(file, {
    speaker: agentIn,
    at: (meta) => asTime(meta.createdAt),
    read: (meta, out) => readMeta(out, meta, agentIn(meta), session),
  });
}

function readMeta(out: FindingsOf, meta: JsonObject, agent: AgentKey, owner: string) {
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
  const session = asNonBlank(meta.parentSessionId) ?? owner;
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
