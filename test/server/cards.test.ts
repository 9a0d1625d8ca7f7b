/**
 * Cards over a followed server: created, moved by the activity of their threads, kept open by running agents, shown as
 * waiting; the same with and without interrupted connections.
 */
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { ServerRelay } from "../../src/app/relay/relay.ts";
import { relayedProvider, serverAddress } from "../../src/app/relay/relayed.ts";
import type { Card } from "../../src/core/views/card.ts";
import { FakeServer, type Followed, followed, recordedResponses } from "../support/opencode-server.ts";
import { LiveReader, startServer, type TestServer, until } from "../support/server.ts";

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
  retinue.json<T>(path, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
const relay = () => send<{ id: string }>("POST", "/api/relays", { provider: "opencode", url });
const cardOf = (root: string) => send<Card>("POST", "/api/cards", { title: "Do it", threads: [`opencode://${root}`] });
const cardNow = (id: string) => retinue.json<Card>(`/api/cards/${id}`);

interface Log {
  readonly items: {
    id: string;
    session_id: string;
    event_type: string;
    content: string;
    created_at: string;
    metadata: { _subagent: boolean; status: { status: string; statusReason: string } | null };
  }[];
  readonly next: string | null;
}
interface Activity {
  readonly agents: { session_id: string; agent_type: string; event_count: number }[];
  readonly session_mappings: {
    child_session_id: string;
    parent_session_id: string | null;
    description: string | null;
    inferred: boolean;
  }[];
}

/** The frames up to the first match, and those after it. */
class Player {
  readonly #frames: readonly string[];
  #at = 0;

  constructor({ frames }: Followed) {
    this.#frames = frames;
  }

  /** Sends all frames up to the first match. */
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

const isEvent =
  (type: string, session: string, more = "") =>
  (frame: string) =>
    !frame.includes('"sync"') &&
    frame.includes(`"type":"${type}"`) &&
    frame.includes(`"sessionID":"${session}"`) &&
    frame.includes(more);

/** Reads the log of a card like a client that polls: always after the last entry it has. */
class LogPoller {
  readonly items: Log["items"] = [];
  readonly #card: string;

  constructor(card: string) {
    this.#card = card;
  }

  async poll(): Promise<Log["items"]> {
    const after = this.items.at(-1)?.id;
    const page = await retinue.json<Log>(
      `/api/cards/${this.#card}/logs?limit=1000${after === undefined ? "" : `&after=${encodeURIComponent(after)}`}`,
    );
    this.items.push(...page.items);
    return this.items;
  }

  get ends() {
    return this.items.filter(({ event_type }) => event_type === "status");
  }
}

const frame = (type: string, properties: object, id = `evt_${type}`) =>
  JSON.stringify({ payload: { id, type, properties } });
const statusOf = async (uri: string) =>
  retinue.json<{ status: string; statusReason: string }>(`/api/agents/${encodeURIComponent(uri)}`);

describe("the log of a card", () => {
  it.each([
    ["parallel", ["↳ explore | Completed", "↳ explore | Completed", "↳ general | Completed"]],
    ["fail-500", ["↳ general | Errored: it failed: APIError: scripted 500"]],
    ["abort-child", ["↳ explore | Shutdown: it was interrupted by the user"]],
    ["background", null],
  ])("reports the end of each sub-agent once to a client that polls: %s", async (name, words) => {
    const recording = followed(name);
    const threads = recording.threads.map(({ root }) => `opencode://${root}`);
    await relay();
    const { id } = await send<Card>("POST", "/api/cards", { title: "Do it", threads });
    const poller = new LogPoller(id);
    await until(() => server.listeners > 0);
    for (const [i, one] of recording.frames.entries()) {
      server.send(one);
      if (i % 5 === 0) await poller.poll();
    }
    const truth = recording.threads.flatMap(({ root, agents }) =>
      agents.flatMap(({ agentId, status }) => (agentId === null || agentId === root ? [] : [`${agentId} ${status}`])),
    );
    await until(
      async () => {
        await poller.poll();
        return poller.ends.length >= truth.length && (await cardNow(id)).stage !== "working";
      },
      () => poller.ends,
    );
    await poller.poll();
    expect(poller.ends.map(({ session_id, metadata }) => `${session_id} ${metadata.status?.status}`).sort()).toEqual(
      truth.sort(),
    );
    if (words !== null) expect(poller.ends.map(({ content }) => content).sort()).toEqual(words);
    expect(poller.items.length).toBe(new Set(poller.items.map((one) => one.id)).size);
    for (const end of poller.ends) {
      const before = poller.items.filter(
        (one) => one.session_id === end.session_id && one !== end && one.event_type !== "error",
      );
      expect(before.every((one) => one.created_at <= end.created_at)).toBe(true);
    }
    // Records may arrive between the two requests.
    const idsOf = ({ items }: Pick<Log, "items">) => JSON.stringify(items.map((one) => one.id).sort());
    await until(async () => {
      const whole = await retinue.json<Log>(`/api/cards/${id}/logs?limit=1000`);
      await poller.poll();
      return idsOf(whole) === idsOf(poller);
    });
  });
});

describe("a session.error", () => {
  const recording = followed("single");
  const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
  const child = agents[1]?.agentId ?? "";
  const uri = `opencode://${root}/${child}`;
  const failure = (name: string, message: string) =>
    frame("session.error", { sessionID: child, error: { name, data: { message } } }, `evt_${message}`);
  /** A card whose sub-agent is running. */
  const atWork = async () => {
    await relay();
    const { id } = await cardOf(root);
    const player = new Player(recording);
    await player.upTo(isEvent("session.status", child, "busy"));
    await until(async () => (await statusOf(uri).catch(() => null))?.status === "running");
    return { id };
  };
  const errorsIn = async (path: string) => {
    const { items } = await retinue.json<{
      items: { kind?: string; event_type?: string; text?: string; content?: string }[];
    }>(path);
    return items.filter((one) => (one.kind ?? one.event_type) === "error").map((one) => one.text ?? one.content);
  };

  it("alone sets an agent to errored, and is reported once in its log and in that of the card", async () => {
    const { id } = await atWork();
    server.send(failure("ProviderAuthError", "no key"));
    await until(async () => (await statusOf(uri)).status === "errored");
    expect((await statusOf(uri)).statusReason).toBe("it failed: ProviderAuthError: no key");
    const words = "ProviderAuthError: no key";
    await until(async () => (await errorsIn(`/api/cards/${id}/logs?limit=1000`)).length > 0);
    expect(await errorsIn(`/api/cards/${id}/logs?limit=1000`)).toEqual([`↳ ${agents[1]?.type} | ${words}`]);
    expect(await errorsIn(`/api/agents/${encodeURIComponent(uri)}/events?limit=1000`)).toEqual([words]);
    const poller = new LogPoller(id);
    await poller.poll();
    expect(poller.ends.map(({ content }) => content)).toEqual([`↳ ${agents[1]?.type} | Errored: it failed: ${words}`]);
    // The server reports the same for the message: no second error, no second end.
    const busy = recording.frames
      .filter(isEvent("message.updated", child))
      .map((one) => JSON.parse(one).payload.properties.info);
    const last =
      busy.findLast((info) => info.role === "assistant" && info.time.created <= busy[0].time.created + 60_000) ??
      busy[0];
    server.send(
      frame("message.updated", {
        sessionID: child,
        info: {
          ...last,
          finish: undefined,
          time: { ...last.time, completed: last.time.created + 1 },
          error: { name: "ProviderAuthError", data: { message: "no key" } },
        },
      }),
    );
    server.send(frame("session.idle", { sessionID: child }));
    server.send(
      frame("session.updated", {
        sessionID: child,
        info: { id: child, title: "the last frame", time: { updated: Date.now() } },
      }),
    );
    await until(
      async () =>
        (await retinue.json<{ title: string }>(`/api/agents/${encodeURIComponent(uri)}`)).title === "the last frame",
    );
    await poller.poll();
    expect(poller.ends).toHaveLength(1);
    expect(await errorsIn(`/api/cards/${id}/logs?limit=1000`)).toHaveLength(1);
    expect((await statusOf(uri)).status).toBe("errored");
  });

  it("caused by an abort is a shutdown", async () => {
    await atWork();
    server.send(failure("MessageAbortedError", "Aborted"));
    await until(async () => (await statusOf(uri)).status !== "running");
    expect(await statusOf(uri)).toMatchObject({ status: "shutdown", statusReason: "it was interrupted by the user" });
  });

  it.each([
    [
      "it tries again",
      () =>
        frame("session.status", { sessionID: child, status: { type: "retry", attempt: 1, message: "later", next: 1 } }),
    ],
    ["it is busy again", () => frame("session.status", { sessionID: child, status: { type: "busy" } })],
    [
      "it is prompted again",
      () =>
        frame("message.updated", {
          sessionID: child,
          info: { id: "msg_new", sessionID: child, role: "user", time: { created: Date.now() }, agent: "explore" },
        }),
    ],
  ])("is cleared if %s, and the agent's later end counts", async (_how, again) => {
    const { id } = await atWork();
    server.send(failure("APIError", "once"));
    await until(async () => (await statusOf(uri)).status === "errored");
    server.send(again());
    await until(async () => (await statusOf(uri)).status === "running");
    const info = {
      id: "msg_end",
      sessionID: child,
      role: "assistant",
      finish: "stop",
      time: { created: Date.now(), completed: Date.now() },
    };
    server.send(frame("message.updated", { sessionID: child, info }));
    server.send(frame("session.idle", { sessionID: child }));
    await until(async () => (await statusOf(uri)).status === "completed");
    const poller = new LogPoller(id);
    await poller.poll();
    expect(poller.ends.at(-1)?.content).toBe(`↳ ${agents[1]?.type} | Completed`);
  });
});

describe("a card", () => {
  it("shows no agent as waiting for a permission without a permission request", async () => {
    const recording = followed("permission");
    const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
    const child = agents[1]?.agentId ?? "";
    await relay();
    const { id } = await cardOf(root);
    const player = new Player(recording);
    await player.upTo(
      (one) =>
        isEvent("message.part.updated", child)(one) &&
        one.includes('"tool":"bash"') &&
        one.includes('"status":"running"'),
    );
    const now = () =>
      retinue.json<{ activity: string | null }>(`/api/agents/${encodeURIComponent(`opencode://${root}/${child}`)}`);
    await until(async () => (await now().catch(() => null))?.activity === "runs bash");
    expect((await cardNow(id)).waiting).toEqual([]);
    await player.upTo(isEvent("permission.asked", child));
    await until(async () => (await cardNow(id)).waiting.length === 1);
    expect((await now()).activity).toBe("waits for a permission (bash: echo allowed once)");
  });

  it("shows the purpose of each session below its threads: its task, otherwise its title", async () => {
    await relay();
    const [root, named, untitled] = [
      "ses_root0000000000000000000",
      "ses_named000000000000000000",
      "ses_plain000000000000000000",
    ];
    const session = (of: string, more: object) =>
      frame(
        "session.created",
        {
          sessionID: of,
          info: { id: of, directory: "/x", time: { created: Date.now(), updated: Date.now() }, ...more },
        },
        `evt_${of}`,
      );
    await until(() => server.listeners > 0);
    server.send(session(root, { title: "The work" }));
    server.send(session(named, { parentID: root, title: "Look at the parser" }));
    server.send(session(untitled, { parentID: root, title: "Count lines (@explore subagent)" }));
    const { id } = await cardOf(root);
    const mappings = async () => (await retinue.json<Activity>(`/api/cards/${id}/agent-activity`)).session_mappings;
    await until(async () => (await mappings()).length === 2);
    const described = (await mappings()).map(({ child_session_id, parent_session_id, description, inferred }) => [
      child_session_id,
      parent_session_id,
      description,
      inferred,
    ]);
    expect(described.sort()).toEqual([
      [named, root, "Look at the parser", false],
      [untitled, root, "Count lines", false],
    ]);
  });

  it("is done only when its background agent is", async () => {
    const recording = followed("background");
    const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
    const child = agents[1]?.agentId ?? "";
    await relay();
    const { id, stage } = await cardOf(root);
    expect(stage).toBe("queued");
    const player = new Player(recording);
    await player.upTo(isEvent("session.status", root, "busy"));
    await until(async () => (await cardNow(id)).stage === "working");
    await player.upTo(isEvent("session.idle", root));
    const tree = () =>
      retinue.json<{ status: string; children: { status: string }[] }>(
        `/api/agents/${encodeURIComponent(`opencode://${root}`)}`,
      );
    await until(async () => (await tree()).children[0]?.status === "running" && (await tree()).status === "completed");
    expect((await cardNow(id)).stage).toBe("working");
    await player.upTo(isEvent("session.idle", child));
    await player.rest();
    await until(async () => (await cardNow(id)).stage === "done");
    expect(await cardNow(id)).toMatchObject({
      waiting: [],
      agents: { total: 2, running: 0 },
      threads: [`opencode://${root}`],
      inferred: [],
    });
  });

  it("names the agent that waits for a permission, and since when", async () => {
    const recording = followed("permission");
    const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
    const child = agents[1]?.agentId ?? "";
    await relay();
    const { id } = await cardOf(root);
    const player = new Player(recording);
    await player.upTo(isEvent("permission.asked", child));
    await until(async () => (await cardNow(id)).waiting.length === 1);
    const { waiting, stage } = await cardNow(id);
    expect(stage).toBe("working");
    expect(waiting[0]).toMatchObject({
      uri: `opencode://${root}/${child}`,
      agent: "Needs bash",
      for: "permission",
      says: "bash: echo allowed once",
    });
    expect(Date.now() - Date.parse(waiting[0]?.since ?? "")).toBeLessThan(60_000);
    await player.upTo(isEvent("permission.replied", child));
    await player.upTo(isEvent("message.part.updated", child, "allowed once\\n"));
    await until(async () => (await cardNow(id)).waiting.length === 0);
    await player.rest();
    await until(async () => (await cardNow(id)).stage === "done");
  });

  it("keeps its log and activity, equal to those of the database, if connections are interrupted", async () => {
    const recording = followed("nested");
    const [{ root } = { root: "" }] = recording.threads;
    server.respond = recordedResponses(recording.rest);
    // Like `retinue relay`, but it reconnects without the usual pauses.
    const relay = new ServerRelay({
      env: retinue.env,
      provider: relayedProvider("opencode"),
      ...serverAddress(url),
      pace: { firstMs: 1, longestMs: 20, catchUpMs: 50 },
    });
    onTestFinished(() => relay.stop());
    const { id } = await cardOf(root);
    const look = async (of: TestServer, card: string) => {
      const { agents, session_mappings } = await of.json<Activity>(`/api/cards/${card}/agent-activity`);
      const logs: Log["items"] = [];
      for (let after: string | null = ""; after !== null; ) {
        const page: Log = await of.json<Log>(
          `/api/cards/${card}/logs?limit=7${after === "" ? "" : `&after=${encodeURIComponent(after)}`}`,
        );
        logs.push(...page.items);
        after = page.next;
      }
      const words = logs
        .map(({ session_id, event_type, content, created_at }) =>
          [created_at, session_id, event_type, content].join(" | "),
        )
        .sort();
      const owned = session_mappings
        .map(({ child_session_id, parent_session_id }) => [child_session_id, parent_session_id])
        .sort();
      return { agents: agents.sort((a, b) => (a.session_id < b.session_id ? -1 : 1)), owned, words };
    };
    for (let start = 0; start < recording.frames.length; start += 40) {
      await until(() => server.listeners > 0);
      for (const frame of recording.frames.slice(start, start + 25)) server.send(frame);
      server.cut(recording.frames[start + 25]?.slice(0, 100));
    }
    const database = await startServer(new URL("../../fixtures/opencode/nested/home", import.meta.url).pathname);
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
        () => ({
          missing: right.words.filter((one) => !seen.words.includes(one)),
          extra: seen.words.filter((one) => !right.words.includes(one)),
          agents: [seen.agents, right.agents],
          owned: [seen.owned, right.owned],
        }),
      );
    } finally {
      await database.close();
    }
  });

  it("is reported live, and so is its removal", async () => {
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
