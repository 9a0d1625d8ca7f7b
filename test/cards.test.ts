/** Cards over a server that is followed: made, moved by what its threads do, delayed by agents, shown to wait; the same with cuts and without. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Card } from "../src/core/card.ts";
import { FakeServer, type Followed, followed, recordedAnswers } from "./opencode-server.ts";
import { LiveReader, startServer, type TestServer, until } from "./server.ts";

let server: FakeServer;
let retinue: TestServer;
let url = "";
beforeEach(async () => {
  server = new FakeServer();
  url = await server.start();
  retinue = await startServer(null);
});
afterEach(async () => {
  await retinue.close();
  await server.stop();
});

const send = <T>(method: string, path: string, body?: unknown) =>
  retinue.json<T>(path, { method, ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }) });
const relay = () => send<{ id: string }>("POST", "/api/relays", { provider: "opencode", url });
const cardOf = (root: string) => send<Card>("POST", "/api/cards", { title: "Do it", threads: [`opencode://${root}`] });
const cardNow = (id: string) => retinue.json<Card>(`/api/cards/${id}`);

interface Log {
  readonly items: { id: string; session_id: string; event_type: string; content: string; created_at: string; metadata: { _subagent: boolean } }[];
  readonly next: string | null;
}
interface Activity {
  readonly agents: { session_id: string; agent_type: string; event_count: number }[];
  readonly session_mappings: { child_session_id: string; parent_session_id: string }[];
}

/** Frames up to the one that is about this, and then those behind it. */
class Player {
  readonly #frames: readonly string[];
  #at = 0;

  constructor({ frames }: Followed) {
    this.#frames = frames;
  }

  /** What it sends, so that it can be waited for. */
  async upTo(what: (frame: string) => boolean): Promise<void> {
    await until(() => server.listeners > 0);
    const end = this.#frames.findIndex((frame, i) => i >= this.#at && what(frame));
    if (end < 0) throw new Error("no such frame");
    for (const frame of this.#frames.slice(this.#at, end + 1)) server.send(frame);
    this.#at = end + 1;
  }

  async rest(): Promise<void> {
    for (const frame of this.#frames.slice(this.#at)) server.send(frame);
    this.#at = this.#frames.length;
  }
}

const says =
  (type: string, session: string, more = "") =>
  (frame: string) =>
    !frame.includes('"sync"') && frame.includes(`"type":"${type}"`) && frame.includes(`"sessionID":"${session}"`) && frame.includes(more);

describe("a card", () => {
  it("is done only when the agent in the background is", async () => {
    const recording = followed("background");
    const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
    const child = agents[1]?.agentId ?? "";
    await relay();
    const { id, stage } = await cardOf(root);
    expect(stage).toBe("queued");
    const player = new Player(recording);
    await player.upTo(says("session.status", root, "busy"));
    await until(async () => (await cardNow(id)).stage === "working");
    await player.upTo(says("session.idle", root));
    const tree = () => retinue.json<{ status: string; children: { status: string }[] }>(`/api/agents/${encodeURIComponent(`opencode://${root}`)}`);
    await until(async () => (await tree()).children[0]?.status === "running" && (await tree()).status === "completed");
    expect((await cardNow(id)).stage).toBe("working");
    await player.upTo(says("session.idle", child));
    await player.rest();
    await until(async () => (await cardNow(id)).stage === "done");
    expect(await cardNow(id)).toMatchObject({ waiting: [], agents: { total: 2, running: 0 }, threads: [`opencode://${root}`], inferred: [] });
  });

  it("names the agent that waits for a permission, and since when", async () => {
    const recording = followed("permission");
    const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
    const child = agents[1]?.agentId ?? "";
    await relay();
    const { id } = await cardOf(root);
    const player = new Player(recording);
    await player.upTo(says("permission.asked", child));
    await until(async () => (await cardNow(id)).waiting.length === 1);
    const { waiting, stage } = await cardNow(id);
    expect(stage).toBe("working");
    expect(waiting[0]).toMatchObject({ uri: `opencode://${root}/${child}`, agent: "Needs bash", for: "permission", says: "bash: echo allowed once" });
    expect(Date.now() - Date.parse(waiting[0]?.since ?? "")).toBeLessThan(60_000);
    await player.upTo(says("permission.replied", child));
    await player.upTo(says("message.part.updated", child, "allowed once\\n"));
    await until(async () => (await cardNow(id)).waiting.length === 0);
    await player.rest();
    await until(async () => (await cardNow(id)).stage === "done");
  });

  it("keeps its log and its activity, whatever is cut, and they are those of the database", async () => {
    const recording = followed("nested");
    const [{ root } = { root: "" }] = recording.threads;
    server.answers = recordedAnswers(recording.rest);
    await relay();
    const { id } = await cardOf(root);
    const look = async (of: TestServer, card: string) => {
      const { agents, session_mappings } = await of.json<Activity>(`/api/cards/${card}/agent-activity`);
      const logs: Log["items"] = [];
      for (let after: string | null = ""; after !== null; ) {
        const page: Log = await of.json<Log>(`/api/cards/${card}/logs?limit=7${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`);
        logs.push(...page.items);
        after = page.next;
      }
      const words = logs.map(({ session_id, event_type, content, created_at }) => [created_at, session_id, event_type, content].join(" | ")).sort();
      const owned = session_mappings.map(({ child_session_id, parent_session_id }) => [child_session_id, parent_session_id]).sort();
      return { agents: agents.sort((a, b) => (a.session_id < b.session_id ? -1 : 1)), owned, words };
    };
    for (let start = 0; start < recording.frames.length; start += 40) {
      await until(() => server.listeners > 0);
      for (const frame of recording.frames.slice(start, start + 25)) server.send(frame);
      server.cut(recording.frames[start + 25]?.slice(0, 100));
    }
    const database = await startServer(new URL("../fixtures/opencode/nested/home", import.meta.url).pathname);
    try {
      const made = await database.json<Card>("/api/cards", {
        method: "POST",
        body: JSON.stringify({ threads: [`opencode://${root}`] }),
        headers: { "Content-Type": "application/json" },
      });
      const right = await look(database, made.id);
      expect(right.agents.length).toBe(5);
      expect(right.words.filter((words) => words.includes(" | toolCall | ")).length).toBeGreaterThan(3);
      expect(right.words.some((words) => words.includes("↳ explore | "))).toBe(true);
      let seen = await look(retinue, id);
      await until(
        async () => {
          seen = await look(retinue, id);
          return JSON.stringify(seen) === JSON.stringify(right) && (await cardNow(id)).stage === "done";
        },
        () => seen,
      );
    } finally {
      await database.close();
    }
  });

  it("is told live, and when it is gone", async () => {
    const reader = new LiveReader(new URL("/api/live?cards=true", retinue.url));
    await until(() => reader.of("ready").length === 1);
    const { id } = await send<Card>("POST", "/api/cards", { title: "Think" });
    await until(() => reader.of("card").length === 1);
    expect(reader.of("card")[0]?.data).toMatchObject({ id, title: "Think", stage: "queued" });
    const lastId = reader.lastId;
    await reader.cut();
    await send("PATCH", `/api/cards/${id}`, { title: "Think twice" });
    await send("DELETE", `/api/cards/${id}`);
    const again = new LiveReader(new URL("/api/live?cards=true", retinue.url), lastId);
    await until(() => again.of("card-removed").length === 1);
    expect(again.of("reset")).toEqual([]);
    await again.cut();
  });
});
