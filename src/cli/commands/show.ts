import { Failure } from "../../app/failure.ts";
import { asEntry, branchTo, entriesOf } from "../../app/query/entries.ts";
import { readEvents } from "../../app/query/events.ts";
import { isThreadUri } from "../../app/query/resolve.ts";
import { explain } from "../../app/query/why.ts";
import { printJson } from "../../core/tools/json.ts";
import { treeOf, withoutChildren } from "../../core/views/record.ts";
import type { Context, Found } from "../context.ts";
import { entryHead, frontmatter, headOf } from "../render/frontmatter.ts";
import { agentMarkdown, entryMarkdown, threadMarkdown } from "../render/markdown.ts";

export interface ShowOptions {
  readonly head?: boolean;
  readonly full?: boolean;
}

/** `retinue <uri>`: the timeline of a thread, the combined view of one agent, or an entry of a thread. */
export async function show(context: Context, uri: string, options: ShowOptions): Promise<void> {
  const found = await context.find(uri).catch(async (error: unknown) => {
    if (!(error instanceof Failure) || error.code !== "not_found" || !(await showEntry(context, uri, options)))
      throw error;
    return null;
  });
  if (found !== null) await showAgent(context, found, isThreadUri(uri) ? "thread" : "subagent", options);
}

async function showAgent(
  context: Context,
  { library, forest, agents }: Found<readonly [string]>,
  as: "thread" | "subagent",
  options: ShowOptions,
): Promise<void> {
  const [agent] = agents;
  const { out } = context.terminal;
  if (options.head === true) {
    // The frontmatter contains no costs, so no prices are needed.
    const tree = treeOf(forest, agent.key, () => null);
    const head = headOf(tree, {
      as,
      subagents: true,
      entries: as === "thread" ? await entriesOf(library, agent) : null,
    });
    return out(context.json ? printJson(head, 2) : frontmatter(head));
  }
  const tree = context.treeOf(forest, agent.key);
  const events = await readEvents(library, forest, [agent.key]);
  if (context.json) return out(printJson({ ...withoutChildren(tree), events }, 2));
  const full = options.full === true;
  const body =
    as === "thread" ? threadMarkdown(tree, events, full) : agentMarkdown(tree, events, explain(forest, agent), full);
  out(`${frontmatter(headOf(tree, { as, subagents: false, entries: null }))}\n\n${body}`);
}

/** Returns false if the URI names no entry. */
async function showEntry(context: Context, uri: string, options: ShowOptions): Promise<boolean> {
  const named = asEntry(uri);
  if (named === null) return false;
  const found = await context.find(named.thread).catch((error: unknown) => {
    if (error instanceof Failure && error.code === "not_found") return null;
    throw error;
  });
  if (found === null) return false;
  const { library, forest, agents } = found;
  const [thread] = agents;
  const entries = (await entriesOf(library, thread)) ?? [];
  const entry = entries.find(({ id }) => id === named.entry);
  if (entry === undefined) return false;
  const head = entryHead(
    treeOf(forest, thread.key, () => null),
    entry,
  );
  const { out } = context.terminal;
  if (options.head === true) out(context.json ? printJson(head, 2) : frontmatter(head));
  else {
    const branch = branchTo(entries, entry);
    const places = new Set(branch.map(({ path, line }) => `${path}:${line}`));
    const events = (await readEvents(library, forest, [thread.key])).filter(
      ({ ref }) => ref !== null && "line" in ref && places.has(`${ref.path}:${ref.line}`),
    );
    if (context.json) out(printJson({ ...head, events }, 2));
    else out(`${frontmatter(head)}\n\n${entryMarkdown(branch.length, events, options.full === true)}`);
  }
  return true;
}
