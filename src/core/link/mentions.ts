import { type AgentKey, recordIn, threadOf } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { lineageKeys } from "./lineage-keys.ts";

/**
 * The observation with every agent that it mentions replaced.
 * Exhaustive: a new kind of fact does not compile until it is listed here.
 */
export function mapAgents(o: Observation, map: (agent: AgentKey) => AgentKey): Observation {
  const mapped = { ...o, speaker: map(o.speaker) };
  const mapKey = <T>(agent: AgentKey | T) => (typeof agent === "string" ? map(agent as AgentKey) : agent);
  switch (mapped.type) {
    case "agent-described":
      return {
        ...mapped,
        agent: map(mapped.agent),
        ...(mapped.forkedFrom === undefined ? {} : { forkedFrom: map(mapped.forkedFrom) }),
      };
    case "spawn-match":
    case "waits":
    case "file-refused":
      return { ...mapped, agent: map(mapped.agent) };
    case "call-spawned":
      return { ...mapped, child: map(mapped.child) };
    case "parent-named":
      return { ...mapped, child: map(mapped.child), parent: map(mapped.parent) };
    case "lifecycle":
      return { ...mapped, of: mapKey(mapped.of) };
    case "thread-titled":
      return { ...mapped, of: mapKey(mapped.of) };
    case "process-seen":
    case "thread-began":
      return { ...mapped, thread: map(mapped.thread) };
    case "starter-seen":
      return {
        ...mapped,
        thread: map(mapped.thread),
        starters: mapped.starters.map((starter) => ({ ...starter, agent: map(starter.agent) })),
      };
    case "shell-called":
      return {
        ...mapped,
        launches: mapped.launches.map((launch) =>
          launch.thread === null ? launch : { ...launch, thread: map(launch.thread) },
        ),
      };
    case "shell-returned":
      return { ...mapped, printed: mapped.printed.map(map) };
    case "agent-aliased":
      return { ...mapped, alias: map(mapped.alias), agent: map(mapped.agent) };
    case "agents-stated":
      return { ...mapped, agents: mapped.agents.map(map) };
    case "message-sent":
      return { ...mapped, to: mapKey(mapped.to) };
    case "record":
    case "model-call":
    case "spawn-called":
    case "call-aliased":
    case "call-offers":
    case "call-refused":
    case "model-call-missing":
    case "total-stated":
    case "plan-stated":
      return mapped;
    default:
      return mapped satisfies never;
  }
}

/** All agents that the observation mentions, the speaker first. */
export function agentsIn(o: Observation): readonly AgentKey[] {
  const agents: AgentKey[] = [];
  mapAgents(o, (agent) => {
    agents.push(agent);
    return agent;
  });
  return agents;
}

/**
 * The keys by which facts of one thread may concern another: copied records, shared names, agents of other threads.
 * Threads with a common key must be linked together. `others`: the threads that the observation names.
 */
export function crossKeys(o: Observation, others: readonly AgentKey[] = otherThreads(o)): readonly string[] {
  switch (o.type) {
    case "record":
      return [recordIn(o), ...lineageKeys(o)].filter((key) => key !== undefined);
    case "model-call":
      return [...(o.alias === undefined ? [] : [o.alias]), ...(o.fingerprints ?? [])];
    case "spawn-match":
    case "call-offers":
      return [o.match];
    case "spawn-called":
      return o.offers;
    case "thread-titled":
      return typeof o.of === "string" ? others : [o.of.record];
    case "agent-described":
    case "thread-began":
    case "shell-called":
    case "shell-returned":
      return [...others, ...lineageKeys(o)];
    case "waits":
    case "file-refused":
    case "call-spawned":
    case "call-aliased":
    case "call-refused":
    case "parent-named":
    case "lifecycle":
    case "process-seen":
    case "starter-seen":
    case "agent-aliased":
    case "agents-stated":
    case "message-sent":
    case "model-call-missing":
    case "total-stated":
    case "plan-stated":
      return others;
    default:
      return o satisfies never;
  }
}

/** The thread whose records contain the observation, and the threads that it names. */
export const threadsIn = (o: Observation): readonly AgentKey[] => [threadOf(o.speaker), ...otherThreads(o)];

/** The threads that the observation names, except the one whose records contain it. */
export function otherThreads(o: Observation): readonly AgentKey[] {
  // Nearly all facts are of these two kinds, which name no agent.
  if (o.type === "record" || o.type === "model-call") return [];
  const own = threadOf(o.speaker);
  return agentsIn(o)
    .map(threadOf)
    .filter((thread) => thread !== own);
}
