import type { AgentEvent } from "../core/event.ts";
import type { AgentKey } from "../core/ids.ts";
import { type LinkedAgent, subtreeOf } from "../core/link.ts";
import { EventReader, type More } from "./events.ts";
import type { Library } from "./library.ts";
import { live } from "./live.ts";
import type { Running } from "./run.ts";

/**
 * Everything that happens to the agents of a run, from its first word until it has ended and all of it is known.
 * `onTurnOver` hears when the thread has done what it was asked and when that was, once whoever reads along has seen it.
 */
export async function* runEvents(library: Library, run: Pick<Running, "thread" | "ended">, onTurnOver?: (at: number) => void): AsyncGenerator<AgentEvent> {
  const over = new AbortController();
  void run.ended.then(() => over.abort());
  const reader = new EventReader(library);
  let thread: AgentKey | null = null;
  void run.thread.then((found) => {
    thread = found;
  });
  async function* news(more: More): AsyncGenerator<AgentEvent> {
    const forest = thread === null ? null : library.forestOf([thread]);
    const root = thread === null ? undefined : forest?.agents.get(thread);
    if (forest === null || root === undefined) return;
    yield* await reader.next(forest, subtreeOf(forest, root.key), more);
    const end = endOf(root);
    if (end !== null) onTurnOver?.(end);
  }
  for await (const _ of live(library, { signal: over.signal })) yield* news("surely");
  await run.ended;
  thread = await run.thread;
  // Files may have been written that nobody told us of.
  await library.refresh();
  library.recheck();
  yield* news("no");
}

/** When it came to an end; null for one that is at work. */
function endOf({ verdict, statements, lastAt }: LinkedAgent): number | null {
  const isOver = verdict.status !== "running" && verdict.status !== "pendingInit";
  return isOver ? Math.max(statements.at(-1)?.at ?? 0, lastAt ?? 0) : null;
}
