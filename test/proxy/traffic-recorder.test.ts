/**
 * Messages from the proxy to its recorder: few messages, no retained copies, and nothing that grows while the recorder
 * is behind.
 */
import { execFileSync } from "node:child_process";
import { EventEmitter } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import {
  type Passed,
  type StartRecorder,
  type ToRecorder,
  TrafficRecorder,
} from "../../src/app/proxy/traffic-recorder.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import { until } from "../support/server.ts";

const scratch = scratchFolder();
const HEAD = {
  method: "POST",
  path: "/v1/messages",
  headers: ["content-type", "application/json"],
  upstream: "http://127.0.0.1:9",
};

function recorderIn(folder: string, recorder?: StartRecorder) {
  const troubles: string[] = [];
  const large: boolean[] = [];
  const options = {
    folder,
    redaction: null,
    window: { defaultMs: null, projects: new Map(), hosts: new Map() },
    reportsRows: false,
  };
  return {
    troubles,
    large,
    recorder: new TrafficRecorder({
      ...options,
      ...(recorder && { recorder }),
      onRow: () => {},
      onTrouble: (words) => troubles.push(words),
      onLargeBodies: (isLarge) => large.push(isLarge),
    }),
  };
}

const delta = (text: string) =>
  Buffer.from(
    `data: ${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}\n\n`,
  );

/** An exchange with a response of so many chunks. */
function exchange(recorder: TrafficRecorder, number: number, chunks: number): void {
  const one = recorder.begin(HEAD);
  one.requestChunk(
    Buffer.from(
      JSON.stringify({ model: "m", stream: true, messages: [{ role: "user", content: `Question ${number}` }] }),
    ),
  );
  one.requestEnd();
  one.responseHead({ status: 200, headers: ["content-type", "text/event-stream"] });
  one.responseChunk(
    Buffer.from(
      'data: {"type":"message_start","message":{"id":"msg_1","model":"m","usage":{"input_tokens":1}}}\n\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}\n\n',
    ),
  );
  for (let i = 0; i < chunks; i += 1) one.responseChunk(delta(`word ${i} `));
  one.responseChunk(Buffer.from('data: {"type":"content_block_stop","index":0}\n\ndata: {"type":"message_stop"}\n\n'));
  one.ended({ how: "finished" });
}

const rowsIn = (folder: string) =>
  readdirSync(folder).flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));

it("sends the same number of entries for an exchange, however many chunks it has", async () => {
  const folder = join(scratch(), "few");
  const { recorder, troubles } = recorderIn(folder);
  const entries: number[] = [];
  for (const chunks of [10, 1_000]) {
    const before = recorder.passed.entries;
    exchange(recorder, chunks, chunks);
    entries.push(recorder.passed.entries - before);
  }
  expect(entries).toEqual([6, 6]);
  await recorder.close();
  expect(recorder.passed.batches).toBe(1);
  expect(troubles).toEqual([]);
  const rows = rowsIn(folder);
  expect(rows.filter((row) => row.includes('"block"') && row.includes("word 9 ")).length).toBe(2);
  expect(rows.some((row) => row.includes("word 999 "))).toBe(true);
});

it("records every byte of a large response, and reports large bodies while they pass", async () => {
  const folder = join(scratch(), "bulk");
  const { recorder, troubles, large } = recorderIn(folder);
  exchange(recorder, 1, 1);
  await until(() => recorder.waiting.entries === 0);
  expect([recorder.passed.batches, large]).toEqual([1, []]);
  const one = recorder.begin(HEAD);
  one.responseHead({ status: 200, headers: ["content-type", "text/event-stream"] });
  let sent = 0;
  for (let i = 0; i < 8; i += 1) {
    const chunk = delta(`part ${i} `.repeat(40_000 + i));
    one.responseChunk(chunk);
    sent += chunk.length;
    // The recorder is sent what has passed in an earlier turn of the event loop.
    await turn();
  }
  one.ended({ how: "finished" });
  await until(() => recorder.waiting.entries === 0 && large.at(-1) === false);
  expect(large[0]).toBe(true);
  await recorder.close();
  expect(troubles).toEqual([]);
  expect(rowsIn(folder).filter((row) => row.includes(`"bytes":${sent}}`)).length).toBe(1);
});

it("sends what passes after a few milliseconds unless it is a bulk, wherever it is in the shared memory", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const thread = new EventEmitter();
  const received: Passed[] = [];
  const { recorder } = recorderIn(join(scratch(), "small"), () =>
    Object.assign(thread, {
      postMessage: (message: ToRecorder) => {
        if (typeof message === "string") return;
        received.push(...message);
        const chunks = message.filter((one) => "parts" in one);
        const bytes = chunks.reduce((sum, { parts: [start = 0, end = 0] }) => sum + end - start, 0);
        thread.emit("message", { is: "done", entries: message.length, bytes, end: chunks.at(-1)?.end ?? 0 });
      },
      ref: () => {},
      unref: () => {},
    }),
  );
  // Each begins with an empty ring.
  for (const number of [1, 2, 3]) {
    exchange(recorder, number, 1);
    vi.advanceTimersByTime(10);
    expect([received.length, recorder.waiting]).toEqual([6 * number, { entries: 0, bytes: 0 }]);
  }
});

it("omits requests while too much is queued, and retains none of them in the end", async () => {
  const folder = join(scratch(), "flood");
  const { recorder, troubles } = recorderIn(folder);
  for (let i = 0; i < 5_000; i += 1) exchange(recorder, i, 1);
  const most = recorder.waiting;
  expect(most.entries).toBeLessThan(10_010);
  expect(new Set(troubles)).toEqual(
    new Set(["requests arrive faster than they can be recorded; some are not recorded"]),
  );
  await until(() => recorder.waiting.entries === 0);
  expect(recorder.waiting).toEqual({ entries: 0, bytes: 0 });
  exchange(recorder, 5_001, 1);
  expect(recorder.waiting.entries).toBe(6);
  await recorder.close();
  const ended = rowsIn(folder).filter((row) => row.includes('"ended"')).length;
  expect(ended).toBe(Math.round((most.entries + 6) / 6));
});

it("runs with a small young generation, so that forwarded chunks do not make V8 collect the whole heap", () => {
  const sizes =
    'import { getHeapSpaceStatistics as spaces } from "node:v8"; process.on("exit", () => console.log("young: " + spaces().find((one) => one.space_name === "new_space").space_size));';
  const program = join(import.meta.dirname, "../../bin/retinue.js");
  const printed = execFileSync(
    process.execPath,
    ["--import", `data:text/javascript,${encodeURIComponent(sizes)}`, program, "proxy", "--help"],
    {
      encoding: "utf8",
    },
  );
  expect(Number(/^young: (\d+)$/m.exec(printed)?.[1])).toBeLessThanOrEqual(4 << 20);
});

it("records even if it was started with the lowest priority", () => {
  const home = scratch();
  const [folder, program] = [join(home, "nice"), join(home, "nice.mjs")];
  const script = `
    import { setPriority } from "node:os";
    import { TrafficRecorder } from ${JSON.stringify(new URL("../../src/app/proxy/traffic-recorder.ts", import.meta.url).href)};
    setPriority(19);
    const window = { defaultMs: null, projects: new Map(), hosts: new Map() };
    const options = { folder: ${JSON.stringify(folder)}, redaction: null, window, reportsRows: false };
    const recorder = new TrafficRecorder({ ...options, onRow() {}, onTrouble: (words) => console.log("trouble: " + words) });
    const one = recorder.begin(${JSON.stringify(HEAD)});
    one.requestEnd();
    one.ended({ how: "finished" });
    await recorder.close();`;
  writeFileSync(program, script);
  const printed = execFileSync(process.execPath, [program], { encoding: "utf8" });
  expect(printed).toBe("");
  expect(rowsIn(folder).some((row) => row.includes('"ended"'))).toBe(true);
});
