import { changesIn, filesOf } from "../files.ts";
import type { StoryCore } from "../story.ts";
import { type Finding, nameOf } from "./finding.ts";

/** Files that several agents of one parent changed. */
export function contended(parent: StoryCore): Finding[] {
  if (parent.children.length < 2) return [];
  const branches = parent.children.map((child) => ({ child, files: filesOf(child) }));
  const changed = branches.flatMap(({ child, files }) =>
    files.filter((file) => changesIn(file) > 0).map((file) => ({ child, file })),
  );
  return [...Map.groupBy(changed, ({ file }) => file.path)]
    .filter(([, list]) => list.length > 1)
    .map(([path, list]) => ({
      kind: "contended",
      agents: list.map(({ child }) => child.record.uri),
      says: `${namesOf(list.map(({ child }) => child))} changed the same file: ${path}`,
      evidence: list.flatMap(({ file }) =>
        file.uses
          .filter(({ kind, isError }) => kind !== "read" && !isError)
          .slice(0, 1)
          .map(({ uri, kind, event, ref, at, tool }) => ({
            says: `${kind} with ${tool ?? "a tool"}`,
            uri,
            event,
            ref,
            at,
          })),
      ),
      durationMs: null,
    }));
}

const NAMED = 3;

function namesOf(agents: readonly StoryCore[]): string {
  const names = agents.slice(0, NAMED).map(({ record }) => nameOf(record));
  return agents.length > NAMED ? `${agents.length} agents (${names.join(", ")}, …)` : names.join(" and ");
}
