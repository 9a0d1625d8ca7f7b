import { readEvents } from "../../app/events.ts";
import { listPrice } from "../../app/prices.ts";
import { explain } from "../../app/why.ts";
import { treeOf, withoutChildren } from "../../core/record.ts";
import type { Context } from "../context.ts";
import { printable } from "../render/format.ts";
import { frontmatter, headOf } from "../render/frontmatter.ts";
import { agentMarkdown, threadMarkdown } from "../render/markdown.ts";

export interface ShowOptions {
  readonly head?: boolean;
  readonly full?: boolean;
}

/** `retinue <uri>`: a thread's timeline, or one agent seen from both sides. */
export async function show(context: Context, uri: string, options: ShowOptions): Promise<void> {
  const { machine, agents } = await context.find(uri);
  const [agent] = agents;
  const tree = treeOf(machine.forest, agent.key, listPrice);
  const { out } = context.terminal;
  if (options.head === true) {
    const head = headOf(tree, { subagents: true });
    return out(context.json ? JSON.stringify(head, null, 2) : printable(frontmatter(head)));
  }
  const events = await readEvents(machine, [agent.key]);
  if (context.json) return out(JSON.stringify({ ...withoutChildren(tree), events }, null, 2));
  const full = options.full === true;
  const body = tree.agentId === null ? threadMarkdown(tree, events, full) : agentMarkdown(tree, events, explain(machine.forest, agent), full);
  out(printable(`${frontmatter(headOf(tree, { subagents: false }))}\n\n${body}`));
}
