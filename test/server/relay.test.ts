/**
 * Followed servers: their events, interrupted at any place, give the tree that the database gives and that the model
 * server recorded.
 */
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { resolve } from "../../src/app/query/resolve.ts";
import { ServerRelay } from "../../src/app/relay/relay.ts";
import { relayedProvider, serverAddress } from "../../src/app/relay/relayed.ts";
import { subtreeOf } from "../../src/core/link/forest.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";
import { FakeServer, type Followed, followed, recordedResponses } from "../support/opencode-server.ts";
import { until } from "../support/server.ts";

const CASES = [
  "abort-child",
  "background",
  "fail-500",
  "fail-tool",
  "nested",
  "parallel",
  "permission",
  "reconnect",
  "single",
  "v1.1.65-single",
];
const PACE = { firstMs: 1, longestMs: 20, catchUpMs: 50 };

let scratch = "";
let server: FakeServer;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-relay-"));
  server = new FakeServer();
});
afterEach(async () => {
  await server.stop().catch(() => {});
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

const envOf = (home: string, data = "data") => {
  mkdirSync(home, { recursive: true });
  return { HOME: home, RETINUE_HOME: join(scratch, data) };
};

async function libraryOf(home = join(scratch, "empty"), data = "data", now = Date.now): Promise<Library> {
  const library = new Library({
    env: envOf(home, data),
    store: new MemoryStore(),
    price: () => null,
    liveness: () => "gone",
    now,
  });
  await library.refresh();
  return library;
}

function treeIn(library: Library, root: string): AgentTree {
  const { key } = resolve(library, `opencode://${root}`);
  return treeOf(library.forestOf([key]), key, library.price);
}

const follow = (url: string, pace: Partial<typeof PACE> = PACE) =>
  new ServerRelay({
    env: envOf(join(scratch, "empty")),
    provider: relayedProvider("opencode"),
    ...serverAddress(url),
    pace,
  });

async function playAll({ frames }: Followed) {
  await until(() => server.listeners > 0);
  for (const frame of frames) server.send(frame);
}

describe("a server that is followed from its start", () => {
  it.each(CASES)("%s", async (name) => {
    const recording = followed(name);
    const relay = follow(await server.start());
    await playAll(recording);
    await until(() => relay.view.frames > recording.frames.length);
    await relay.stop();
    const library = await libraryOf();
    for (const thread of recording.threads)
      expect(differences(thread, treeIn(library, thread.root) as unknown as TreeNode)).toEqual([]);
    expect(library.store.problems(1)).toEqual([]);
  });
});

/** A tree without the places it was read from. */
function seen({ records: _, link, children, ...record }: AgentTree): object {
  return { ...record, link: link && { ...link, evidence: [] }, children: children.map(seen) };
}

/** All events of a tree. */
async function eventsIn(library: Library, root: string): Promise<object[]> {
  const { key } = resolve(library, `opencode://${root}`);
  const forest = library.forestOf([key]);
  const events = await readEvents(library, forest, subtreeOf(forest, key));
  // The first event of a response shows its tokens, whichever it is. A server reports a failure before the failed
  // message is written: the time of the error event is when the report arrived.
  return events.map(({ uri, at, kind, text, tool, spawn, status }) => ({
    uri,
    at: kind === "error" ? null : at,
    kind,
    text,
    tool,
    spawn,
    status,
  }));
}

/** Events with the same time may be in any order. */
const sorted = (events: readonly object[]) => events.map((event) => JSON.stringify(event)).sort();

const homeOf = (name: string) => join(FIXTURES, "opencode", name, "home");
/** The home folder differs between runs. */
const WITH_DATABASE = CASES.filter((name) => name !== "v1.1.65-single");

describe("a session read from the server and from the database", () => {
  it.each(WITH_DATABASE)("gives the same tree from each and from both: %s", async (name) => {
    const recording = followed(name);
    const database = await libraryOf(homeOf(name));
    const relay = follow(await server.start());
    await playAll(recording);
    await until(() => relay.view.frames > recording.frames.length);
    await relay.stop();
    const [stream, both] = [await libraryOf(), await libraryOf(homeOf(name))];
    for (const { root } of recording.threads) {
      expect(seen(treeIn(stream, root))).toEqual(seen(treeIn(database, root)));
      expect(seen(treeIn(both, root))).toEqual(seen(treeIn(database, root)));
      const expected = sorted(await eventsIn(database, root));
      expect(sorted(await eventsIn(stream, root))).toEqual(expected);
      expect(sorted(await eventsIn(both, root))).toEqual(expected);
    }
  });
});

/** Deterministic, so that a failure can be reproduced. */
function randomFrom(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return state % below;
  };
}

const CUTS = Number(process.env.RETINUE_CUTS ?? 25);

describe("a server with interrupted connections", () => {
  it.each(CASES)(`%s, ${CUTS} times at any place`, async (name) => {
    const recording = followed(name);
    const random = randomFrom(name.length * 7919 + 1);
    server.respond = recordedResponses(recording.rest);
    const url = await server.start();
    const relay = follow(url);
    for (let cuts = 0; cuts < CUTS; cuts += 1) {
      const start = random(recording.frames.length);
      await until(() => server.listeners > 0);
      for (const frame of recording.frames.slice(start, start + random(60))) server.send(frame);
      const torn = recording.frames[random(recording.frames.length)] ?? "";
      if (random(3) > 0) server.cut(torn.slice(0, random(torn.length)));
    }
    await until(() => server.listeners > 0);
    const asked = server.requests.length;
    await until(() => server.requests.slice(asked).filter((path) => path === "/permission").length > 1);
    await relay.stop();
    const library = await libraryOf();
    for (const thread of recording.threads)
      expect(differences(thread, treeIn(library, thread.root) as unknown as TreeNode)).toEqual([]);
    if (WITH_DATABASE.includes(name)) {
      const database = await libraryOf(homeOf(name), "other");
      for (const { root } of recording.threads) {
        expect(seen(treeIn(library, root))).toEqual(seen(treeIn(database, root)));
        expect(sorted(await eventsIn(library, root))).toEqual(sorted(await eventsIn(database, root)));
      }
    }
    const sessions = new Set(
      recording.threads.flatMap(({ root, agents }) => agents.map(({ agentId }) => agentId ?? root)),
    );
    const foreign = [...library.threads({})].filter(({ sessionId }) => !sessions.has(sessionId));
    expect(foreign.map(({ uri }) => uri)).toEqual([]);
  });
});

/** The latest time in the frames. */
const lastTime = ({ frames }: Followed) =>
  Math.max(
    ...frames.flatMap((frame) =>
      [...frame.matchAll(/"(?:created|updated|start|end|completed)":(\d{13})/g)].map(([, time]) => Number(time)),
    ),
  );

describe("a server that was killed", () => {
  const recording = followed("sigkill");
  const [{ root } = { root: "" }] = recording.threads;
  const statuses = async () => {
    // Only a report of the server can decide: the agents have not been silent for long enough.
    const library = await libraryOf(join(scratch, "empty"), "data", () => lastTime(recording) + 1_000);
    const tree = treeIn(library, root);
    return [tree.status, ...tree.children.map(({ status }) => status)];
  };

  it("leaves agents shown as running until it is back and reports that none is running", async () => {
    const url = await server.start();
    const relay = follow(url);
    await playAll(recording);
    await until(() => relay.view.frames > recording.frames.length);
    expect(await statuses()).toEqual(["running", "running"]);
    const port = Number(new URL(url).port);
    await server.stop();
    await until(() => relay.view.state === "waiting");
    server = new FakeServer();
    server.respond = recordedResponses(recording.rest, "restarted.");
    await server.start(port);
    await until(async () => (await statuses()).every((status) => status === "shutdown"));
    await relay.stop();
    expect(await statuses()).toEqual(["shutdown", "shutdown"]);
  });
});
