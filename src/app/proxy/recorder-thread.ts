/** The recorder thread: parses and records the proxy's traffic, so that this cannot delay forwarding. */
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { type ExchangeEvent, TrafficRecording } from "./recording.ts";
import type { Passed, PassedChunks, RecorderMessage, RecorderStart } from "./traffic-recorder.ts";

/** A lower priority than the forwarding thread, but enough to keep up on a busy machine. */
const NICENESS = 15;
// On Linux each thread has its own priority. A process cannot raise a priority that is lower already.
if (process.platform === "linux" && getPriority() < NICENESS) setPriority(NICENESS);

const { folder, redaction, window, reportsRows, memory } = workerData as RecorderStart;
const send = (message: RecorderMessage) => parentPort?.postMessage(message);

const recording = new TrafficRecording({
  folder,
  window,
  redaction,
  onTrouble: (error) => send({ is: "trouble", text: error.message }),
  onRow: (row) => {
    if (reportsRows && (row.is === "asked" || row.is === "opened" || row.is === "ended")) send({ is: "row", row });
  },
});

parentPort?.on("message", (received: readonly Passed[] | "reopen" | "close") => {
  if (received === "reopen") return recording.close();
  if (received === "close") return void close();
  let [bytes, end] = [0, 0];
  for (const one of received) {
    if (!("parts" in one)) {
      handle(one);
      continue;
    }
    for (const part of partsOf(one)) {
      bytes += part.length;
      handle({ is: one.is, id: one.id, at: one.at, bytes: part });
    }
    end = one.end;
  }
  send({ is: "done", entries: received.length, bytes, end });
});

async function close(): Promise<void> {
  await recording.written();
  recording.close();
  send({ is: "closed" });
  parentPort?.close();
}

function handle(event: ExchangeEvent): void {
  try {
    recording.handle(event);
  } catch (error) {
    send({ is: "trouble", text: (error as Error).message });
  }
}

function* partsOf({ parts }: PassedChunks): Iterable<Uint8Array> {
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [start = 0, end = 0] = parts.slice(i, i + 2);
    yield new Uint8Array(memory, start, end - start);
  }
}
