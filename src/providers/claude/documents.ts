import type { AgentKey } from "../../core/facts/ids.ts";
import type { AgentDescribed, AgentKind, LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import {
  asList,
  asNonBlank,
  asNumber,
  asObject,
  asText,
  asTime,
  type JsonObject,
  jsonText,
} from "../../core/tools/json.ts";
import { JsonRecords } from "../kit/json-records.ts";
import * as key from "./keys.ts";

/**
 * `agent-<id>.meta.json`, since 2.1.70: the product's own data about an agent. Each field was added by a different
 * version.
 */
export function agentMeta(session: string, id: string, file: SourceFile): Parser {
  const agent = key.agent(session, id);
  return new JsonRecords(file, {
    speaker: () => agent,
    read(meta, out) {
      out.add({ type: "agent-described", agent, ...described(meta) });
      const named = (parent: AgentKey, rule: string, says: string) =>
        out.add({ type: "parent-named", child: agent, parent, rule, source: "protocol", confidence: 1, says });
      const parent = asNonBlank(meta.parentAgentId);
      if (parent !== null)
        named(key.agent(session, parent), "meta.parentAgentId", `its meta file names agent ${parent} as its parent`);
      else if (meta.spawnDepth === 1 || meta.spawnDepth === 0)
        named(
          key.thread(session),
          "meta.spawnDepth",
          `its meta file has depth ${meta.spawnDepth} and names no parent agent`,
        );
      const depth = asNumber(meta.spawnDepth);
      if (parent === null && depth !== null && depth > 1) out.add({ type: "agent-described", agent, depth });
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
      if (meta.stoppedByUser === true)
        out.add({
          type: "lifecycle",
          of: agent,
          state: "shutdown",
          source: "protocol",
          says: "its meta file records that the user stopped it",
          result: null,
        });
      if (meta.finished === true)
        out.add({
          type: "lifecycle",
          of: agent,
          state: "completed",
          source: "protocol",
          says: "its meta file has status finished",
          result: null,
        });
    },
  });
}

function described(meta: JsonObject): Partial<Omit<AgentDescribed, "type" | "agent">> {
  const mate = meta.taskKind === "in_process_teammate";
  const kind: AgentKind | null = mate ? "teammate" : meta.isFork === true ? "fork" : null;
  // For a team member, agentType is its name.
  const agentType = (mate ? asNonBlank(meta.spawnedAgentType) : null) ?? asNonBlank(meta.agentType);
  const [name, description] = [asNonBlank(meta.name), asNonBlank(meta.description)];
  return {
    ...(kind === null ? {} : { kind }),
    ...(agentType === null ? {} : { agentType }),
    ...(name === null ? {} : { name }),
    // Only a spawn call gives an agent a description.
    ...(description === null ? {} : { description, vouched: true as const }),
    ...(typeof meta.requestShape === "string" ? { background: meta.requestShape === "background" } : {}),
  };
}

/** `journal.jsonl` of a workflow run: the agents it started, their labels and results. */
export function workflowJournal(session: string, run: string, file: SourceFile): Parser {
  return new JsonRecords(file, {
    speaker: (entry) => (asNonBlank(entry.agentId) === null ? null : key.thread(session)),
    read(entry, out) {
      const id = asText(entry.agentId) ?? "";
      const agent = key.agent(session, id);
      if (entry.type === "started") {
        const label = asNonBlank(entry.label);
        out.add({
          type: "agent-described",
          agent,
          kind: "workflow",
          ...(label === null ? {} : { description: label }),
        });
        out.add({
          type: "parent-named",
          child: agent,
          parent: key.thread(session),
          rule: "workflow journal",
          source: "inferred",
          confidence: 0.5,
          says: `the journal of run ${run} lists it`,
        });
        out.add({
          type: "call-spawned",
          call: key.run(run),
          child: agent,
          rule: "workflow journal",
          source: "parent_rollout",
          says: `the journal of run ${run} started it`,
        });
      }
      if (entry.type === "result") {
        const result = typeof entry.result === "string" ? entry.result : jsonText(entry.result ?? null);
        out.add({
          type: "lifecycle",
          of: agent,
          state: "completed",
          source: "protocol",
          says: "the workflow's journal contains its result",
          result,
        });
      }
    },
  });
}

const WORKFLOW_STATES: ReadonlyMap<string, LifecycleState> = new Map(
  Object.entries({
    done: "completed",
    failed: "errored",
    error: "errored",
    killed: "shutdown",
    stopped: "shutdown",
    cancelled: "shutdown",
  } as const),
);

/** `workflows/wf_….json`, written when the run ends. */
export function workflowSummary(session: string, file: SourceFile): Parser {
  return new JsonRecords(file, {
    speaker: () => key.thread(session),
    read(summary, out) {
      readWorkflowStates(out, summary.workflowProgress, session);
    },
  });
}

function readWorkflowStates(out: FindingsOf, progress: unknown, session: string) {
  for (const item of asList(progress)) {
    const agent = asObject(item);
    const id = asNonBlank(agent?.agentId);
    const state = WORKFLOW_STATES.get(asText(agent?.state) ?? "");
    if (id === null || state === undefined) continue;
    const says = `the workflow's own summary has state ${asText(agent?.state)}`;
    out.add({ type: "lifecycle", of: key.agent(session, id), state, source: "protocol", says, result: null });
  }
}

/** The agents of a workflow, from the stream's progress messages. */
export function workflowAgents(out: FindingsOf, progress: unknown, session: string, call: string | null): void {
  for (const item of asList(progress)) {
    const [id, label] = [asNonBlank(asObject(item)?.agentId), asNonBlank(asObject(item)?.label)];
    if (id === null) continue;
    const agent = key.agent(session, id);
    out.add({ type: "agent-described", agent, kind: "workflow", ...(label === null ? {} : { description: label }) });
    if (call === null) continue;
    const says = `the progress of workflow call ${call} names it`;
    out.add({
      type: "call-spawned",
      call: key.call(session, call),
      child: agent,
      rule: "workflow_progress",
      source: "protocol",
      says,
    });
  }
  readWorkflowStates(out, progress, session);
}

/** `sessions/<pid>.json`, since 2.1.110: the process of a thread. Removed on a clean exit, left behind by a crash. */
export function processMark(file: SourceFile): Parser {
  const session = (json: JsonObject) => asNonBlank(json.sessionId);
  return new JsonRecords(file, {
    speaker: (json) => (session(json) === null ? null : key.thread(session(json) ?? "")),
    read(json, out) {
      const pid = asNumber(json.pid);
      if (pid === null) return out.problem("record-malformed", "no pid");
      out.add({
        type: "process-seen",
        thread: key.thread(session(json) ?? ""),
        process: {
          pid,
          birth: asNonBlank(json.procStartFt) ?? asNonBlank(json.procStart),
          domain: asNonBlank(json.pidDomain),
          startedAt: asTime(json.startedAt),
        },
        waitingFor: asNonBlank(json.waitingFor),
      });
    },
  });
}
