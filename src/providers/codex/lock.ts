import { FindingsOf } from "../../core/ports/findings.ts";
import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import * as key from "./keys.ts";

/**
 * `thread-writer-locks/<thread>.lock`, since 0.146: empty, and locked by the process that writes the thread. Removed on
 * a clean exit.
 */
export function writerLock(thread: string, file: SourceFile): Parser {
  const speaker = key.thread(thread);
  return {
    push() {
      const out = new FindingsOf({ path: file.path, line: 0, at: null, speaker, keys: [] });
      out.add({ type: "process-seen", thread: speaker, process: { lock: file.path }, waitingFor: null });
      return out;
    },
    events: () => [],
    save: () => null,
  };
}
