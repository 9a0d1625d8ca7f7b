import { displayName } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import type { Thread } from "../state/thread.ts";

/** The name of an agent of the thread; its URI until the thread is loaded. */
export function agentName(thread: Thread, uri: string): string {
  thread.shape();
  const record = thread.agent(uri);
  return record === undefined ? uri : oneLine(displayName(record), 80);
}
