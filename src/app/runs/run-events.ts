import type { AgentKey } from "../../core/facts/ids.ts";
import { type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import type { Library } from "../ingest/library.ts";
import { live } from "../live/live.ts";
import { EventReader, type More } from "../query/events.ts";
import type { Running } from "./run.ts";

/**
 * All events of the agents of a run, until it has ended and everything was read. `onTurnOver` is called with the end
 * time of a turn after the consumer has received its events.
 */
export async function* runEvents(
  library: Library,
  run: Pick<Running, "thread" | "ended">,
  onTurnOver?: (at: number) => void,
): AsyncGenerator<AgentEvent> {
  const over = new AbortController();
  void run.ended.then(() => over.abort());
  const reader = new EventReader(library);
  let thread: AgentKey | null = null;
  void run.thread.then((found) => {
    thread = found;
  });
  async function* newEvents(more: More): AsyncGenerator<AgentEvent> {
    const forest = thread === null ? null : library.forestOf([thread]);
    const root = thread === null ? undefined : forest?.agents.get(thread);
    if (forest === null || root === undefined) return;
    yield* await reader.next(forest, subtreeOf(forest, root.key), more);
    const end = endOf(root);
    if (end !== null) onTurnOver?.(end);
  }
  for await (const _ of live(library, { signal: over.signal })) yield* newEvents("surely");
  await run.ended;
  thread = await run.thread;
  // Files may have been written without a notification.
  await library.refresh();
  library.recheck();
  yield* newEvents("no");
}

/** The time of its end; null if it is running. */
function endOf({ verdict, statements, lastAt }: LinkedAgent): number | null {
  const isOver = verdict.status !== "running" && verdict.status !== "pendingInit";
  return isOver ? Math.max(statements.at(-1)?.at ?? 0, lastAt ?? 0) : null;
}
