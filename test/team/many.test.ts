/** A thousand machines that come back at once after an outage. */
import { Hono, type MiddlewareHandler } from "hono";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { TeamStore } from "../../src/app/team/store.ts";
import type { TeamEnv, Viewer } from "../../src/server/team/access.ts";
import { Metrics } from "../../src/server/team/metrics.ts";
import { Receiver } from "../../src/server/team/receive.ts";
import { Displaced, Turns } from "../../src/server/team/turns.ts";
import { agentDocument } from "./documents.ts";
import { packed, SHIPMENT } from "./server.ts";

const MACHINES = 1_000;
const THREAD = "claude://cccccccc-0000-4000-8000-000000000001";

/** A server that only receives; the header `machine` is the owner. */
function receiving(ingest: TeamStore["ingest"], metrics = new Metrics()) {
  const receiver = new Receiver({ store: { ingest }, metrics, log: () => {} });
  const app = new Hono<TeamEnv>();
  const asMachine: MiddlewareHandler<TeamEnv> = async (c, next) => {
    const owner = c.req.header("machine") ?? "";
    const viewer: Viewer = { grant: { id: owner, owner, scope: "ship", teams: [] }, owners: [], isNarrowed: false };
    c.set("viewer", viewer);
    await next();
  };
  app.use(asMachine);
  app.post("/", (c) => receiver.receive(c));
  return { app, receiver };
}

const RECEIPT = { accepted: 1, ignored: 0, shipments: 1, newest: 0, again: [] };
const BODY = packed([agentDocument(THREAD, THREAD, 1)]);

/** A shipment whose body begins and does not end. */
function stalled(machine: string): Request {
  const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode("{")) });
  return new Request("http://host/", { method: "POST", body, duplex: "half", headers: { machine } });
}

describe("a sender that is too slow", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("is refused after 20 seconds; others are stored meanwhile", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const { app } = receiving(async () => RECEIPT);
    const slow = app.request(stalled("slow"));
    expect((await app.request("/", { method: "POST", body: BODY, headers: SHIPMENT })).status).toBe(200);
    await vi.advanceTimersByTimeAsync(20_000);
    const refused = await slow;
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { message: "the body did not arrive within 20 seconds" } });
  });

  it("does not delay others with any number of bodies that never end", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
    const { app, receiver } = receiving(async () => RECEIPT);
    const slow = Array.from({ length: 300 }, () => app.request(stalled("slow")));
    // Without time passing: these do not wait until the slow ones are given up.
    for (const machine of ["ann", "bob", "ann"])
      expect((await app.request("/", { method: "POST", body: BODY, headers: { ...SHIPMENT, machine } })).status).toBe(
        200,
      );
    expect(receiver.waiting).toBe(32);
    for (let rounds = 0; rounds < 5; rounds += 1) await vi.advanceTimersByTimeAsync(20_000);
    expect(new Set((await Promise.all(slow)).map(({ status }) => status))).toEqual(new Set([503]));
  });
});

describe("a thousand machines at once", () => {
  it("are stored a few at a time; the others retry at different times, and all are stored in the end", async () => {
    const stored: string[] = [];
    let [working, most, waiting] = [0, 0, 0];
    const ingest = async (owner: string) => {
      working += 1;
      most = Math.max(most, working);
      waiting = Math.max(waiting, receiver.waiting);
      await new Promise((resolve) => setImmediate(resolve));
      working -= 1;
      stored.push(owner);
      return RECEIPT;
    };
    const metrics = new Metrics();
    const { app, receiver } = receiving(ingest, metrics);
    const send = (machine: string) =>
      app.request("/", { method: "POST", body: BODY, headers: { ...SHIPMENT, machine } });

    let left = Array.from({ length: MACHINES }, (_, i) => `m${i}`);
    const pauses = new Set<number>();
    for (let round = 0; left.length > 0 && round < 20; round += 1) {
      const answers = await Promise.all(left.map(async (machine) => ({ machine, response: await send(machine) })));
      for (const { response } of answers) {
        if (response.status === 503) pauses.add(Number(response.headers.get("retry-after")));
        else expect(response.status).toBe(200);
      }
      const again = answers.filter(({ response }) => response.status === 503).map(({ machine }) => machine);
      expect(again.length).toBeLessThan(left.length);
      left = again;
    }
    expect(stored.toSorted()).toEqual(Array.from({ length: MACHINES }, (_, i) => `m${i}`).toSorted());
    // Those who came first are let in.
    const first = Array.from({ length: 32 + 256 }, (_, i) => `m${i}`);
    expect(stored.slice(0, first.length).toSorted()).toEqual(first.toSorted());
    expect(most).toBe(4);
    expect(waiting).toBeLessThanOrEqual(256 + 32);
    expect(pauses.size).toBeGreaterThan(10);
    expect([...pauses].every((seconds) => seconds >= 2 && seconds <= 30)).toBe(true);
    expect(metrics.text([])).toContain('retinue_shipments_failed_total{reason="Busy"}');
  });
});

describe("turns", () => {
  it("are given to clients that were served least recently, if not all can wait", async () => {
    const turns = new Turns({ atOnce: 1, maxWaiting: 2 });
    const served: string[] = [];
    const refused: string[] = [];
    const enter = async (client: string) => {
      const place = turns.enter(client);
      if (place === null) return void refused.push(client);
      try {
        await place.turn;
      } catch (error) {
        expect(error).toBeInstanceOf(Displaced);
        return void refused.push(client);
      }
      served.push(client);
      await new Promise((resolve) => setImmediate(resolve));
      place.done();
    };
    // Three clients that send one request after another fill all places.
    await Promise.all(["a", "b", "c"].map(enter));
    const again = ["a", "b", "c"].map(enter);
    // Others take the places of those that were served last; one that was served last gets none.
    await Promise.all([...again, enter("d"), enter("e"), enter("c")]);
    expect(served).toEqual(["a", "b", "c", "a", "d", "e"]);
    expect(refused.toSorted()).toEqual(["b", "c", "c"]);
  });

  it("are given to the client with the fewest requests at work, and none gets more than its places", async () => {
    const turns = new Turns({ atOnce: 3, maxWaiting: 10, ofOneClient: { atOnce: 2, maxWaiting: 2 } });
    const started: string[] = [];
    const ends = new Map<string, () => void>();
    const enter = (client: string, name: string) => {
      const place = turns.enter(client);
      if (place === null) return false;
      ends.set(name, place.done);
      void place.turn.then(() => started.push(name));
      return true;
    };
    const names = ["a1", "a2", "a3", "a4", "a5"];
    expect(names.map((name) => enter("a", name))).toEqual([true, true, true, true, false]);
    expect(["b1", "b2", "c1"].map((name) => enter(name.charAt(0), name))).toEqual([true, true, true]);
    await vi.waitFor(() => expect(started).toEqual(["a1", "a2", "b1"]));
    ends.get("a1")?.();
    // `c` has no request at work; `a` and `b` have one each, and `a` came first.
    await vi.waitFor(() => expect(started.at(-1)).toBe("c1"));
    ends.get("c1")?.();
    ends.get("a2")?.();
    await vi.waitFor(() => expect(started.slice(4)).toEqual(["a3", "b2"]));
  });
});
