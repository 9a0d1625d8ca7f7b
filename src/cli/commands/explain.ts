import { explainAgent } from "../../app/explain/explain.ts";
import { Failure } from "../../app/failure.ts";
import { sinceOf } from "../../app/query/since.ts";
import { printJson } from "../../core/tools/json.ts";
import { summarise } from "../../core/views/explain-summary.ts";
import type { Context } from "../context.ts";
import { renderExplanation, renderSummary } from "../render/explain.ts";
import { walk } from "../render/tree.ts";

export interface ExplainOptions {
  readonly since?: string;
  readonly all?: boolean;
}

/** What went wrong or was wasted: in one tree, or in all threads since a time. */
export async function explain(context: Context, uri: string | undefined, options: ExplainOptions): Promise<void> {
  if ((uri === undefined) === (options.since === undefined))
    throw new Failure("usage", "explain needs a URI or --since", [
      "write retinue explain <uri>, or retinue explain --since 7d",
    ]);
  if (uri !== undefined) return explainOne(context, uri, options.all === true);
  const from = sinceOf(options.since ?? "", Date.now());
  const since = new Date(from).toISOString();
  const library = await context.library();
  const active = new Set([...library.threads({ since: from })].map((thread) => thread.uri));
  // The index has usage by day, not by time of day. For the first day, threads that ended before `since` are left out.
  const rows = library.store.spent(library.under, since.slice(0, 10)).filter(({ thread }) => active.has(thread));
  const summary = summarise(rows);
  context.terminal.out(
    context.json ? printJson({ since, ...summary }, 2) : renderSummary(summary, timeName(from), context.terminal),
  );
}

/** A date, with the time of day if it is not midnight. */
const timeName = (at: number) =>
  new Date(at)
    .toISOString()
    .replace("T00:00:00.000Z", "")
    .replace(/T(\d\d:\d\d).*$/, " $1 UTC");

async function explainOne(context: Context, uri: string, all: boolean): Promise<void> {
  const { library, forest, agents } = await context.find(uri);
  const found = await explainAgent(library, forest, agents[0].key);
  if (context.json) return context.terminal.out(printJson(found, 2));
  const records = new Map([...walk(context.treeOf(forest, agents[0].key))].map((record) => [record.uri, record]));
  context.terminal.out(renderExplanation(found, records, all, context.terminal));
}
