import { Failure } from "../../app/failure.ts";
import { threadUses } from "../../app/guard/report.ts";
import { findSelf, ownCaller } from "../../app/query/self.ts";
import { displayName } from "../../core/facts/display-name.ts";
import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import { LIMIT_LABELS, limitText } from "../../core/guard/limit-text.ts";
import { agentOf, type Forest } from "../../core/link/forest.ts";
import { count, duration, money, percent } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { withoutChildren } from "../../core/views/record.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";
import { renderTree } from "../render/tree.ts";

/** `retinue self`: the agent that runs this command with its shell tool, its siblings and its limits. */
export async function self(context: Context): Promise<void> {
  const { env, terminal } = context;
  const library = await context.library();
  const found = await findSelf(library, ownCaller(env));
  if (found.is === "none")
    throw new Failure("not_found", "no agent runs this command", [
      "run it with the shell tool of an agent, or name an agent: retinue tree <uri>",
    ]);
  if (found.is === "several") {
    const uris = found.agents.map((key) => agentOf(library.forestOf([key]), key).uri);
    throw new Failure("failed", "several agents run this command at the same time", [
      `it is one of ${uris.join(", ")}`,
      "retinue hooks install <provider> --lineage names agents in the environment of their commands, where supported",
    ]);
  }
  const forest = library.forestOf([found.agent]);
  const agent = agentOf(forest, found.agent);
  const root = context.treeOf(forest, rootOf(forest, found.agent));
  const own = context.treeOf(forest, found.agent);
  const siblings = agent.parent === null ? [] : siblingsOf(context, forest, agent.parent, own.uri);
  const thread = context.treeOf(forest, threadOf(found.agent));
  const limits = threadUses(env, (await context.settings()).values.limits, thread, library.now());
  if (context.json)
    return terminal.out(
      printJson(
        {
          self: withoutChildren(own),
          how: found.how,
          parent: own.parent,
          siblings: siblings.map(withoutChildren),
          limits,
          tree: root,
        },
        2,
      ),
    );
  terminal.out(render({ own, how: found.how, siblings, limits, root }, terminal));
}

interface Self {
  readonly own: AgentTree;
  /** How the agent was found. */
  readonly how: string;
  readonly siblings: readonly AgentTree[];
  readonly limits: ReturnType<typeof threadUses>;
  readonly root: AgentTree;
}

function render({ own, how, siblings, limits, root }: Self, terminal: Context["terminal"]): string {
  const { colors } = terminal;
  const sibling = (one: AgentTree) =>
    `  ${one.uri} · ${oneLine(displayName(one))} · ${one.status}${one.activity === null ? "" : ` · ${oneLine(one.activity)}`} · ${money(one.usage.subtree.costUsd)}`;
  const { calls, costUsd } = own.usage.subtree;
  return [
    `${colors.bold("you are")} ${own.uri}`,
    `  ${oneLine(displayName(own))} · ${count(calls)} calls · ${money(costUsd)} · ${duration(own.durationMs)}`,
    colors.dim(`  ${oneLine(how)}`),
    `${colors.bold("parent")} ${own.parent ?? "none: you are a top-level thread"}`,
    colors.bold(siblings.length === 0 ? "no siblings" : "siblings"),
    ...siblings.map(sibling),
    colors.bold(limits.length === 0 ? "no limits are set" : "limits"),
    ...limits.map(
      ({ limit, used, max, share, action }) =>
        `  ${LIMIT_LABELS[limit]}: ${limitText(limit, used)} of ${limitText(limit, max)}${share === null ? "" : ` (${percent(share)})`}, then ${action}`,
    ),
    "",
    renderTree(root, terminal, { all: false }),
  ].join("\n");
}

function rootOf(forest: Forest, key: AgentKey): AgentKey {
  let at = key;
  for (let { parent } = agentOf(forest, at); parent !== null; { parent } = agentOf(forest, at)) at = parent;
  return at;
}

const siblingsOf = (context: Context, forest: Forest, parent: AgentKey, own: string) =>
  agentOf(forest, parent)
    .children.map((key) => context.treeOf(forest, key))
    .filter(({ uri }) => uri !== own);
