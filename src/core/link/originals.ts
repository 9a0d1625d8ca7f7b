import { type AgentKey, type RecordKey, recordIn } from "../facts/ids.ts";
import type { Observation } from "../facts/observation.ts";
import { isRecorded, isReport } from "../facts/origin.ts";
import { type Fold, NAME } from "./fold.ts";
import { holderOf, unfold } from "./folded.ts";
import { agentsOfCopies, aliasesIn, copiedAgents, renameAll, withoutAgents, withoutRecordedTraffic } from "./names.ts";
import { decideOwnership } from "./ownership.ts";
import type { ManualLink } from "./parents.ts";

/** `likely`: an agent that is checked before all others, for speed. */
export type OwnerOf = (record: RecordKey, likely?: AgentKey) => AgentKey | undefined;

/** The observations without repeats: every fact once, under the final key of every agent. */
export interface Originals {
  readonly facts: readonly Observation[];
  /** Agents whose bulk facts are not among `facts`. */
  readonly folded: ReadonlyMap<AgentKey, Fold>;
  /** The owner of a record that several agents contain. */
  readonly ownerOf: OwnerOf;
  readonly nameOf: (agent: AgentKey) => AgentKey;
  /** For an agent with copies of another agent's records: the other one. */
  readonly copiedFrom: ReadonlyMap<AgentKey, AgentKey>;
  /** Number of different facts that are not folded. */
  readonly factCount: number;
}

export function originalsIn(
  observations: readonly Observation[],
  folds: readonly Fold[],
  manual: readonly ManualLink[],
): Originals {
  const { facts: unfolded, folded } = unfold(observations, folds, manual);
  const distinct = [...new Map(unfolded.map((o) => [o.id, o])).values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const { left, owners } = withoutRecordedTraffic(distinct);
  const aliases = aliasesIn(left);
  const named = renameAll(left, aliases);
  const ownership = decideOwnership(named);
  const all = named.filter(ownership.isOriginal);
  const copies = copiedAgents(all, ownership.copiedFrom);
  const originals = withoutAgents(all, copies);
  const homes = agentsOfCopies(originals, ownership.copiedFromAll);
  const nameOf = (key: AgentKey) => {
    const name = aliases.get(key) ?? key;
    return copies.get(name) ?? homes.get(name) ?? name;
  };
  const ownerOf: OwnerOf = (record, likely) => {
    const owner = ownership.ownerOf(record) ?? owners.get(record) ?? holderOf(folded, record, NAME.key, likely);
    return owner === undefined ? undefined : nameOf(owner);
  };
  // After renaming, because a refused file concerns all names of its agent.
  const facts = withoutEchoes(withoutRefused(renameAll(originals, homes)), folded);
  return { facts, folded, ownerOf, nameOf, copiedFrom: ownership.copiedFrom, factCount: distinct.length };
}

/** Removes facts that are only supported by the path of a refused file; facts about the agent in other files stay. */
function withoutRefused(facts: readonly Observation[]): readonly Observation[] {
  const refused = new Set(facts.flatMap((f) => (f.type === "file-refused" ? [f.agent] : [])));
  for (const f of facts) if (f.type === "record") refused.delete(f.speaker);
  return refused.size === 0 ? facts : facts.filter((f) => !refused.has(f.speaker));
}

/**
 * Removes reports of a live source about records that the product itself keeps. If it keeps the records of an agent,
 * also the totals of the live source, and warnings about what the live source lacks.
 */
function withoutEchoes(facts: readonly Observation[], folded: ReadonlyMap<AgentKey, Fold>): readonly Observation[] {
  if (!facts.some(isReport)) return facts;
  const kept = new Set([
    ...folded.keys(),
    ...facts.flatMap((f) => (f.type === "record" && isRecorded(f) ? [f.speaker] : [])),
  ]);
  const isBulk = (f: Observation) => f.type === "record" || f.type === "model-call";
  const recorded = new Set(facts.filter((f) => isBulk(f) && !isReport(f)).map(recordIn));
  recorded.delete(undefined);
  const isEcho = (f: Observation) =>
    f.type === "total-stated"
      ? kept.has(f.speaker)
      : f.type === "agent-described"
        ? f.warning !== undefined && kept.has(f.agent)
        : isBulk(f) && recorded.has(recordIn(f));
  return facts.filter((f) => !(isReport(f) && isEcho(f)));
}
