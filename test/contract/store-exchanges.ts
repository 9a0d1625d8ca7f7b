/** The contract of all stores for API requests. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Exchange } from "../../src/core/facts/exchange.ts";
import { callKey, recordKey } from "../../src/core/facts/ids.ts";
import type { Store } from "../../src/core/ports/store.ts";
import { A, B, batch, state, UNDER } from "./store-toys.ts";

const exchange = (id: string, at: number, more: Partial<Exchange> = {}): Exchange => ({
  id,
  at,
  speaker: A,
  thread: A,
  response: recordKey("toy", `msg-${id}`),
  api: "messages",
  tag: null,
  method: "POST",
  path: "/v1/messages",
  upstream: "http://127.0.0.1/",
  model: "m",
  branch: "main",
  before: null,
  isRetry: false,
  messages: 1,
  how: "finished",
  error: null,
  httpStatus: 200,
  stop: "end_turn",
  usage: null,
  firstTokenMs: 1,
  durationMs: 2,
  process: null,
  invocations: [],
  ...more,
});

export function exchangeContract(name: string, open: () => Promise<Store>): void {
  describe(`requests in the store ${name}`, () => {
    let store: Store;
    beforeEach(async () => {
      store = await open();
    });
    afterEach(() => store.close());
    const ids = (filter: Partial<Parameters<Store["exchanges"]>[0]> = {}) =>
      store.exchanges({ under: UNDER, limit: 99, ...filter }).map(({ id }) => id);
    const file = state("/root/a");

    it("are returned in their last version, newest first, page by page, by thread and by agent", () => {
      const first = [
        exchange("r1", 1),
        exchange("r2", 2, { how: "open" }),
        exchange("r3", 2, { thread: B, speaker: B }),
      ];
      store.commit([{ ...batch(file, []), exchanges: first }]);
      const grown = { ...file, size: 20, offset: 20 };
      store.commit([{ ...batch(grown, [], file), exchanges: [exchange("r2", 2, { speaker: B })] }]);
      expect(ids()).toEqual(["r3", "r2", "r1"]);
      expect([
        ids({ limit: 1 }),
        ids({ limit: 1, after: { at: 2, id: "r3" } }),
        ids({ after: { at: 2, id: "r2" } }),
      ]).toEqual([["r3"], ["r2"], ["r1"]]);
      expect([ids({ thread: A }), ids({ speakers: [B] }), ids({ thread: A, speakers: [B] })]).toEqual([
        ["r2", "r1"],
        ["r3", "r2"],
        ["r2"],
      ]);
      expect(store.exchange("r2", UNDER)).toEqual({ ...exchange("r2", 2, { speaker: B }), file: "/root/a" });
      expect([
        store.exchange("r9", UNDER),
        store.exchange("r2", ["/elsewhere"]),
        ids({ under: ["/elsewhere"] }),
      ]).toEqual([null, null, []]);
    });

    const call = callKey("toy", "c1");
    const invocations = [
      { call, toolUseId: "c1", name: "Task", prompt: "p", description: null, makes: "one" as const },
    ];

    it("are found by the calls in their responses: the first one, in whatever order they were stored", () => {
      const later = exchange("r1", 3, { invocations });
      store.commit([{ ...batch(file, []), exchanges: [later, exchange("r3", 2, { invocations })] }]);
      const other = state("/root/b");
      store.commit([{ ...batch(other, []), exchanges: [exchange("r2", 2, { invocations })] }]);
      expect(store.exchangeOfCall(call, UNDER)?.id).toBe("r2");
    });

    it("are found by the calls in their responses, and are removed with their file", () => {
      store.commit([{ ...batch(file, []), exchanges: [exchange("r1", 1), exchange("r2", 2, { invocations })] }]);
      expect(store.exchangeOfCall(call, UNDER)?.id).toBe("r2");
      expect([store.exchangeOfCall(callKey("toy", "c2"), UNDER), store.exchangeOfCall(call, ["/elsewhere"])]).toEqual([
        null,
        null,
      ]);
      store.commit([batch({ ...file, generation: 1 }, [], file)]);
      expect([ids(), store.exchange("r1", UNDER), store.exchangeOfCall(call, UNDER)]).toEqual([[], null, null]);
    });
  });
}
