/** A thread of its own that reads and writes down what the proxy passes on: nothing it does can hold up a byte. */
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { TrafficRecording } from "./recording.ts";
import type { Passed, RecorderSays, RecorderStart } from "./witness.ts";

/** Low enough to come after the thread that passes bytes on, and high enough to keep up on a busy machine. */
const NICENESS = 15;
// Linux gives each thread a priority of its own. A process that was started with a lower one may not raise it.
if (process.platform === "linux" && getPriority() < NICENESS) setPriority(NICENESS);

const { folder, redaction, window, tellsRows, memory } = workerData as RecorderStart;
const tell = (says: RecorderSays) => parentPort?.postMessage(says);

const recording = new TrafficRecording({
  folder,
  window,
  redaction,
  onTrouble: (error) => tell({ is: "trouble", words: error.message }),
  onRow: (row) => {
    if (tellsRows && (row.is === "asked" || row.is === "opened" || row.is === "ended")) tell({ is: "row", row });
  },
});

parentPort?.on("message", (told: readonly Passed[] | "reopen" | "close") => {
  if (typeof told === "string") {
    recording.close();
    if (told === "reopen") return;
    tell({ is: "closed" });
    parentPort?.close();
    return;
  }
  let [bytes, end] = [0, 0];
  for (const one of told) {
    if ("end" in one) [bytes, end] = [bytes + one.length, one.end];
    try {
      recording.tell(
        "end" in one
          ? { is: one.is, id: one.id, at: one.at, bytes: new Uint8Array(memory, one.start, one.length) }
          : one,
      );
    } catch (error) {
      tell({ is: "trouble", words: (error as Error).message });
    }
  }
  tell({ is: "done", entries: told.length, bytes, end });
});
