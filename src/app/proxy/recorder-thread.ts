/** A thread of its own that reads and writes down what the proxy passes on: nothing it does can hold up a byte. */
import { setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { type Told, TrafficRecording } from "./recording.ts";
import type { RecorderJob, RecorderSays } from "./witness.ts";

// To the operating system a thread is a process of its own here: it comes after those who pass bytes on.
if (process.platform === "linux") setPriority(10);

const { folder, redaction, window, tellsRows } = workerData as RecorderJob;
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

parentPort?.on("message", (told: readonly Told[] | "reopen" | "close") => {
  if (typeof told === "string") {
    recording.close();
    if (told === "reopen") return;
    tell({ is: "closed" });
    parentPort?.close();
    return;
  }
  let bytes = 0;
  for (const one of told) {
    try {
      recording.tell(one);
    } catch (error) {
      tell({ is: "trouble", words: (error as Error).message });
    }
    if ("bytes" in one) bytes += one.bytes.length;
  }
  tell({ is: "done", bytes });
});
