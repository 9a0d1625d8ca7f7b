import type { LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";

const ONE = "Agent";
const MANY = "AgentSwarm";
export const isSpawn = (tool: string) => tool === ONE || tool === MANY;

/** A call that spawns agents. One that resumes an agent spawns none. */
export function readSpawn(out: FindingsOf, session: string, id: string, tool: string, args: JsonObject): void {
  if (asNonBlank(args.resume) !== null) return;
  out.add({
    type: "spawn-called",
    call: key.call(session, id),
    tool,
    makes: tool === ONE ? "one" : "maybe",
    // Each agent of a swarm has its own prompt, made from a template.
    prompt: asText(args.prompt),
    agentType: asNonBlank(args.subagent_type),
    description: asNonBlank(args.description),
    name: null,
    offers: [],
  });
}

const ENDS: Readonly<Record<string, LifecycleState>> = {
  completed: "completed",
  failed: "errored",
  timed_out: "errored",
  killed: "shutdown",
  lost: "shutdown",
  stopped: "shutdown",
  aborted: "shutdown",
  cancelled: "shutdown",
};
export const endOf = (status: unknown): LifecycleState | null => {
  const text = asText(status) ?? "";
  return Object.hasOwn(ENDS, text) ? (ENDS[text] ?? null) : null;
};

/**
 * `subagent.spawned`, in the transcript of the parent. A second one for the same agent resumes it, with another call.
 * Returns the call.
 */
export function readSpawned(out: FindingsOf, session: string, json: JsonObject, known: Set<string>): string | null {
  const id = asNonBlank(json.subagentId);
  if (id === null) return null;
  const [agent, call] = [key.agent(session, id), asNonBlank(json.parentToolCallId)];
  if (known.has(id)) {
    const says = `its parent resumed it${call === null ? "" : ` with call ${call}`}`;
    out.add({ type: "lifecycle", of: agent, state: "revived", source: "protocol", says, result: null });
    out.add({ type: "message-sent", to: agent });
    return call;
  }
  known.add(id);
  const [type, description] = [asNonBlank(json.subagentName), asNonBlank(json.description)];
  out.add({
    type: "agent-described",
    agent,
    ...(type === null ? {} : { agentType: type }),
    ...(description === null ? {} : { description }),
    ...(typeof json.runInBackground === "boolean" ? { background: json.runInBackground } : {}),
  });
  const parent = asNonBlank(json.parentAgentId);
  if (parent !== null)
    out.add({
      type: "parent-named",
      child: agent,
      parent: key.agent(session, parent),
      rule: "subagent.spawned.parentAgentId",
      source: "protocol",
      confidence: 1,
      says: `the record of its spawn names ${parent} as its parent`,
    });
  if (call !== null)
    out.add({
      type: "call-spawned",
      call: key.call(session, call),
      child: agent,
      rule: "subagent.spawned.parentToolCallId",
      source: "protocol",
      says: `the record of its spawn names call ${call}`,
    });
  return call;
}

/** `subagent.completed`, `.failed`, `.cancelled`. The usage of the first adds up all runs of the agent: it is not used. */
export function readEnd(out: FindingsOf, session: string, type: string, json: JsonObject): void {
  const id = asNonBlank(json.subagentId);
  const state = endOf(type.slice(type.indexOf(".") + 1));
  if (id === null || state === null) return;
  const why = asNonBlank(json.error) ?? asNonBlank(json.reason);
  out.add({
    type: "lifecycle",
    of: key.agent(session, id),
    state,
    source: "protocol",
    says: `its parent's transcript has a ${type} record${why === null ? "" : `: ${firstLine(why)}`}`,
    result: state === "completed" ? asNonBlank(json.resultSummary) : null,
  });
}

/** `task.terminated`: the end of background work, which may be an agent's. */
export function readTask(out: FindingsOf, session: string, json: JsonObject): void {
  const info = asObject(json.info);
  const [id, state] = [asNonBlank(info?.agentId), endOf(info?.status)];
  if (info === null || id === null || state === null || info.kind !== "agent") return;
  const why = asNonBlank(info.stopReason);
  out.addAt(asTime(info.endedAt) ?? asTime(json.time), {
    type: "lifecycle",
    of: key.agent(session, id),
    state,
    source: "protocol",
    says: `its background task ended: ${asText(info.status)}${why === null ? "" : `: ${firstLine(why)}`}`,
    result: state === "completed" ? asNonBlank(json.outputTail) : null,
  });
}

const NOTICE = /^\s*<notification\b([^>]*)>\s*([\s\S]*?)\s*<\/notification>\s*$/;

/** A notice about background work as a readable sentence; null for other texts. */
export function asSentence(text: string): string | null {
  const body = NOTICE.exec(text)?.[2];
  if (body === undefined) return null;
  const title = /^Title: (.*)$/m.exec(body)?.[1];
  const rest = body
    .replace(/^(?:Title|Severity|Wall time): .*\n?/gm, "")
    .replace(/<output-file\b[\s\S]*$/, "")
    .trim();
  return [title, rest].filter((part) => part !== undefined && part !== "").join(": ") || null;
}
