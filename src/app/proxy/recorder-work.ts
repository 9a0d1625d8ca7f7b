import { type ExchangeEvent, TrafficRecording } from "./recording.ts";
import type { Passed, PassedChunks, RecorderMessage, RecorderStart, ToRecorder } from "./traffic-recorder.ts";

/** Parses and records what is passed to the recorder. `onClosed` is called when everything is recorded. */
export function recorderWork(
  { folder, redaction, window, reportsRows, memory }: RecorderStart,
  send: (message: RecorderMessage) => void,
  onClosed: () => void,
): (received: ToRecorder) => void {
  const recording = new TrafficRecording({
    folder,
    window,
    redaction,
    onTrouble: (error) => send({ is: "trouble", text: error.message }),
    onRow: (row) => {
      if (reportsRows && (row.is === "asked" || row.is === "opened" || row.is === "ended")) send({ is: "row", row });
    },
  });
  const handle = (event: ExchangeEvent) => {
    try {
      recording.handle(event);
    } catch (error) {
      send({ is: "trouble", text: (error as Error).message });
    }
  };
  const record = (received: readonly Passed[]) => {
    let [bytes, end] = [0, 0];
    for (const one of received) {
      if (!("parts" in one)) {
        handle(one);
        continue;
      }
      for (const part of partsOf(memory, one)) {
        bytes += part.length;
        handle({ is: one.is, id: one.id, at: one.at, bytes: part });
      }
      end = one.end;
    }
    send({ is: "done", entries: received.length, bytes, end });
  };
  const close = async () => {
    await recording.written();
    recording.close();
    send({ is: "closed" });
    onClosed();
  };
  send({ is: "ready" });
  return (received) => {
    if (received === "reopen") recording.close();
    else if (received === "close") void close();
    else record(received);
  };
}

function* partsOf(memory: SharedArrayBuffer, { parts }: PassedChunks): Iterable<Uint8Array> {
  for (let i = 0; i + 1 < parts.length; i += 2) {
    const [start = 0, end = 0] = parts.slice(i, i + 2);
    yield new Uint8Array(memory, start, end - start);
  }
}
