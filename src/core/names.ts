import type { AgentKey } from "./ids.ts";
import type { Observation } from "./observation.ts";

/** Says everything of every agent under the last of its names. Of several that an alias is said to stand for, the first by name counts. */
export function byOneName(observations: readonly Observation[]): readonly Observation[] {
  const names = new Map<AgentKey, AgentKey>();
  for (const o of observations) {
    if (o.type !== "agent-aliased" || o.alias === o.agent) continue;
    const known = names.get(o.alias);
    if (known === undefined || o.agent < known) names.set(o.alias, o.agent);
  }
  if (names.size === 0) return observations;
  return observations.map((o) => renamed(o, (key) => names.get(key) ?? key));
}

function renamed(o: Observation, name: (key: AgentKey) => AgentKey): Observation {
  const seen = { ...o, speaker: name(o.speaker) };
  switch (seen.type) {
    case "agent-described":
    case "answers":
    case "file-refused":
      return { ...seen, agent: name(seen.agent) };
    case "call-spawned":
      return { ...seen, child: name(seen.child) };
    case "parent-named":
      return { ...seen, child: name(seen.child), parent: name(seen.parent) };
    case "lifecycle":
      return typeof seen.of === "string" ? { ...seen, of: name(seen.of) } : seen;
    default:
      return seen;
  }
}
