/**
 * Followed servers that fail, fall silent, send nothing, send everything twice, flood, refuse and forget. Nothing is
 * lost, counted twice or leaked.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { Library } from "../../src/app/ingest/library.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { resolve } from "../../src/app/query/resolve.ts";
import { ServerRelay } from "../../src/app/relay/relay.ts";
import { relayedProvider, serverAddress } from "../../src/app/relay/relayed.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { subtreeOf } from "../../src/core/link/forest.ts";
import { MAX_FOLLOWED_SESSIONS } from "../../src/core/tools/limits.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Card } from "../../src/core/views/card.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { retinueProcess } from "../support/cli.ts";
import { allFacts } from "../support/facts.ts";
import { filesBelow } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";
import { FakeServer, followed, recordedResponses } from "../support/opencode-server.ts";
import { startServer, until } from "../support/server.ts";

const PACE = { firstMs: 1, longestMs: 20, catchUpMs: 30 };
const recording = followed("nested");
const [thread] = recording.threads;
const root = thread?.root ?? "";

let scratch = "";
let env: Record<string, string> = {};
let server: FakeServer;
let url = "";
const relays: ServerRelay[] = [];
beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-faults-"));
  env = { HOME: join(scratch, "home"), RETINUE_HOME: join(scratch, "data") };
  mkdirSync(env.HOME ?? "");
  server = new FakeServer();
  url = await server.start();
});
afterEach(async () => {
  await Promise.all(relays.splice(0).map((relay) => relay.stop()));
  await server.stop();
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

function follow(pace: ConstructorParameters<typeof ServerRelay>[0]["pace"] = PACE, address = url) {
  const relay = new ServerRelay({
    env,
    provider: relayedProvider("opencode"),
    ...serverAddress(address),
    pace: { ...PACE, ...pace },
  });
  relays.push(relay);
  return relay;
}

async function library(): Promise<Library> {
  const found = new Library({
    env,
    store: new MemoryStore(),
    price: () => null,
    staleAfterMs: Number.MAX_SAFE_INTEGER,
  });
  await found.refresh();
  return found;
}
async function tree(of = root): Promise<AgentTree> {
  const found = await library();
  const { key } = resolve(found, `opencode://${of}`);
  return treeOf(found.forestOf([key]), key, found.price);
}
const wrong = async () => {
  const found = await tree().catch(() => null);
  return found === null || thread === undefined ? ["no tree"] : differences(thread, found as unknown as TreeNode);
};
const recorded = () => filesBelow(scratch).filter((path) => path.endsWith(".jsonl"));

describe("a server", () => {
  it("that fails for a while is asked until it responds", async () => {
    let failures = 0;
    const right = recordedResponses(recording.rest);
    server.respond = (path) => {
      failures += 1;
      return failures < 40 ? { status: 500, body: { name: "UnknownError" } } : right(path);
    };
    follow();
    await until(async () => (await wrong()).length === 0);
    expect(failures).toBeGreaterThan(40);
  });

  it("whose stream contains only heartbeats is still asked for its sessions", async () => {
    let respond: FakeServer["respond"] = () => ({ status: 200, body: [] });
    server.respond = (path) => respond(path);
    const relay = follow();
    await until(
      () => relay.view.state === "following" && server.requests.filter((path) => path === "/session").length > 1,
    );
    respond = recordedResponses(recording.rest);
    const beating = setInterval(() => server.send('{"payload":{"type":"server.heartbeat","properties":{}}}'), 5);
    try {
      await until(async () => (await wrong()).length === 0);
    } finally {
      clearInterval(beating);
    }
    expect(relay.view.state).toBe("following");
  });

  it("that falls silent is disconnected, and connected again", async () => {
    const relay = follow({ silenceMs: 30 });
    await until(() => server.connections > 2 && relay.view.error === "no data for 30 ms");
    expect(relay.view.state).not.toBe("stopped");
  });

  it("that is not running yet is waited for", async () => {
    const port = Number(new URL(url).port);
    await server.stop();
    const relay = follow();
    await until(() => relay.view.state === "waiting");
    expect(relay.view.error).toMatch(/ECONNREFUSED/);
    server = new FakeServer();
    await server.start(port);
    await until(() => relay.view.state === "following");
  });

  it("that responds with a web page is not followed", async () => {
    const page = new FakeServer();
    page.respond = () => ({ status: 200, body: "hello" });
    const relay = follow(PACE, `${await page.start()}below`);
    await until(() => relay.view.error !== null);
    expect(relay.view.error).toMatch(
      /^no event stream of OpenCode at this address \(GET \/global\/event: .*GET \/event: /,
    );
    await relay.stop();
    await page.stop();
  });

  const scoped = () =>
    recording.frames
      .map((one) => JSON.parse(one).payload)
      .filter(({ type }) => type !== "sync")
      .map((one) => JSON.stringify(one));

  it.each([
    ["404", null],
    ["a page", "<!doctype html><title>OpenCode</title>"],
    ["an error", { status: 500, body: {} }],
  ])(
    "that has only /event, and responds with %s to the rest, is followed, and unknown values are reported as unknown",
    async (_how, rest) => {
      server.stream = "/event";
      server.respond = () => rest;
      const relay = follow();
      await until(() => server.listeners > 0);
      for (const one of scoped()) server.send(one);
      await until(async () => (await wrong()).length === 0);
      expect(relay.view.limits[0]).toContain("it streams one directory only (GET /event)");
      if (rest !== null && typeof rest === "object") return;
      // After a gap, everything is requested.
      server.cut();
      // A 404 with a JSON error may mean that the session is unknown, so it does not prove that the route is missing.
      const missing = [
        "/event",
        "/permission",
        "/session",
        "/session/status",
        ...(rest === null ? [] : ["/session/{id}/message"]),
      ];
      const routes = () => relay.view.limits.map((limit) => /GET (\S+)\)/.exec(limit)?.[1] ?? "").sort();
      await until(() => routes().length >= missing.length);
      expect(routes()).toEqual(missing);
      expect((await tree()).status).toBe("completed");
      // The same is not requested again and again.
      const looks = (from: number) => server.requests.slice(from).filter((path) => path === "/permission").length;
      const cut = server.requests.length;
      await until(() => looks(cut) > 2);
      const asked = server.requests.length;
      await until(() => server.requests.slice(asked).filter((path) => path === "/permission").length > 2);
      expect(server.requests.slice(asked).filter((path) => path.endsWith("/message"))).toEqual([]);
    },
  );

  it("that has only /event is asked for missed records after an interruption, and followed again", async () => {
    server.stream = "/event";
    server.respond = recordedResponses(recording.rest);
    const relay = follow();
    await until(() => server.listeners > 0);
    for (const one of scoped().slice(0, 20)) server.send(one);
    server.cut("{");
    await until(() => relay.view.state === "following" && server.listeners > 0);
    await until(async () => (await wrong()).length === 0);
    expect(relay.view.limits).toHaveLength(1);
  });

  it("that ends every stream at once is contacted with growing pauses", async () => {
    server.endsAtOnce = true;
    const relay = follow({ firstMs: 100, longestMs: 3_600_000 });
    await until(() => server.connections > 4);
    expect(relay.view.error).toBe("the server closed the stream");
    // Each pause is between half and all of twice the previous one. On a busy machine it is longer, never shorter.
    const pauses = server.connectedMs.slice(1).map((at, i) => at - (server.connectedMs[i] ?? 0));
    expect(pauses.filter((pause, i) => pause < 49 * 2 ** i)).toEqual([]);
  });

  it("that sends invalid events is still followed", async () => {
    const relay = follow();
    await until(() => server.listeners > 0);
    const junk = [
      "not json",
      "{}",
      "[]",
      "null",
      '"text"',
      '{"payload":7}',
      '{"payload":{"type":7,"properties":[]}}',
      '{"type":"session.error"}',
    ];
    const half = [
      "session.created",
      "session.error",
      "session.status",
      "message.updated",
      "message.part.updated",
      "permission.asked",
    ];
    for (const [i, one] of recording.frames.entries()) {
      server.send(junk[i % junk.length] ?? "");
      server.send(
        JSON.stringify({
          payload: {
            type: half[i % half.length],
            properties: { sessionID: i % 2 === 0 ? 7 : "../../x", info: "x", part: [], error: 7 },
          },
        }),
      );
      server.send(one);
    }
    await until(() => relay.view.frames > 3 * recording.frames.length);
    expect(await wrong()).toEqual([]);
    expect(recorded()).not.toEqual([]);
    for (const path of recorded()) expect(path).toMatch(/\/(server|ses_\w+)\.jsonl$/);
  });

  it("that is followed twice is counted once", async () => {
    follow();
    follow();
    await until(() => server.listeners === 2);
    for (const frame of recording.frames) server.send(frame);
    await until(() => relays.every((relay) => relay.view.frames > recording.frames.length));
    expect(await wrong()).toEqual([]);
    const found = await library();
    const { key } = resolve(found, `opencode://${root}`);
    const forest = found.forestOf([key]);
    const events = await readEvents(found, forest, subtreeOf(forest, key));
    const reported = events.map(({ uri, kind, text, tool }) => JSON.stringify([uri, kind, text, tool]));
    expect(reported.length - new Set(reported).size).toBe(0);
    expect(reported.length).toBeGreaterThan(20);
  });

  it("with a flood of output loses nothing, at a cost proportional to its lines", async () => {
    const relay = follow();
    await until(() => server.listeners > 0);
    const session = thread?.agents[1]?.agentId ?? "";
    const delta = (n: number) =>
      JSON.stringify({
        payload: {
          type: "message.part.delta",
          properties: { sessionID: session, messageID: "msg_x", partID: "prt_x", field: "text", delta: `${n} ` },
        },
      });
    const half = Math.floor(recording.frames.length / 2);
    for (const frame of recording.frames.slice(0, half)) server.send(frame);
    for (let n = 0; n < 10_000; n += 1) server.send(delta(n));
    for (const frame of recording.frames.slice(half)) server.send(frame);
    await until(() => relay.view.frames > recording.frames.length + 10_000);
    await relay.stop();
    expect(await wrong()).toEqual([]);
    const lines = recorded().flatMap((path) => readFileSync(join(scratch, path), "utf8").trimEnd().split("\n"));
    expect(lines.filter((line) => line.includes("message.part.delta")).length).toBeGreaterThanOrEqual(10_000);
    const found = await library();
    const facts = allFacts(found.store.facts([resolve(found, `opencode://${root}`).key], found.under)).length;
    expect(facts).toBeLessThan(500);
  });

  it("with a flood of new sessions has a limited number of recordings, and says so while it lasts", async () => {
    const retinueServer = await startServer(null);
    onTestFinished(() => retinueServer.close());
    const post = { method: "POST", headers: { "content-type": "application/json" } };
    const body = JSON.stringify({ provider: "opencode", url });
    const relay = (await (await retinueServer.get("/api/relays", { ...post, body })).json()) as { id: string };
    await until(() => server.listeners > 0);
    for (const frame of recording.frames) server.send(frame);
    const session = (n: number) => `ses_${String(n).padStart(26, "0")}`;
    const created = (n: number) => ({ info: { id: session(n), title: `Session ${n}`, directory: "/x" } });
    for (let n = 0; n < MAX_FOLLOWED_SESSIONS + 500; n += 1)
      server.send(JSON.stringify({ payload: { type: "session.created", properties: created(n) } }));
    // The sessions of before are still recorded.
    const renamed = { info: { ...created(0).info, title: "Renamed" } };
    server.send(JSON.stringify({ payload: { type: "session.updated", properties: renamed } }));
    const troubles = async () =>
      (await retinueServer.json<{ troubles: { code: string; message: string }[] }>("/api/health")).troubles;
    const data = join(retinueServer.env.RETINUE_HOME ?? "", "recordings/opencode/sse");
    const files = () => filesBelow(data).filter((path) => path.endsWith(".jsonl"));
    const first = () => files().find((path) => path.includes(session(0)));
    await until(() => existsSync(data));
    await until(() => {
      const path = first();
      return path !== undefined && readFileSync(join(data, path), "utf8").includes("Renamed");
    });
    // And one for what concerns no session.
    expect(files().length).toBeLessThanOrEqual(MAX_FOLLOWED_SESSIONS + 1);
    const message = expect.stringContaining(`${url}: more than 5,000 sessions`);
    const full = expect.objectContaining({ code: "sessions-not-recorded", message });
    expect(await troubles()).toContainEqual(full);
    await retinueServer.get(`/api/relays/${relay.id}`, { method: "DELETE" });
    expect(await troubles()).not.toContainEqual(full);
  });

  it("that deletes a running session leaves it ended, and is not asked for it again", async () => {
    follow();
    await until(() => server.listeners > 0);
    const at = recording.frames.findIndex(
      (frame) =>
        frame.includes('"type":"message.part.updated"') &&
        frame.includes('"tool":"task"') &&
        frame.includes('"running"'),
    );
    for (const frame of recording.frames.slice(0, at + 1)) server.send(frame);
    await until(async () => (await tree().catch(() => null))?.status === "running");
    server.send(
      JSON.stringify({ payload: { type: "session.deleted", properties: { sessionID: root, info: { id: root } } } }),
    );
    await until(async () => (await tree()).status === "shutdown");
    expect((await tree()).statusReason).toContain("deleted");
    const asked = server.requests.length;
    server.cut();
    await until(() => server.requests.slice(asked).filter((path) => path === "/permission").length > 1);
    expect(server.requests.slice(asked).filter((path) => path.includes(root))).toEqual([]);
  });

  it("that is joined in the middle is asked for the parents of a session, up to the root", async () => {
    const right = recordedResponses(recording.rest);
    // It lists no session, like a server with more sessions than it lists.
    server.respond = (path) => (path === "/session" ? { status: 200, body: [] } : right(path));
    follow();
    await until(() => server.listeners > 0);
    const deepest = thread?.agents.find(({ depth }) => depth === 3)?.agentId ?? "";
    const frame =
      recording.frames.find(
        (one) => one.includes('"type":"message.part.updated"') && one.includes(`"sessionID":"${deepest}"`),
      ) ?? "";
    await until(() => server.requests.includes("/permission"));
    server.send(frame);
    await until(async () => (await wrong()).length === 0);
    expect(server.requests).toContain(`/session/${root}/message`);
  });
});

describe("a password", () => {
  it("grants access, and is stored nowhere", async () => {
    server.password = "the-secret-of-the-server";
    const relay = follow();
    await until(() => relay.view.state === "refused");
    await relay.stop();
    const ours = await startServer(null);
    try {
      const body = { provider: "opencode", url: url.replace("//", "//opencode:wrong@"), password: server.password };
      const shown = await ours.get("/api/relays", {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "Content-Type": "application/json" },
      });
      expect(await shown.text()).not.toMatch(/secret-of|wrong/);
      await until(
        async () => (await ours.json<{ items: { state: string }[] }>("/api/relays")).items[0]?.state === "following",
      );
      const all = filesBelow(ours.scratch).map((path) => readFileSync(join(ours.scratch, path), "latin1"));
      expect(all.filter((text) => /secret-of|b3BlbmNvZGU6|wrong@/.test(text))).toEqual([]);
      expect(ours.messages).toEqual([]);
      const [{ id } = { id: "" }] = (await ours.json<{ items: { id: string }[] }>("/api/relays")).items;
      expect((await ours.get(`/api/relays/${id}`, { method: "DELETE" })).status).toBe(200);
      expect((await ours.get(`/api/relays/${id}`, { method: "DELETE" })).status).toBe(404);
    } finally {
      await ours.close();
    }
  });
});

describe("a session without a known thread", () => {
  const foreign = "ses_foreign00000000000000";
  const stray = JSON.stringify({
    payload: {
      type: "message.updated",
      properties: {
        sessionID: foreign,
        info: { id: "msg_f", sessionID: foreign, role: "user", time: { created: Date.now() }, agent: "build" },
      },
    },
  });
  const half = recording.frames.slice(
    0,
    recording.frames.findIndex((frame) => frame.includes('"type":"session.idle"')),
  );

  it.each([false, true])(
    "is in no card unless guessing is enabled (%s), and then only until its parent is known",
    async (guess) => {
      const ours = { id: root, directory: "/x", time: { created: 1, updated: 1 } };
      const responses: Record<string, unknown> = {
        "/session": [ours],
        "/session/status": { [root]: { type: "busy" } },
        "/permission": [],
      };
      server.respond = (path) => (path in responses ? { status: 200, body: responses[path] } : null);
      const settings = await loadSettings({});
      const values = { ...settings.values, stale_after: Number.MAX_SAFE_INTEGER, "relay.single_card_guess": guess };
      const watching = await startServer(null, { settings: { ...settings, values } });
      const send = (path: string, body: unknown) =>
        watching.json<Card>(path, {
          method: "POST",
          body: JSON.stringify(body),
          headers: { "Content-Type": "application/json" },
        });
      try {
        const { id } = await send("/api/cards", { title: "Nested", threads: [`opencode://${root}`] });
        const card = () => watching.json<Card>(`/api/cards/${id}`);
        server.send(stray);
        await send("/api/relays", { provider: "opencode", url });
        await until(() => server.listeners > 0);
        for (const frame of half) server.send(frame);
        server.send(stray);
        await until(async () => (await card()).stage === "working");
        // Requested after the next connect.
        server.cut();
        const uri = `opencode://${foreign}`;
        const parent = async () =>
          (await watching.json<{ parent?: string | null }>(`/api/agents/${encodeURIComponent(uri)}`)).parent;
        await until(async () => (await parent()) === "unassigned://opencode");
        const mappings = async () =>
          (
            await watching.json<{
              session_mappings: { child_session_id: string; parent_session_id: string | null; inferred: boolean }[];
            }>(`/api/cards/${id}/agent-activity`)
          ).session_mappings;
        if (guess) await until(async () => (await card()).inferred.includes(uri));
        else expect((await card()).inferred).toEqual([]);
        // Its membership of the card is a guess and reported as one; its parent is unknown.
        const guessed = (await mappings()).filter(({ child_session_id }) => child_session_id === foreign);
        expect(guessed.map(({ parent_session_id, inferred }) => [parent_session_id, inferred])).toEqual(
          guess ? [[null, true]] : [],
        );
        expect((await card()).threads).toEqual([`opencode://${root}`]);
        await until(() => server.listeners > 0);
        const info = { id: foreign, title: "A foreign session", directory: "/x", time: { created: 1, updated: 2 } };
        server.send(JSON.stringify({ payload: { type: "session.updated", properties: { sessionID: foreign, info } } }));
        await until(async () => (await parent()) === null);
        await until(async () => (await card()).inferred.length === 0);
      } finally {
        await watching.close();
      }
    },
  );
});

describe("retinue relay", () => {
  it.each([
    [["relay", "claude", "--url", "http://127.0.0.1:1"], "claude"],
    [["relay", "opencode", "--url", "ftp://x"], "not a server URL"],
    [["relay"], "missing required argument"],
  ])("%j is refused", async (args, words) => {
    const { code, stdout, stderr } = await retinueProcess(join(scratch, "home"), args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain(words);
  });
});
