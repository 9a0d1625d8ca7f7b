import { type AgentKey, agentKey, type CallKey, nativeCall, partsOf, threadOf } from "../facts/ids.ts";
import { type AgentKind, byTime, type Observation } from "../facts/observation.ts";
import { plural } from "../tools/format.ts";
import type { CallBook, SpawnCall } from "./call-book.ts";
import { type ParentEvidence, SPAWN_CALL_RULE } from "./evidence.ts";

/** An agent that is only known from its spawn call. */
interface UnseenAgent {
  readonly agent: AgentKey;
  /** Undefined if the product does not state it. */
  readonly kind: AgentKind | undefined;
  readonly evidence: ParentEvidence;
}

/** A spawn call that was refused: no agent exists for it. */
export interface RefusedSpawn extends Pick<SpawnCall, "call" | "tool" | "agentType" | "description" | "at"> {
  /** The reason as the model received it; null if it is not recorded. */
  readonly says: string | null;
}

export interface UnseenAgents {
  readonly agents: readonly UnseenAgent[];
  /** Spawn calls of each agent that were refused, oldest first. */
  readonly refused: ReadonlyMap<AgentKey, readonly RefusedSpawn[]>;
  /** Warnings for agents whose sub-agents are only known by number. */
  readonly warnings: ReadonlyMap<AgentKey, readonly string[]>;
}

/** The agents of spawn calls that are not in `matched`. */
export function unseenAgents(
  facts: readonly Observation[],
  calls: CallBook,
  matched: ReadonlySet<CallKey>,
): UnseenAgents {
  const agents: UnseenAgent[] = [];
  const refused = new Map<AgentKey, readonly RefusedSpawn[]>();
  const bySpawnCall = { rule: SPAWN_CALL_RULE, source: "parent_rollout", confidence: 1 } as const;
  for (const spawn of calls.spawns()) {
    const { call, speaker, tool, makes, at, id } = spawn;
    if (makes !== "one" || matched.has(call)) continue;
    const refusal = calls.refusalOf(call);
    if (refusal !== undefined) {
      const parent = calls.callerOf(call) ?? speaker;
      const { agentType, description } = spawn;
      refused.set(parent, [
        ...(refused.get(parent) ?? []),
        { call, tool, agentType, description, at, says: refusal.says ?? null },
      ]);
      continue;
    }
    const { provider, thread } = partsOf(speaker);
    const named = calls.unseen(spawn);
    const says = `the ${tool} call ${nativeCall(call)} spawned it, but none of its records were found`;
    agents.push({
      agent: agentKey(provider, thread, named?.id ?? nativeCall(call)),
      kind: named?.kind,
      evidence: { ...bySpawnCall, parent: speaker, call, says, at, from: id },
    });
  }
  const warnings = new Map<AgentKey, readonly string[]>();
  for (const { parent, call, agents: missing, kind, warning, at, id } of statedAgents(facts, calls, matched)) {
    warnings.set(parent, [...(warnings.get(parent) ?? []), warning]);
    const says = "the product reports that the call spawned it, but none of its records were found";
    for (const agent of missing)
      agents.push({ agent, kind, evidence: { ...bySpawnCall, parent, call, says, at, from: id } });
  }
  return { agents, refused, warnings };
}

/** Agents that a call spawned according to the product, but that have no records; the first statement per call counts. */
function* statedAgents(facts: readonly Observation[], calls: CallBook, matched: ReadonlySet<CallKey>) {
  const stated = facts.filter((o) => o.type === "agents-stated").sort(byTime);
  if (stated.length === 0) return;
  // Their records may exist while the one that links them to the call is missing: a proxy knows agents, but not their
  // calls.
  const spawned = new Set(
    facts.flatMap((o) => (o.type === "call-spawned" && calls.callerOf(o.call) !== undefined ? [o.child] : [])),
  );
  const untied = new Set(
    facts.flatMap((o) => {
      if (o.type === "call-spawned") return spawned.has(o.child) ? [] : [threadOf(o.child)];
      return o.type === "agent-described" && o.kind !== undefined && o.kind !== "main" && !spawned.has(o.agent)
        ? [`${threadOf(o.agent)} ${o.kind}`]
        : [];
    }),
  );
  const seen = new Set<CallKey>();
  for (const o of stated) {
    const call = calls.resolve(o.call);
    const parent = calls.callerOf(call);
    if (parent === undefined || matched.has(call) || seen.has(call)) continue;
    if (untied.has(threadOf(parent)) || untied.has(`${threadOf(parent)} ${o.kind}`)) continue;
    seen.add(call);
    const used = o.tokens === null ? "" : `, which used ${plural(o.tokens, "token")} by the product's own count`;
    const warning = `a ${o.kind} spawned ${plural(o.agents.length, "agent")}${used}: their transcripts are missing`;
    yield { ...o, call, parent, warning };
  }
}
