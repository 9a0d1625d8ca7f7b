import { type AgentKey, type CallKey, type ObservationId, threadOf } from "../facts/ids.ts";
import { SOURCES, type Source } from "../facts/observation.ts";
import { addTo } from "../tools/collections.ts";

/** A piece of evidence that `parent` spawned the agent. */
export interface ParentEvidence {
  readonly parent: AgentKey;
  readonly call: CallKey | null;
  readonly rule: string;
  readonly source: Source;
  readonly confidence: number;
  readonly says: string;
  readonly at: number | null;
  /** The id of the observation, which breaks ties independently of the order of arrival; null if no record states it. */
  readonly from: ObservationId | null;
  /** The proxied request that a manual link names as the parent. */
  readonly request?: string;
  /** A shell command of the parent started it as a thread of its own. */
  readonly external?: true;
}

/** The rule for an agent that is only known from its spawn call. */
export const SPAWN_CALL_RULE = "spawn-call";

/** The rule for an agent without a known thread. */
export const UNASSIGNED_RULE = "unassigned";

/**
 * Manual links first, then by confidence, then by the order of SOURCES; a named parent before one found through a call;
 * then the earlier statement; then its place.
 */
export function stronger(a: ParentEvidence, b: ParentEvidence): number {
  return (
    Number(b.source === "manual") - Number(a.source === "manual") ||
    b.confidence - a.confidence ||
    SOURCES.indexOf(a.source) - SOURCES.indexOf(b.source) ||
    Number(a.call !== null) - Number(b.call !== null) ||
    (a.at ?? Number.POSITIVE_INFINITY) - (b.at ?? Number.POSITIVE_INFINITY) ||
    ((a.from ?? "") < (b.from ?? "") ? -1 : 1)
  );
}

/** An agent, and a piece of evidence for its parent. */
export type EvidenceOf = readonly [child: AgentKey, piece: ParentEvidence];

/** The evidence for the parent of each agent. */
export class Evidence {
  readonly byChild = new Map<AgentKey, ParentEvidence[]>();

  add(all: Iterable<EvidenceOf>): void {
    for (const [child, piece] of all) addTo(this.byChild, child, piece);
  }

  of(child: AgentKey): readonly ParentEvidence[] {
    return this.byChild.get(child) ?? [];
  }

  /** The spawn calls that some evidence names. */
  calls(): Set<CallKey> {
    return new Set([...this.byChild.values()].flatMap((list) => list.flatMap((piece) => piece.call ?? [])));
  }

  /** Strongest first. */
  sort(): void {
    for (const list of this.byChild.values()) list.sort(stronger);
  }
}

/** The key of an agent names its thread: without other evidence the agent is placed there. */
export function inItsThread(agent: AgentKey, why: string): EvidenceOf {
  const says = `${why}; its id belongs to this thread`;
  const parent = threadOf(agent);
  return [
    agent,
    { parent, call: null, rule: "thread", source: "inferred", confidence: 0.1, says, at: null, from: null },
  ];
}
