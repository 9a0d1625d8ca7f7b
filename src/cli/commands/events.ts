import { live } from "../../app/live/live.ts";
import { persistently } from "../../app/live/retry.ts";
import { Troubles } from "../../app/live/troubles.ts";
import { EventReader } from "../../app/query/events.ts";
import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import { type Forest, subtreeOf } from "../../core/link/forest.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { stopSignal } from "../output.ts";

export interface EventsOptions {
  readonly subtree?: boolean;
  readonly follow?: boolean;
}

/** Always prints NDJSON, one line per event, with or without --json. */
export async function events(context: Context, uri: string, options: EventsOptions): Promise<void> {
  const { library, forest, agents } = await context.find(uri);
  const { key } = agents[0];
  const reader = new EventReader(library);
  const wanted = (forest: Forest): readonly AgentKey[] => (options.subtree === true ? subtreeOf(forest, key) : [key]);
  const print = async (forest: Forest) => {
    for (const event of await reader.next(forest, wanted(forest))) context.terminal.out(printJson(event));
  };
  await print(forest);
  if (options.follow !== true) return;

  const printNew = async (threads: ReadonlySet<AgentKey>) => {
    const forest = library.forestOf([key]);
    const shown = new Set([...forest.agents.keys()].map(threadOf));
    // An empty set means that only time has passed; a running agent may have become stale.
    if (threads.size === 0 || [...threads].some((thread) => shown.has(thread))) await print(forest);
  };
  const retry = { signal: stopSignal(), notify: context.terminal.notify, troubles: new Troubles() };
  for await (const { threads } of live(library, retry))
    await persistently(() => library.query(() => printNew(threads)), retry);
}
