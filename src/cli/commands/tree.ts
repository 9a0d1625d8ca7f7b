import { agentOf, continuationsOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import { printJson } from "../../core/tools/json.ts";
import { criticalPath, lifeOf, untilLastEnd } from "../../core/views/critical-path.ts";
import { spansOf } from "../../core/views/spans.ts";
import type { Context } from "../context.ts";
import { renderTimeline } from "../render/timeline.ts";
import { renderTree, walk } from "../render/tree.ts";

export interface TreeOptions {
  readonly all?: boolean;
  readonly timeline?: boolean;
}

export async function tree(
  context: Context,
  uri: string,
  { all = false, timeline = false }: TreeOptions,
): Promise<void> {
  const { forest, agents } = await context.find(uri);
  if (timeline) return context.terminal.out(timelineOf(context, forest, agents[0], all));
  const found = context.treeOf(forest, agents[0].key);
  if (context.json) return context.terminal.out(printJson(found, 2));
  const copies = continuationsOf(forest, new Set(subtreeOf(forest, agents[0].key))).map(
    ({ uri: copy, forkedFrom }) =>
      `continued in ${copy}, a copy of ${forkedFrom === null ? "it" : (forest.agents.get(forkedFrom)?.uri ?? "it")}`,
  );
  context.terminal.out([renderTree(found, context.terminal, { all }), ...copies].join("\n"));
}

function timelineOf(context: Context, forest: Forest, agent: LinkedAgent, all: boolean): string {
  const tree = context.treeOf(forest, agent.key);
  const spans = new Map(subtreeOf(forest, agent.key).map((key) => [agentOf(forest, key).uri, spansOf(forest, key)]));
  const lives = new Map(
    [...walk(tree)].map((record) => [record.uri, lifeOf(record, spans.get(record.uri) ?? [], forest.now)]),
  );
  const path = criticalPath(tree.uri, untilLastEnd(tree.uri, lives));
  if (!context.json) return renderTimeline(tree, { livesAs: (uri) => lives.get(uri), path }, context.terminal, { all });
  return printJson({ items: [...spans].map(([uri, list]) => ({ uri, spans: list })), criticalPath: path }, 2);
}
