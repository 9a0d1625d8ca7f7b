import { type AgentKey, placeOf } from "../../core/facts/ids.ts";
import { agentOf, type Forest, subtreeOf } from "../../core/link/forest.ts";
import { type Explanation, explainTree } from "../../core/views/explain.ts";
import { filesOf, type UsedFile } from "../../core/views/files.ts";
import { spansOf } from "../../core/views/spans.ts";
import { readStory } from "../export/story.ts";
import type { Library } from "../ingest/library.ts";
import { contextWindow } from "../query/prices.ts";

/** What went wrong or was wasted in the subtree of an agent. */
export async function explainAgent(library: Library, forest: Forest, root: AgentKey): Promise<Explanation> {
  const story = await readStory(library, forest, root);
  const keys = new Map(subtreeOf(forest, root).map((key) => [agentOf(forest, key).uri, key]));
  const spans = new Map([...keys].map(([uri, key]) => [uri, spansOf(forest, key)]));
  const agentAt = (uri: string) => {
    const key = keys.get(uri);
    return key === undefined ? undefined : agentOf(forest, key);
  };
  return explainTree({
    story,
    now: forest.now,
    windowOf: contextWindow,
    spansOf: (uri) => spans.get(uri) ?? [],
    statedOf: (uri) => {
      const end = agentAt(uri)?.statements.findLast(({ state }) => state === "errored" || state === "shutdown");
      return end === undefined ? null : { says: end.says, place: placeOf(end.id) };
    },
  });
}

/** The files that the agents of a subtree used. */
export async function filesOfAgent(library: Library, forest: Forest, root: AgentKey): Promise<UsedFile[]> {
  return filesOf(await readStory(library, forest, root));
}
