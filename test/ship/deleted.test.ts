/** Transcripts that are deleted on the machine: new ones are deleted on the team server, of old ones it keeps what it has. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openIndex } from "../../src/app/databases.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import type { ShipTarget } from "../../src/app/ship/target.ts";
import type { Shipped } from "../../src/core/ports/shipped.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { recordedHome } from "../support/fixtures.ts";
import { Received } from "../support/received.ts";
import { expectSame, libraryIn, shipperTo, TARGET } from "../support/shipping.ts";

const DAY_MS = 86_400_000;
const KEEPING: ShipTarget = { ...TARGET, keepsDeletedAfterMs: 14 * DAY_MS };
const SINGLE = "a-single";
const NESTED = "c-nested";

let scratch: string;
let home: string;
let now: number;
let library: Library;
let received: Received;
let shipped: Shipped;
/** The thread with nested agents. */
let uri: string;
let tree: AgentTree;

beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-deleted-"));
  home = join(scratch, "home");
  for (const name of [SINGLE, NESTED])
    cpSync(recordedHome("claude", name).home, home, { recursive: true, preserveTimestamps: true });
  now = Date.UTC(2030, 0);
  library = await opened();
  received = new Received();
  shipped = (await shipperTo(library, received)).shipped;
  await shipWith(KEEPING);
  tree = received.threads
    .map((thread) => treeAt(thread))
    .reduce((most, one) => (one.counts.descendants > most.counts.descendants ? one : most));
  uri = tree.uri;
});
afterEach(() => {
  shipped.close();
  library.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** With an index that has read nothing yet. */
async function opened(): Promise<Library> {
  const fresh = libraryIn(home, () => now, await openIndex(":memory:", "test"));
  await fresh.refresh();
  return fresh;
}

/** Returns how many documents were sent. A new process each time. */
async function shipWith(target: ShipTarget, to: Received = received): Promise<number> {
  const { accepted } = to;
  await library.refresh();
  await (await shipperTo(library, to, { target, shipped })).shipper.shipAll();
  return to.accepted - accepted;
}

function treeAt(thread: string, at: Received = received): AgentTree {
  const found = at.tree(thread, thread, now);
  if (found === null) throw new Error(`${thread} is not at the server`);
  return found;
}

const agentsOf = (top: AgentTree): AgentTree[] => [top, ...top.children.flatMap(agentsOf)];
const eventsAt = (at: Received = received) => agentsOf(tree).map((agent) => at.events(uri, agent.uri));

function deleteTranscripts(): void {
  for (const agent of agentsOf(tree)) for (const { path } of agent.records) rmSync(path, { force: true });
}

/** Also the folders beside them, which name the thread. */
function deleteEverything(): void {
  deleteTranscripts();
  for (const { path } of tree.records) rmSync(path.replace(/\.jsonl$/, ""), { recursive: true, force: true });
}

async function rebuildIndex(): Promise<void> {
  library.close();
  library = await opened();
}

/** The nested thread as this machine shows it. */
function local(): AgentTree {
  for (const forest of library.forests())
    for (const root of forest.roots) {
      const found = treeOf(forest, root, library.price);
      if (found.uri === uri) return found;
    }
  throw new Error(`${uri} is not here`);
}

it("the machine itself shows at once that a transcript was deleted", async () => {
  deleteTranscripts();
  const { threads } = await library.refresh();
  expect(threads.size).toBe(1);
  expect([...library.threads({})].find((record) => record.uri === uri)?.warnings.join()).toContain("deleted");
});

describe("a thread that was active a day ago", () => {
  beforeEach(() => {
    now = Date.parse(tree.lastActivityAt ?? "") + DAY_MS;
  });

  it("is at the server as this machine shows it: without what could only be read from its transcripts", async () => {
    const before = eventsAt().flat().length;
    deleteTranscripts();
    expect(await shipWith(KEEPING)).toBeGreaterThan(0);
    await expectSame(library, received);
    expect(eventsAt().flat().length).toBeLessThan(before);
    expect(await shipWith(KEEPING)).toBe(0);
  });

  it("is removed if the index was rebuilt and does not know it", async () => {
    deleteEverything();
    await rebuildIndex();
    expect(await shipWith(KEEPING)).toBeGreaterThan(0);
    expect(received.threads).not.toContain(uri);
  });
});

describe("a thread that was active years ago", () => {
  it("keeps its events at the server, and says that its transcripts were deleted", async () => {
    const before = eventsAt();
    deleteTranscripts();
    expect(await shipWith(KEEPING)).toBeGreaterThan(0);
    expect(eventsAt()).toEqual(before);
    expect(treeAt(uri)).toEqual(local());
    expect(treeAt(uri).warnings.join()).toContain("deleted");
    expect(treeAt(uri).usage).toEqual(tree.usage);
    expect(await shipWith(KEEPING)).toBe(0);
  });

  it("follows if the settings say so", async () => {
    deleteTranscripts();
    expect(await shipWith(TARGET)).toBeGreaterThan(0);
    await expectSame(library, received);
  });

  it.each([
    ["knows it from other files only", deleteTranscripts],
    ["does not know it", deleteEverything],
  ])("stays if the index was rebuilt and %s, as long as its project is shared by the same rules", async (_, remove) => {
    const before = eventsAt();
    remove();
    await rebuildIndex();
    const shared = { ...KEEPING, projects: [tree.cwd ?? ""] };
    for (const target of [KEEPING, shared]) {
      await shipWith(target);
      expect(eventsAt()).toEqual(before);
      expect(treeAt(uri)).toEqual(tree);
      expect([...(await shipperTo(library, received, { target, shipped })).shipper.waiting()]).toEqual([]);
    }
    await shipWith({ ...KEEPING, projects: ["/nowhere"] });
    expect(received.threads).toEqual([]);
  });

  it.each([
    ["knows it from other files only", deleteTranscripts],
    ["does not know it", deleteEverything],
  ])("loses its texts if the rules become stricter and a rebuilt index %s", async (_, remove) => {
    remove();
    await rebuildIndex();
    await shipWith({ ...KEEPING, redaction: { ...KEEPING.redaction, level: "metadata" } });
    expect(
      eventsAt()
        .flat()
        .filter(({ text }) => text !== null),
    ).toEqual([]);
  });

  it("is sent by stricter rules without its events, because their texts cannot be reduced any more", async () => {
    deleteTranscripts();
    await shipWith(KEEPING);
    await shipWith({ ...KEEPING, redaction: { ...KEEPING.redaction, level: "metadata" } });
    const texts = eventsAt()
      .flat()
      .filter(({ text }) => text !== null);
    expect(texts).toEqual([]);
  });

  it("follows if a transcript is still there and was shortened", async () => {
    const [{ path } = { path: "" }] = tree.records;
    const lines = readFileSync(path, "utf8").split(/(?<=\n)/);
    writeFileSync(path, lines.slice(0, lines.length / 2).join(""));
    await shipWith(KEEPING);
    await expectSame(library, received);
  });
});

describe("after the server has lost shipments", () => {
  it("keeps the events that it has of such a thread; all others are sent again", async () => {
    const before = eventsAt();
    deleteTranscripts();
    await shipWith(KEEPING);
    shipped.arrived(KEEPING.name, 2);
    expect(shipped.arrived(KEEPING.name, 1)).toBe(false);
    expect(await shipWith(KEEPING)).toBeGreaterThan(0);
    expect(eventsAt()).toEqual(before);
    expect(treeAt(uri)).toEqual(local());
    for (let round = 0; round < 2; round += 1) expect(await shipWith(KEEPING)).toBe(0);
    expect(eventsAt()).toEqual(before);
  });

  it("has the records and sums of such a thread, and everything of all others", async () => {
    deleteTranscripts();
    await shipWith(KEEPING);
    shipped.arrived(KEEPING.name, 2);
    shipped.arrived(KEEPING.name, 1);
    const empty = new Received();
    await shipWith(KEEPING, empty);
    expect(empty.threads).toEqual(received.threads);
    expect(treeAt(uri, empty)).toEqual(local());
    expect(eventsAt(empty).flat()).toEqual([]);
    const other = empty.threads.find((thread) => thread !== uri) ?? "";
    expect(empty.events(other, other)).toEqual(received.events(other, other));
    for (let round = 0; round < 2; round += 1) expect(await shipWith(KEEPING, empty)).toBe(0);
  });

  it("replaces everything if nothing was deleted", async () => {
    shipped.arrived(KEEPING.name, 2);
    shipped.arrived(KEEPING.name, 1);
    const empty = new Received();
    await shipWith(KEEPING, empty);
    await expectSame(library, empty);
  });
});
