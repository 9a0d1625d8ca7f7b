import type { AgentEvent } from "../core/event.ts";
import { type AgentKey, partsOf } from "../core/ids.ts";
import { type Forest, subtreeOf } from "../core/link.ts";
import { formatUri } from "../core/uri.ts";
import { EventReader } from "./events.ts";
import type { Library } from "./library.ts";
import { live } from "./live.ts";
import type { Running } from "./run.ts";

/** Everything that happens to the agents of a run, from its first word until it has ended and all of it is known. */
export async function* runEvents(library: Library, run: Pick<Running, "thread" | "ended">, onTurnOver?: () => void): AsyncGenerator<AgentEvent> {
  const over = new AbortController();
  void run.ended.then(() => over.abort());
  const reader = new EventReader(library);
  let thread: AgentKey | null = null;
  void run.thread.then((found) => {
    thread = found;
  });
  const news = async () => {
    const forest: Forest | null = thread === null ? null : library.forestOf([thread]);
    return forest === null || thread === null || !forest.agents.has(thread) ? [] : reader.next(forest, subtreeOf(forest, thread));
  };
  for await (const _ of live(library, { signal: over.signal }))
    for (const event of await news()) {
      yield event;
      if (isOver(event, thread)) onTurnOver?.();
    }
  await run.ended;
  thread = await run.thread;
  // Files may have been written that nobody told us of.
  await library.refresh();
  library.recheck();
  yield* await news();
}

/** The thread itself has come to an end of what it was asked; `onTurnOver` hears of it once whoever reads along had time to say more. */
function isOver({ status, uri }: AgentEvent, thread: AgentKey | null): boolean {
  if (thread === null || status === null || status.status === "running" || status.status === "pendingInit") return false;
  const { provider, thread: id } = partsOf(thread);
  return uri === formatUri(provider, id, null);
}
