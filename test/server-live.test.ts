/** The live stream over files that really grow: nothing is lost and nothing comes twice, however often it is cut. */
import { appendFileSync, mkdirSync, readdirSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { AgentRecord, AgentTree } from "../src/core/agent.ts";
import type { AgentEvent } from "../src/core/event.ts";
import { retinue } from "./cli.ts";
import { recordedHome } from "./fixtures.ts";
import { LiveReader, type Message, startServer, type TestServer, until } from "./server.ts";

const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const URI = `claude://${THREAD}`;
let server: TestServer;
let project = "";
let open: LiveReader[] = [];

beforeEach(async () => {
  server = await startServer(recordedHome("claude", "c-nested").home);
  const projects = join(server.home, ".claude", "projects");
  project = join(projects, readdirSync(projects)[0] as string);
});
afterEach(async () => {
  for (const reader of open) await reader.cut();
  open = [];
  expect(server.talk).toEqual([]);
  await server.close();
});

function live(query: string, lastEventId?: string): LiveReader {
  const reader = new LiveReader(new URL(`/api/live${query}`, server.url), lastEventId);
  open.push(reader);
  return reader;
}
const ready = (reader: LiveReader) => until(() => reader.messages.length > 0);
const encoded = encodeURIComponent(URI);

const line = (text: string, more: object = {}) =>
  `${JSON.stringify({ type: "user", uuid: crypto.randomUUID(), parentUuid: null, isSidechain: false, sessionId: THREAD, timestamp: new Date().toISOString(), message: { role: "user", content: text }, ...more })}\n`;
const say = (text: string) => appendFileSync(join(project, `${THREAD}.jsonl`), line(text));
const sayAs = (agent: string, text: string) =>
  appendFileSync(join(project, THREAD, "subagents", `agent-${agent}.jsonl`), line(text, { isSidechain: true, agentId: agent }));
const eventsOf = (messages: readonly Message[]) => messages.filter(({ type }) => type === "event").map(({ data }) => data as unknown as AgentEvent);
const textsOf = (messages: readonly Message[]) => eventsOf(messages).flatMap(({ kind, text }) => (kind === "user" && text !== null ? [text] : []));

describe("the live stream", () => {
  it("tells of records and events as they are written, each to those who asked", async () => {
    const [list, tree, events, log] = [live("?threads=true"), live(`?tree=${encoded}`), live(`?events=${encoded}`), live(`?log=${encoded}`)];
    await Promise.all([list, tree, events, log].map(ready));
    say("hello");
    sayAs("anew0000000000001", "a new task");
    await until(
      () => textsOf(log.messages).length === 2 && textsOf(events.messages).length === 1,
      () => [events, log].map(({ messages }) => messages.map(({ type, id, data }) => [type, id, data.kind, data.text])),
    );
    await until(() => tree.of("agent").some(({ data }) => data.agentId === "anew0000000000001") && list.of("agent").length > 0);
    expect(textsOf(log.messages).sort()).toEqual(["a new task", "hello"]);
    expect(textsOf(events.messages)).toEqual(["hello"]);
    expect(eventsOf(events.messages).find(({ kind }) => kind === "spawn")?.spawn?.agentId).toBe("anew0000000000001");
    expect(new Set(list.of("agent").map(({ data }) => data.uri))).toEqual(new Set([URI]));
    expect(list.of("event")).toEqual([]);
    expect(tree.of("event")).toEqual([]);
  });

  it("sends everything to clients without a filter, including threads not requested before", async () => {
    const all = live("");
    await ready(all);
    say("to everybody");
    const other = "11111111-1111-4111-8111-111111111111";
    writeFileSync(join(project, `${other}.jsonl`), line("another thread", { sessionId: other }));
    await until(() => textsOf(all.messages).length === 2);
    await until(() => all.of("agent").some(({ data }) => data.uri === `claude://${other}`));
    expect(textsOf(all.messages).sort()).toEqual(["another thread", "to everybody"]);
  });

  it("resumed again and again while files grow, loses nothing and repeats nothing", { timeout: 180_000 }, async () => {
    const answer = await server.get(`/api/agents/${encoded}/events?subtree=true`);
    const { total: before } = (await answer.json()) as { total: number };
    await server.get(`/api/agents/${encoded}`);
    const seen: Message[] = [];
    const said: string[] = [];
    let isWriting = true;
    const writing = (async () => {
      for (let i = 0; i < 150; i += 1) {
        const text = `line ${i}`;
        said.push(text);
        if (i % 3 === 0) say(text);
        else sayAs(`a${String(i % 7).padStart(16, "0")}`, text);
        if (i % 4 === 0) await wait(Math.random() * 60);
      }
      isWriting = false;
    })();
    let lastId = answer.headers.get("Retinue-Live") ?? "";
    let cuts = 0;
    const read = async (ms: number) => {
      const reader = live(`?log=${encoded}&tree=${encoded}`, lastId);
      await ready(reader);
      await wait(ms);
      await reader.cut();
      cuts += 1;
      expect(reader.of("reset")).toEqual([]);
      lastId = reader.lastId ?? "";
      seen.push(...reader.messages);
    };
    while (isWriting) await read(Math.random() * 150);
    await writing;
    for (let tries = 0; textsOf(seen).length < said.length && tries < 40; tries += 1) await read(100);
    // An event may be read before what follows from it is worked out.
    await read(500);
    expect(cuts).toBeGreaterThan(5);
    expect(textsOf(seen).sort()).toEqual(said.sort());
    const ids = eventsOf(seen).map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const sequence = seen.filter(({ type }) => type !== "ready").map(({ id }) => Number(id.split("-")[1]));
    expect(sequence).toEqual([...new Set(sequence)].sort((a, b) => a - b));
    // What was streamed is what a fresh look finds, events and records alike.
    expect((await server.json<{ total: number }>(`/api/agents/${encoded}/events?subtree=true`)).total).toBe(before + ids.length);
    const flat = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(flat)];
    const now = flat(await server.json<AgentTree>(`/api/agents/${encoded}`));
    const last = new Map(seen.filter(({ type }) => type === "agent").map(({ data }) => [data.uri, data as unknown as AgentRecord]));
    for (const { children: _, ...record } of now)
      if (last.has(record.uri)) expect({ ...last.get(record.uri), durationMs: 0 }).toEqual({ ...record, durationMs: 0 });
    expect([...last.keys()].filter((uri) => !now.some((record) => record.uri === uri))).toEqual([]);
    expect(now.filter(({ agentId }) => agentId?.startsWith("a0000000") === true && !last.has(agentId ?? "")).length).toBe(7);
  });

  it("goes on from an answer without a gap", async () => {
    const answer = await server.get(`/api/agents/${encoded}/events?from=-1`);
    const after = answer.headers.get("Retinue-Live") ?? "";
    say("between the answer and the stream");
    await wait(400);
    const reader = live(`?events=${encoded}&after=${after}`);
    await until(() => textsOf(reader.messages).length === 1);
    expect(textsOf(reader.messages)).toEqual(["between the answer and the stream"]);
  });

  it("tells an id of another generation, or from before anybody followed, to begin anew", async () => {
    const strange = live(`?tree=${encoded}`, "0123456789ab-7");
    await ready(strange);
    expect(strange.messages[0]).toMatchObject({ type: "reset", data: { reason: expect.any(String) as string } });
    const nonsense = live(`?tree=${encoded}`, "what?");
    await ready(nonsense);
    expect(nonsense.messages[0]?.type).toBe("reset");
    const { live: position } = await server.json<{ live: string }>("/api/health");
    say("one");
    await until(() => strange.of("agent").length > 0);
    const early = live(`?log=${encoded}`, position);
    await ready(early);
    expect(early.messages[0]?.type).toBe("reset");
    // From there on it is a stream like any other.
    say("two");
    await until(() => textsOf(early.messages).length === 1);
    expect(textsOf(early.messages)).toEqual(["two"]);
  });

  it("says so when a file turns out to be another one", async () => {
    const reader = live(`?events=${encoded}`);
    await ready(reader);
    truncateSync(join(project, `${THREAD}.jsonl`), 0);
    say("begun anew");
    await until(() => reader.of("reset").length > 0);
    expect((await server.json<{ items: AgentEvent[] }>(`/api/agents/${encoded}/events`)).items.map(({ text }) => text)).toContain("begun anew");
  });

  it("sends at most ten records a second of an agent, however much it writes", { timeout: 120_000 }, async () => {
    const reader = live(`?tree=${encoded}`);
    await ready(reader);
    const began = Date.now();
    for (let i = 0; i < 200; i += 1) {
      say(`burst ${i}`);
      await wait(10);
    }
    const settled = async () => (await server.json<AgentTree>(`/api/agents/${encoded}`)).counts.messages;
    const wanted = await settled();
    await until(() => (reader.of("agent").at(-1)?.data as unknown as AgentRecord | undefined)?.counts.messages === wanted);
    const seconds = (Date.now() - began) / 1_000;
    expect(reader.of("agent").length).toBeLessThanOrEqual(Math.ceil(seconds) * 10 + 1);
    expect(reader.of("agent").length).toBeGreaterThan(5);
  });

  it("a re-link is reported as a removal and a record in the new place, and so is its undoing", async () => {
    const tree = await server.json<AgentTree>(`/api/agents/${encoded}`);
    const parent = tree.children[0] as AgentTree;
    const child = parent.children[0] as AgentTree;
    const [whole, part, list] = [live(`?tree=${encoded}`), live(`?tree=${encodeURIComponent(parent.uri)}`), live("?threads=true")];
    await Promise.all([whole, part, list].map(ready));
    const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ child: child.uri, parent: URI }) };
    expect(await server.json("/api/links", post)).toEqual({ uri: child.uri, parent: URI });
    await until(() => part.of("removed").length > 0 && whole.of("agent").some(({ data }) => data.uri === child.uri));
    expect(part.of("removed").map(({ data }) => data.uri)).toEqual([child.uri, ...child.children.map(({ uri }) => uri)]);
    expect(whole.of("removed")).toEqual([]);
    expect(whole.of("agent").find(({ data }) => data.uri === child.uri)?.data).toMatchObject({ parent: URI, link: { rule: "manual", source: "manual" } });
    await server.json(`/api/links/${encodeURIComponent(child.uri)}`, { method: "DELETE" });
    await until(() => part.of("agent").some(({ data }) => data.uri === child.uri));
    expect(part.of("agent").findLast(({ data }) => data.uri === child.uri)?.data).toMatchObject({ parent: parent.uri });
  });

  it("notices what other processes find out first, and links they make", async () => {
    const tree = await server.json<AgentTree>(`/api/agents/${encoded}`);
    const child = tree.children[0]?.children[0] as AgentTree;
    const reader = live(`?tree=${encoded}&log=${encoded}`);
    await ready(reader);
    for (let i = 0; i < 5; i += 1) {
      say(`race ${i}`);
      await retinue(server.home, ["ls"], { RETINUE_HOME: server.env.RETINUE_HOME ?? "" });
    }
    await until(() => textsOf(reader.messages).length === 5);
    const { code } = await retinue(server.home, ["link", child.uri, URI], { RETINUE_HOME: server.env.RETINUE_HOME ?? "" });
    expect(code).toBe(0);
    await until(() => reader.of("agent").some(({ data }) => data.uri === child.uri && data.parent === URI));
  });

  it("misses no agent in folders that are made with all that is in them", async () => {
    const reader = live("?threads=true");
    await ready(reader);
    for (let i = 0; i < 20; i += 1) {
      const id = `22222222-2222-4222-8222-${String(i).padStart(12, "0")}`;
      const folder = join(server.home, ".claude/projects", `-new-${i}`);
      mkdirSync(join(folder, id, "subagents"), { recursive: true });
      writeFileSync(join(folder, `${id}.jsonl`), line("a thread", { sessionId: id }));
      await wait(i % 3);
      writeFileSync(
        join(folder, id, "subagents", "agent-a0000000000000009.jsonl"),
        line("a task", { sessionId: id, isSidechain: true, agentId: "a0000000000000009" }),
      );
    }
    const complete = () => {
      const last = new Map(reader.of("agent").map(({ data }) => [data.uri, data as unknown as AgentRecord]));
      return last.size === 20 && [...last.values()].every(({ counts }) => counts.descendants === 1);
    };
    await until(complete);
    expect(complete()).toBe(true);
  });
});

it("a machine where no agent ever worked shows the first one as soon as it begins", async () => {
  const empty = await startServer(null);
  try {
    expect(await empty.json("/api/threads")).toEqual({ items: [], next: null });
    const reader = new LiveReader(new URL("/api/live?threads=true", empty.url));
    await ready(reader);
    const folder = join(empty.home, ".claude/projects/-p");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${THREAD}.jsonl`), line("the first one"));
    await until(() => reader.of("agent").length > 0);
    expect(reader.of("agent")[0]?.data.uri).toBe(URI);
    await reader.cut();
  } finally {
    await empty.close();
  }
});
