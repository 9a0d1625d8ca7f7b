import type { AgentKey, CallKey, MatchKey } from "../facts/ids.ts";
import { byTime, type Observation, type ObservationOf } from "../facts/observation.ts";
import { cached } from "../tools/collections.ts";
import type { CallBook, SpawnCall } from "./call-book.ts";
import type { Evidence, EvidenceOf } from "./evidence.ts";

/** Matches agents without a call to spawn calls without an agent by a common key, in order of time, one agent per call. */
export function matchCalls(facts: readonly Observation[], calls: CallBook, evidence: Evidence): readonly EvidenceOf[] {
  const unmatched = unmatchedAgents(facts, evidence);
  const found: EvidenceOf[] = [];
  if (unmatched.size === 0) return found;
  const matched = evidence.calls();
  const offers = openOffers(calls, matched);
  const byMatch = Map.groupBy([...unmatched.values()].flat(), (o) => o.match);
  for (const [child, matches] of unmatched) {
    const mayBe = mayBelong(child, evidence);
    for (const match of matches) {
      const offered = offers.get(match.match);
      const call =
        offered?.firstFree(match, mayBe, matched) ?? (match.exclusive ? undefined : offered?.newest(match, mayBe));
      if (call === undefined) continue;
      const alone = offered?.calls.length === 1 && (byMatch.get(match.match)?.length ?? 0) === 1;
      const says = alone ? match.says : `${match.says}; several matches, paired in order of time`;
      matched.add(call.call);
      const { rule, source, at, id: from } = match;
      const confidence = alone ? 0.9 : 0.6;
      found.push([child, { parent: call.speaker, call: call.call, rule, source, confidence, says, at, from }]);
      break;
    }
  }
  return found;
}

/** Agents without a call, with their spawn matches, oldest first. */
function unmatchedAgents(facts: readonly Observation[], evidence: Evidence): Map<AgentKey, Match[]> {
  const unmatched = new Map<AgentKey, Match[]>();
  for (const o of facts.filter((f) => f.type === "spawn-match").sort(byTime)) {
    if (evidence.of(o.agent).some((e) => e.call !== null)) continue;
    const list = cached(unmatched, o.agent, () => []);
    if (!list.some((known) => known.match === o.match)) list.push(o);
  }
  return unmatched;
}

/** Spawn calls without an agent by each of their keys. */
function openOffers(calls: CallBook, matched: ReadonlySet<CallKey>): Map<MatchKey, Offers> {
  const offers = new Map<MatchKey, Offers>();
  for (const call of calls.spawns()) {
    if (matched.has(call.call)) continue;
    for (const key of calls.offersOf(call)) cached(offers, key, () => new Offers()).calls.push(call);
  }
  return offers;
}

/** Whether an agent may belong to a call: one with a stated parent cannot belong to a call of another agent. */
function mayBelong(child: AgentKey, evidence: Evidence): (call: SpawnCall) => boolean {
  const stated = evidence.of(child).filter((e) => e.confidence === 1);
  const manual = stated.filter((e) => e.source === "manual");
  const known = new Set((manual.length > 0 ? manual : stated).map((e) => e.parent));
  return (call) => call.speaker !== child && (known.size === 0 || known.has(call.speaker));
}

type Match = ObservationOf<"spawn-match">;

/**
 * The calls with one key, oldest first. There may be tens of thousands, so matched ones at the front are skipped
 * only once.
 */
class Offers {
  readonly calls: SpawnCall[] = [];
  #free = 0;

  firstFree(match: Match, mayBe: (call: SpawnCall) => boolean, matched: ReadonlySet<CallKey>): SpawnCall | undefined {
    const isMatched = (call: SpawnCall | undefined) => call !== undefined && matched.has(call.call);
    while (isMatched(this.calls[this.#free])) this.#free += 1;
    for (let i = this.#free; i < this.calls.length; i += 1) {
      const call = this.calls[i];
      if (call === undefined || !isBefore(call, match)) return undefined;
      if (
        !isMatched(call) &&
        mayBe(call) &&
        (match.at ?? 0) - (call.at ?? 0) <= (match.withinMs ?? Number.POSITIVE_INFINITY)
      )
        return call;
    }
    return undefined;
  }

  newest = (match: Match, mayBe: (call: SpawnCall) => boolean): SpawnCall | undefined =>
    this.calls.findLast((call) => isBefore(call, match) && mayBe(call));
}

const isBefore = (call: SpawnCall, match: Match) => (call.at ?? 0) <= (match.at ?? 0);
