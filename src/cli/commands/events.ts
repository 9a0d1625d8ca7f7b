import { readEvents } from "../../app/events.ts";
import { subtreeOf } from "../../core/link.ts";
import type { Context } from "../context.ts";

/** NDJSON, one line an event, whether or not --json is given: the lines are the format. */
export async function events(context: Context, uri: string, options: { readonly subtree?: boolean }): Promise<void> {
  const { library, forest, agents } = await context.find(uri);
  const { key } = agents[0];
  for (const event of await readEvents(library, forest, options.subtree === true ? subtreeOf(forest, key) : [key])) context.terminal.out(JSON.stringify(event));
}
