import { type AgentKey, threadOf } from "./ids.ts";
import type { Observation } from "./observation.ts";

/**
 * Everything by which facts of one thread may concern another: records that were copied, names that both use, agents of other threads that are named.
 * Threads with a key in common must be linked together.
 */
export function crossKeys(o: Observation): readonly string[] {
  switch (o.type) {
    case "record":
      return o.keys.slice(0, 1);
    case "model-call":
      return [o.alias, o.fingerprint].filter((key) => key !== undefined);
    case "answers":
    case "call-offers":
      return [o.match];
    case "spawn-called":
      return o.offers;
    case "thread-titled":
      return typeof o.of === "string" ? otherThreads(o) : [o.of.record];
    default:
      return otherThreads(o);
  }
}

/** The thread in whose records it stands, and those that it names: all of them are known by it. */
export const threadsIn = (o: Observation): readonly AgentKey[] => [threadOf(o.speaker), ...otherThreads(o)];

function otherThreads(o: Observation): readonly AgentKey[] {
  const own = threadOf(o.speaker);
  return agentsNamed(o)
    .map(threadOf)
    .filter((thread) => thread !== own);
}

function agentsNamed(o: Observation): readonly AgentKey[] {
  switch (o.type) {
    case "thread-titled":
    case "lifecycle":
      return typeof o.of === "string" ? [o.of] : [];
    case "agent-described":
      return o.forkedFrom === undefined ? [o.agent] : [o.agent, o.forkedFrom];
    case "call-spawned":
      return [o.child];
    case "parent-named":
      return [o.child, o.parent];
    case "process-seen":
      return [o.thread];
    case "agent-aliased":
      return [o.alias, o.agent];
    case "answers":
    case "waits":
      return [o.agent];
    case "record":
    case "model-call":
    case "spawn-called":
    case "call-aliased":
    case "call-offers":
    case "call-refused":
    case "agents-stated":
    case "call-unrecorded":
    case "total-stated":
    case "plan-stated":
    case "file-refused":
    case "message-sent":
      return [];
    default:
      return o satisfies never;
  }
}
