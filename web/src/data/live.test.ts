import { describe, expect, it } from "vitest";
import { type Connection, earliest, LiveStream } from "./live.ts";
import { sampleAgent } from "./sample.ts";

interface Part {
  readonly status?: number;
  readonly text?: string;
  /** The connection is aborted instead of closed. */
  readonly cut?: boolean;
}

/** A stream from a server that sends one part per request. `finished` resolves at the request after the last part. */
function startStream(parts: readonly Part[]) {
  /** The `Last-Event-ID` of each request. */
  const lastIds: (string | null)[] = [];
  const received: string[] = [];
  const waits: number[] = [];
  const states: Connection[] = [];
  let finish: () => void = () => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const stream = new LiveStream({
    fetch: async (_url, init) => {
      lastIds.push(new Headers(init.headers).get("last-event-id"));
      const part = parts[lastIds.length - 1];
      if (part === undefined) {
        finish();
        return new Promise(() => {});
      }
      const bytes = new TextEncoder().encode(part.text);
      let at = 0;
      const body = new ReadableStream({
        pull(controller) {
          // In small chunks, as from a network.
          if (at < bytes.length) controller.enqueue(bytes.subarray(at, at + 7));
          else if (part.cut === true) controller.error(new Error("cut"));
          else controller.close();
          at += 7;
        },
      });
      return new Response(body, { status: part.status ?? 200 });
    },
    wait: async (ms) => {
      waits.push(ms);
    },
    handlers: {
      agent: (record) => received.push(`agent ${record.uri}`),
      event: (event) => received.push(`event ${event.id}`),
      removed: (uri) => received.push(`removed ${uri}`),
      spans: ({ uri, next }) => received.push(`spans ${uri} ${next}`),
      card: ({ id }) => received.push(`card ${id}`),
      cardRemoved: (id) => received.push(`card removed ${id}`),
      troubles: (troubles) => received.push(`troubles ${troubles.map(({ code }) => code)}`),
      reset: () => received.push("reset"),
      connection: (state) => states.push(state),
    },
  });
  stream.follow("api/live", null);
  return { lastIds, received, waits, states, finished, stream };
}

const message = (event: string, id: string, data: unknown) =>
  `event: ${event}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;

describe("the live stream", () => {
  it("continues after the last message if the connection was lost", async () => {
    const { lastIds, received, finished } = startStream([
      {
        text: `: hello\n\n${message("agent", "g-1", sampleAgent("a", null))}${message("event", "g-2", { id: "e1" })}`,
        cut: true,
      },
      {
        text: `${message("spans", "g-3", { uri: "a", after: "s-1", next: "s-2", items: [] })}${message("removed", "g-3", { uri: "a" })}event: agent\nid: g-4\ndata: {"half`,
      },
      { text: message("other", "g-5", {}) },
    ]);
    await finished;
    expect(received).toEqual(["agent a", "event e1", "spans a s-2", "removed a"]);
    expect(lastIds).toEqual([null, "g-2", "g-3", "g-5"]);
  });

  it("starts again when the server cannot continue", async () => {
    const { lastIds, received, finished } = startStream([
      { text: message("event", "g-9", { id: "e1" }) },
      { text: "event: reset\nid: h-0\ndata: {}\n\n" },
    ]);
    await finished;
    expect(received).toEqual(["event e1", "reset"]);
    expect(lastIds).toEqual([null, "g-9", "h-0"]);
  });

  it("backs off while the server does not respond", async () => {
    const { waits, finished } = startStream([
      { status: 503 },
      { status: 503 },
      { text: message("event", "g-1", { id: "e1" }) },
      { status: 503 },
    ]);
    await finished;
    expect(waits).toEqual([500, 1000, 250, 500]);
  });

  it("backs off while every stream ends immediately", async () => {
    const { waits, finished } = startStream(Array.from({ length: 6 }, () => ({ text: ": hello\n\n" })));
    await finished;
    expect(waits).toEqual([500, 1000, 2000, 4000, 5000, 5000]);
  });

  it("can be stopped and started", async () => {
    const { stream, lastIds, states, finished } = startStream([{ text: message("event", "g-1", { id: "e1" }) }]);
    await finished;
    stream.stop();
    expect(stream.isStarted).toBe(false);
    stream.start();
    stream.start();
    expect(lastIds).toEqual([null, "g-1", "g-1"]);
    stream.follow("api/live", "g-7");
    stream.follow("api/live?tree=a", "g-9");
    expect(lastIds).toEqual([null, "g-1", "g-1", "g-9"]);
    stream.follow(null, null);
    expect(stream.isStarted).toBe(false);
    expect(states.at(-1)).toBe("idle");
  });

  it("starts at the earliest position of several responses", () => {
    expect(earliest(["ab-12", "ab-9", null, "ab-10"])).toBe("ab-9");
    expect(earliest([null])).toBeNull();
  });
});
