import { plural } from "../../tools/format.ts";
import type { StoryCore } from "../story.ts";
import { evidenceOf, evidenceOfAgent, type Finding, lineOf, nameOf } from "./finding.ts";

/** Agents of one parent with the same prompt. */
export function repeated(parent: StoryCore): Finding[] {
  const prompted = parent.children.filter(({ record }) => (record.prompt ?? "").trim() !== "");
  const groups = Map.groupBy(prompted, ({ record }) => JSON.stringify([record.type, record.prompt?.trim()]));
  return [...groups.values()]
    .filter((same) => same.length > 1)
    .map((same) => ({
      kind: "repeated",
      agents: same.map(({ record }) => record.uri),
      says: `${nameOf(parent.record)} gave ${plural(same.length, "agent")} the same prompt: ${lineOf(same[0]?.record.prompt ?? null)}`,
      evidence: same.map(({ record, steps }) => {
        const first = steps.find(({ event }) => event.kind === "user");
        return first === undefined ? evidenceOfAgent(record, "its prompt") : evidenceOf(first, "its prompt");
      }),
      durationMs: null,
    }));
}
