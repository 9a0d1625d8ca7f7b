/** The recorder thread: parses and records the proxy's traffic, so that this cannot delay forwarding. */
import { getPriority, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { recorderWork } from "./recorder-work.ts";
import type { RecorderStart, ToRecorder } from "./traffic-recorder.ts";

/** A lower priority than the forwarding thread, but enough to keep up on a busy machine. */
const NICENESS = 5;
// On Linux each thread has its own priority. A process cannot raise a priority that is lower already.
if (process.platform === "linux" && getPriority() < NICENESS) setPriority(NICENESS);

const work = recorderWork(
  workerData as RecorderStart,
  (message) => parentPort?.postMessage(message),
  () => parentPort?.close(),
);
parentPort?.on("message", (received: ToRecorder) => work(received));
