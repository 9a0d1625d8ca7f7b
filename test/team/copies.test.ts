/** Two machines of one person that have the same thread: the server has the copy of one of them, never parts of both. */
import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Random, seeded } from "../../scripts/bench/random.ts";
import { openShippedFile } from "../../src/app/databases.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import { withRevision } from "../../src/app/ship/post.ts";
import { Shipper } from "../../src/app/ship/shipper.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import type { Shipped } from "../../src/core/ports/shipped.ts";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import { isAhead } from "../../src/core/views/shared-tree.ts";
import { type Database, openDatabase } from "../../src/stores/postgres/database.ts";
import { type Ingest, ingester } from "../../src/stores/postgres/ingest.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { freshDatabase } from "../support/postgres.ts";
import { libraryIn, TARGET } from "../support/shipping.ts";
import { agentDocument, eventDocument, HEAD } from "./documents.ts";

const FAR = Date.UTC(2030, 0);
let fresh: Awaited<ReturnType<typeof freshDatabase>>;
let database: Database;
let ingest: Ingest;
let scratch: string;
let owners = 0;
beforeAll(async () => {
  fresh = await freshDatabase();
  database = await openDatabase(fresh.url);
  await migrate(database);
  ingest = ingester(database);
});
afterAll(async () => {
  await database.close();
  await fresh.drop();
});
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-copies-"));
});
afterEach(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));

type Row = Readonly<Record<string, unknown>> & { readonly thread: string; readonly record?: string };

/** Rows of an owner's threads, without the numbers of shipments and revisions. */
async function stateOf(
  owner: string,
  isWanted: (thread: string) => boolean = () => true,
): Promise<Readonly<Record<string, readonly Row[]>>> {
  const rows = async (query: string) =>
    (await database.all<Row>(query, [owner]))
      .filter(({ thread }) => isWanted(thread))
      // A line without new facts changes the size of a transcript only; that is sent with the next change.
      .map((row) => (row.record === undefined ? row : { ...row, record: row.record.replace(/"bytes":\d+/g, "") }));
  return {
    threads: await rows(
      "select thread, active_at, status from retinue.threads where owner = $1 and present order by 1",
    ),
    agents: await rows(
      "select thread, uri, parent, place, record from retinue.agents where owner = $1 and present order by 1, 2",
    ),
    events: await rows("select thread, agent, position, event from retinue.events where owner = $1 order by 1, 2, 3"),
    logs: await rows("select thread, agent, length from retinue.logs where owner = $1 and length > 0 order by 1, 2"),
    lists: await rows(
      "select thread, agent, what, at, items from retinue.lists where owner = $1 and items <> '[]' order by 1, 2, 3, 4",
    ),
    details: await rows("select thread, agent, what, value from retinue.details where owner = $1 order by 1, 2, 3"),
    spent: await rows("select thread, agent, n, row from retinue.spent where owner = $1 order by 1, 2, 3"),
  };
}

class LostShipment extends Error {}

/** A machine that ships a few documents at a time; shipments and acknowledgements may get lost. */
class Machine {
  readonly name: string;
  readonly home: string;
  readonly library: Library;
  readonly #owner: string;
  readonly #random: Random;
  readonly #clock: number;
  #shipped: Shipped | null = null;
  #shipper: Shipper | null = null;
  /** Share of shipments that are lost. */
  loss = 0;
  sent = 0;

  constructor(owner: string, name: string, random: Random, clock: number, from: string) {
    this.#owner = owner;
    this.name = name;
    this.#random = random;
    this.#clock = clock;
    this.home = join(scratch, owner, name);
    mkdirSync(this.home, { recursive: true });
    cpSync(from, this.home, { recursive: true, preserveTimestamps: true });
    this.library = libraryIn(this.home, () => FAR);
  }

  /** As `Connection` does. */
  async #send(lines: readonly string[]): Promise<number> {
    const shipped = this.#shipped as Shipped;
    const first = shipped.reserve(TARGET.name, lines.length, this.#clock);
    const documents = lines.map((line, i) => JSON.parse(withRevision(line, first + i)) as ShipmentDocument);
    for (let pauses = this.#random.below(4); pauses > 0; pauses -= 1) await new Promise(setImmediate);
    if (this.#random.chance(this.loss / 2)) throw new LostShipment();
    const { shipments, newest, again } = await ingest(this.#owner, { ...HEAD, machine: this.name }, documents);
    this.sent += documents.length;
    if (this.#random.chance(this.loss / 2)) throw new LostShipment();
    if (!shipped.arrived(TARGET.name, shipments)) throw new LostShipment();
    if (newest >= first + lines.length) shipped.reserve(TARGET.name, 0, newest + 1);
    if (newest >= first + lines.length || shipped.resend(TARGET.name, again) > 0) throw new LostShipment();
    return 1;
  }

  /** Sends until nothing is left; a machine that was restarted has only what it stored. */
  async ship(): Promise<void> {
    this.#shipped ??= await openShippedFile(":memory:");
    await this.library.refresh();
    for (let tries = 0; tries < 1_000; tries += 1) {
      if (this.#random.chance(this.loss)) this.#shipper = null;
      this.#shipper ??= new Shipper({
        library: this.library,
        target: TARGET,
        shipped: this.#shipped,
        send: (lines) => this.#send(lines),
        signal: new AbortController().signal,
        limit: { bytes: 1 << 20, documents: 7 },
      });
      try {
        await this.#shipper.shipAll();
        // Contact without documents, as once an hour.
        await this.#send([]);
        return;
      } catch (error) {
        if (!(error instanceof LostShipment)) throw error;
        this.#shipper.reset();
      }
    }
    throw new Error("it never ended");
  }

  /** The state of a server that has only this machine's threads. */
  async alone(isWanted: (thread: string) => boolean): Promise<object> {
    owners += 1;
    const owner = `alone${owners}`;
    const machine = new Machine(owner, this.name, seeded(1), 1, this.home);
    // The same paths.
    Object.assign(machine, { library: this.library });
    await machine.ship();
    return stateOf(owner, isWanted);
  }

  close(): void {
    this.#shipped?.close();
  }
}

interface Line {
  readonly file: string;
  readonly text: string;
}

/** The home of a recording without its lines, and the lines in order of time. */
function takenApart(provider: string, name: string): { readonly empty: string; readonly lines: readonly Line[] } {
  const empty = join(scratch, "empty");
  cpSync(recordedHome(provider, name).home, empty, { recursive: true, preserveTimestamps: true });
  const lines = filesBelow(empty)
    .filter((file) => file.endsWith(".jsonl"))
    .flatMap((file) => {
      let at = 0;
      const all = readFileSync(join(empty, file), "utf8")
        .split(/(?<=\n)/)
        .map((text) => {
          at = Math.max(at, Date.parse(/"timestamp":"([^"]+)"/.exec(text)?.[1] ?? "") || 0);
          return { file, text, at };
        });
      writeFileSync(join(empty, file), "");
      return all;
    });
  return { empty, lines: lines.toSorted((a, b) => a.at - b.at) };
}

describe("two machines with the same thread", () => {
  it.each([
    { provider: "claude", name: "c-nested", seed: 1 },
    { provider: "claude", name: "u-nested-bg", seed: 2 },
    { provider: "codex", name: "v1-nested", seed: 3 },
    { provider: "claude", name: "c3-nested-parallel", seed: 4 },
    { provider: "claude", name: "h-resume", seed: 5 },
  ])("of $provider $name: what is stored is the whole copy that is ahead, after every interleaving", async (given) => {
    const random = seeded(given.seed);
    const { empty, lines } = takenApart(given.provider, given.name);
    const owner = `two${given.seed}`;
    // The clock of one machine is wrong: revisions of two machines mean nothing to each other.
    const machines = [1, 2_000_000_000].map(
      (clock, i) => new Machine(owner, `m${i}`, seeded(given.seed * 10 + i), clock, empty),
    );
    const written = machines.map(() => 0);
    let changes = 0;
    let before = "";
    for (let round = 0; round < 8; round += 1) {
      const isLast = round === 7;
      // They take turns in being ahead; the other one follows part of the way.
      const longest = Math.max(...written);
      const ahead = isLast ? lines.length : Math.min(lines.length, longest + 1 + random.below(lines.length / 4));
      for (const [i, machine] of machines.entries()) {
        machine.loss = isLast ? 0 : random.of([0, 0.1, 0.4]);
        const from = written[i] ?? 0;
        const to = isLast || i === round % 2 ? ahead : from + random.below(longest - from + 1);
        for (const { file, text } of lines.slice(from, to)) appendFileSync(join(machine.home, file), text);
        written[i] = to;
      }
      const order = random.chance(0.5) ? machines : machines.toReversed();
      if (random.chance(0.5)) for (const machine of order) await machine.ship();
      else await Promise.all(order.map((machine) => machine.ship()));
      // Each learns what the other one's shipments led to.
      for (const machine of [...machines, ...machines]) await machine.ship();
      const held = await database.all<{ machine: string; thread: string; record: string }>(
        `select t.machine, t.thread, a.record from retinue.threads t join retinue.agents a
         on a.owner = t.owner and a.thread = t.thread and a.uri = t.thread where t.owner = $1 and t.present`,
        [owner],
      );
      for (const [i, machine] of machines.entries()) {
        const threads = new Map(
          held.filter((one) => one.machine === machine.name).map(({ thread, record }) => [thread, record]),
        );
        const isHeld = (thread: string) => threads.has(thread);
        expect(await stateOf(owner, isHeld)).toEqual(await machine.alone(isHeld));
        for (const { record } of machines[1 - i]?.library.threadRows({}) ?? [])
          if (threads.has(record.uri))
            expect(isAhead(record as AgentRecord, JSON.parse(threads.get(record.uri) ?? "") as AgentRecord)).toBe(
              false,
            );
      }
      const now = JSON.stringify(held.map(({ machine, thread }) => [machine, thread]).sort());
      if (now !== before) changes += 1;
      before = now;
    }
    expect(changes).toBeGreaterThan(1);
    const sent = machines.map((machine) => machine.sent);
    for (const machine of machines) await machine.ship();
    // Nothing is sent again and again.
    expect(machines.map((machine) => machine.sent)).toEqual(sent);
    for (const machine of machines) machine.close();
  });

  it("keep it when one of them no longer has it", async () => {
    const random = seeded(7);
    const { home } = recordedHome("claude", "c-nested");
    const [one, two] = [0, 1].map((i) => new Machine("leaver", `m${i}`, random, 1, home)) as [Machine, Machine];
    await one.ship();
    const whole = await stateOf("leaver");
    await two.ship();
    expect(await stateOf("leaver")).toEqual(whole);
    const files = filesBelow(one.home).filter((file) => file.endsWith(".jsonl"));
    const removal: ShipmentDocument[] = [...one.library.threadRows({})].map(({ record: { uri } }) => ({
      ...{ is: "removed", thread: uri, uri, revision: 1_000_000 },
    }));
    expect([files.length > 0, removal.length]).toEqual([true, 1]);
    // The machine that does not hold it removes nothing.
    const other = await ingest("leaver", { ...HEAD, machine: "m3" }, removal);
    expect(other).toMatchObject({ accepted: 0, ignored: 1, again: [] });
    expect(await stateOf("leaver")).toEqual(whole);
    await ingest("leaver", { ...HEAD, machine: "m0" }, removal);
    expect(await stateOf("leaver")).toMatchObject({ agents: [], events: [] });
    await two.ship();
    expect(await stateOf("leaver")).toEqual(await two.alone(() => true));
    one.close();
    two.close();
  });
});

describe("a shipment about a thread that another machine holds", () => {
  const T = "toy://t1";
  const here = { ...HEAD, machine: "here" };
  const there = { ...HEAD, machine: "there" };
  const at = (minute: number) => ({ lastActivityAt: `2026-06-01T10:0${minute}:00.000Z` });
  const ids = async (owner: string) =>
    (
      await database.all<{ id: string }>("select id from retinue.events where owner = $1 order by position", [owner])
    ).map(({ id }) => id);
  const removed = (revision: number): ShipmentDocument => ({ is: "removed", thread: T, uri: T, revision });

  it("is acknowledged and not stored, whatever its revisions", async () => {
    await ingest("held", here, [agentDocument(T, T, 5, at(5)), eventDocument(T, T, 0, 6, { id: "here" })]);
    const before = await stateOf("held");
    for (const revision of [1, 5, 900]) {
      const documents = [agentDocument(T, T, revision, at(4)), eventDocument(T, T, 1, revision + 1, { id: "there" })];
      expect(await ingest("held", there, documents)).toMatchObject({ accepted: 0, ignored: 2, newest: 0, again: [] });
      expect(await stateOf("held")).toEqual(before);
    }
  });

  it("is asked for as a whole if it is ahead, until it arrives", async () => {
    await ingest("ask", here, [agentDocument(T, T, 900, at(5)), eventDocument(T, T, 0, 901, { id: "here" })]);
    const ahead = [agentDocument(T, T, 20, at(6)), eventDocument(T, T, 1, 21, { id: "there" })];
    expect(await ingest("ask", there, ahead)).toMatchObject({ accepted: 0, again: [T] });
    // The response was lost, or the machine has something else to send first.
    expect(await ingest("ask", there, [])).toMatchObject({ again: [T] });
    expect(await ids("ask")).toEqual(["here"]);
    const whole = [
      removed(30),
      agentDocument(T, T, 31, at(6)),
      eventDocument(T, T, 0, 32, { id: "there0" }),
      eventDocument(T, T, 1, 33, { id: "there1" }),
    ];
    expect(await ingest("ask", there, whole)).toMatchObject({ accepted: 4, ignored: 0, again: [] });
    expect(await ids("ask")).toEqual(["there0", "there1"]);
    // What the former holder sends late, or again, is not stored.
    const late = [eventDocument(T, T, 2, 999, { id: "late" }), removed(1_000)];
    expect(await ingest("ask", here, late)).toMatchObject({ accepted: 0, again: [] });
    expect(await ingest("ask", there, whole)).toMatchObject({ accepted: 0, newest: 31 });
    expect(await ids("ask")).toEqual(["there0", "there1"]);
  });

  it("does not replace a copy that has grown in the meantime", async () => {
    await ingest("race", here, [agentDocument(T, T, 1, at(1)), eventDocument(T, T, 0, 2, { id: "here" })]);
    expect(await ingest("race", there, [agentDocument(T, T, 1, at(2))])).toMatchObject({ again: [T] });
    await ingest("race", here, [agentDocument(T, T, 3, at(3))]);
    const whole = [removed(2), agentDocument(T, T, 3, at(2)), eventDocument(T, T, 0, 4, { id: "there" })];
    expect(await ingest("race", there, whole)).toMatchObject({ accepted: 0, again: [] });
    expect(await ids("race")).toEqual(["here"]);
  });
});
