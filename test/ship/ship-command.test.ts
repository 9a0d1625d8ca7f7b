/** `retinue ship` and a server with `team.url`, against a receiving server on loopback. */
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadSettings } from "../../src/app/settings/settings.ts";
import { Connection } from "../../src/app/ship/connection.ts";
import { LiveShipping } from "../../src/app/ship/ship-live.ts";
import { targetOf } from "../../src/app/ship/target.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import { REDACTION_LEVELS } from "../../src/core/redaction/redaction.ts";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import type { SharedCall } from "../../src/core/views/shared-tree.ts";
import { retinue } from "../support/cli.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import { type ReceivedServer, serveReceived } from "../support/received.ts";
import { startServer, until } from "../support/server.ts";
import { expectSame, libraryIn } from "../support/shipping.ts";

let scratch: string;
let home: string;
let env: Record<string, string>;
let server: ReceivedServer;

beforeEach(async () => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-ship-"));
  home = join(scratch, "home");
  cpSync(recordedHome("claude", "c3-nested-parallel").home, home, { recursive: true, preserveTimestamps: true });
  server = await serveReceived();
  env = {
    PATH: process.env.PATH ?? "",
    HOME: home,
    RETINUE_HOME: join(scratch, "data"),
    RETINUE_TEAM_TOKEN: server.token,
  };
});
afterEach(async () => {
  await server.close();
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
});

const run = (...args: readonly string[]) => retinue(home, args, env);
const ship = (...args: readonly string[]) => run("ship", "--to", server.url, ...args);

async function localTrees(): Promise<AgentTree[]> {
  const { stdout } = await run("ls", "--json");
  const roots = JSON.parse(stdout) as AgentRecord[];
  return Promise.all(roots.map(async ({ uri }) => JSON.parse((await run("tree", uri, "--json")).stdout) as AgentTree));
}

async function expectTrees(): Promise<void> {
  const trees = await localTrees();
  expect(trees.length).toBeGreaterThan(0);
  for (const tree of trees) expect(server.received.tree(tree.uri, tree.uri, Date.now())).toEqual(tree);
}

function setSettings(yaml: string): void {
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  writeFileSync(join(home, ".config/retinue/config.yaml"), yaml);
}

describe("ship --once", () => {
  it("sends everything, and then nothing", async () => {
    const first = await ship("--once");
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toMatch(/has everything: \d+ documents of 1 thread sent/);
    await expectTrees();
    const { length } = server.shipments;
    const second = await ship("--once");
    expect([second.code, second.stdout]).toEqual([0, `${server.url} has everything\n`]);
    expect(server.shipments.slice(length).flatMap(({ lines }) => lines)).toEqual([]);
    expect(JSON.parse((await ship("--once", "--json")).stdout)).toMatchObject({ documents: 0, url: server.url });
  });

  it("sends again what was not acknowledged", async () => {
    server.mishaps.push(
      "lost-request",
      "lost-response",
      { status: 503, headers: { "Retry-After": "0.1" } },
      { status: 500 },
    );
    expect((await ship("--once")).code).toBe(0);
    expect(server.mishaps).toEqual([]);
    await expectTrees();
    // The repetition has higher revisions.
    const [first, second] = server.shipments.map(({ lines }) => lines[0]?.revision ?? 0);
    expect(second).toBeGreaterThan(first ?? 0);
  });

  it("fails at once if the token is not accepted; --status says why until it is", async () => {
    env.RETINUE_TEAM_TOKEN = "another";
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("does not accept the token");
    expect(server.received.accepted).toBe(0);
    const status = await ship("--status");
    expect(status.stdout).toContain("1 thread: 1 new");
    expect(status.stdout).toContain("does not accept the token");
    env.RETINUE_TEAM_TOKEN = server.token;
    expect((await ship("--once")).code).toBe(0);
    const after = (await ship("--status")).stdout;
    expect(after).toContain("waiting    nothing");
    expect(after).not.toContain("because");
  });

  it("splits what is too large for the server, and leaves out texts that are", async () => {
    const [path = ""] = filesBelow(home).filter((file) => file.endsWith(".jsonl"));
    const [line = ""] = readFileSync(join(home, path), "utf8")
      .split("\n")
      .filter((one) => one.includes('"type":"user"'));
    const { message, ...rest } = JSON.parse(line) as { message: { content: unknown }; uuid: string };
    const big = { ...rest, uuid: crypto.randomUUID(), message: { ...message, content: "long ".repeat(60_000) } };
    appendFileSync(join(home, path), `${JSON.stringify(big)}\n`);
    server.rules.maxBytes = 100_000;
    expect((await ship("--once")).code).toBe(0);
    const texts = server.received.documents.flatMap((document) =>
      document.is === "event" ? [document.event.text] : [],
    );
    expect(texts.filter((text) => text?.startsWith("[left out: "))).toHaveLength(1);
    for (const { lines } of server.shipments) expect(JSON.stringify(lines).length).toBeLessThan(150_000);
  });

  it("leaves long texts out of a record that is too large for the server", async () => {
    const [path = ""] = filesBelow(home).filter((file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
    const lines = readFileSync(join(home, path), "utf8").split("\n");
    const first = lines.findIndex((line) => line.includes('"type":"user"'));
    const { message, ...rest } = JSON.parse(lines[first] ?? "") as { message: { content: unknown } };
    const prompt = { ...rest, message: { ...message, content: "long ".repeat(60_000) } };
    writeFileSync(join(home, path), lines.with(first, JSON.stringify(prompt)).join("\n"));
    server.rules.maxBytes = 100_000;
    expect(await ship("--once")).toMatchObject({ code: 0, stderr: "" });
    const [uri = ""] = server.received.threads;
    expect(server.received.tree(uri, uri, Date.now())?.prompt).toMatch(/^\[left out: \d+ characters/);
  });

  it.each([
    ["a page of another program", { status: 200, body: "<html>Welcome to the hotel</html>" }],
    ["an error with status 200", { status: 200, body: { error: "not now" } }],
    ["a receipt for another number of documents", { status: 200, body: { accepted: 1, ignored: 0 } }],
  ])("does not take %s for an acknowledgement", async (_, mishap) => {
    server.mishaps.push(mishap);
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("no team server at this address");
    expect((await ship("--status")).stdout).toContain("1 thread: 1 new");
    expect((await ship("--once")).code).toBe(0);
    await expectTrees();
  });

  it.each([true, false])(
    "sends the rest if a thread is refused; the server names the document: %s",
    async (isNamed) => {
      cpSync(recordedHome("claude", "a-single").home, home, { recursive: true, preserveTimestamps: true });
      const [{ uri } = { uri: "" }, other] = await localTrees();
      server.rules.namesDocument = isNamed;
      server.rules.refuses = (document) => document.thread === uri && document.is === "event";
      const { code, stderr } = await ship("--once");
      expect(code).toBe(1);
      expect(stderr).toContain("refuses 1 thread; everything else was acknowledged");
      expect(stderr).toContain(`${uri}: 422: unbelievable`);
      expect(server.received.tree(other?.uri ?? "", other?.uri ?? "", Date.now())).toEqual(other);
      expect((await ship("--status")).stdout).toMatch(
        new RegExp(`waiting    1 thread: 1 refused by the server\n    refused  ${uri}: 422: unbelievable`),
      );
      // It is not tried again as it is.
      server.rules.refuses = () => false;
      const { length } = server.shipments;
      expect((await ship("--once")).code).toBe(1);
      expect(server.shipments.slice(length).flatMap(({ lines }) => lines)).toEqual([]);
      const [path = ""] = filesBelow(home).filter((file) => file.endsWith(`${uri.slice("claude://".length)}.jsonl`));
      appendFileSync(join(home, path), '{"type":"mode","mode":"normal"}\n');
      expect(await ship("--once")).toMatchObject({ code: 0, stderr: "" });
      await expectTrees();
      expect((await ship("--status")).stdout).toContain("waiting    nothing");
    },
  );

  it("blames no thread if the server refuses the program", async () => {
    server.mishaps.push(...Array.from({ length: 3 }, () => ({ status: 422, body: { error: { message: "too old" } } })));
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("not everything was acknowledged");
    expect(stderr).toContain("422: too old");
    expect((await ship("--status")).stdout).toContain("1 thread: 1 new");
  });

  it("reads the token from a file, and the address, the shared projects and the level from the settings", async () => {
    writeFileSync(join(home, "token"), `${server.token}\n`);
    setSettings(`team:\n  url: ${server.url}/\n  token_file: ~/token\n  share:\n    projects: [/nowhere]\n`);
    delete env.RETINUE_TEAM_TOKEN;
    expect((await run("ship", "--once")).stdout).toBe(`${server.url} has everything\n`);
    setSettings(`team:\n  url: ${server.url}\n  token_file: ~/token\n  share:\n    level: metadata\n`);
    expect((await run("ship", "--once")).code).toBe(0);
    const texts = server.received.documents.flatMap((one) => (one.is === "event" ? [one.event.text] : []));
    expect(new Set(texts)).toEqual(new Set([null]));
  });

  it("needs an address and a token", async () => {
    expect(await run("ship", "--once")).toMatchObject({ code: 2 });
    expect(await run("ship", "--once", "--to", "nonsense")).toMatchObject({ code: 2 });
    expect(await ship("--once", "--dry-run")).toMatchObject({ code: 2 });
    delete env.RETINUE_TEAM_TOKEN;
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("RETINUE_TEAM_TOKEN");
  });
});

describe("ship --dry-run", () => {
  it("prints exactly what is sent then, and changes nothing", async () => {
    delete env.RETINUE_TEAM_TOKEN;
    const { code, stdout } = await ship("--dry-run");
    expect(code).toBe(0);
    expect(existsSync(join(scratch, "data/shipped.sqlite"))).toBe(false);
    expect(server.shipments).toEqual([]);
    env.RETINUE_TEAM_TOKEN = server.token;
    await ship("--once");
    const [head, ...lines] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as ShipmentDocument);
    expect(head).toMatchObject({ schema: "retinue/shipment@1" });
    const plain = (documents: readonly ShipmentDocument[]) => documents.map((one) => ({ ...one, revision: 0 }));
    expect(plain(lines)).toEqual(plain(server.received.documents));
    expect((await ship("--dry-run")).stdout.trimEnd().split("\n")).toHaveLength(1);
  });

  it.each(REDACTION_LEVELS)("has no secret in any document, also not in names, with the level %s", async (level) => {
    const words = ["c3-nested-parallel", "general-purpose", "opus", "Bash"];
    setSettings(`redaction:\n  level: ${level}\n  patterns: [${words.join(", ")}]\n`);
    const { stdout } = await ship("--dry-run");
    expect(stdout).toContain("[redacted]");
    for (const line of stdout.split("\n"))
      for (const word of words) if (line.includes(word)) expect.fail(`${word} in ${line.slice(0, 2_000)}`);
    // What documents refer to is still there.
    const documents = stdout
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((line) => JSON.parse(line) as ShipmentDocument);
    const events = new Set(documents.flatMap((one) => (one.is === "event" ? [one.event.id] : [])));
    const calls = documents.flatMap((one) => (one.is === "calls" ? (one.items as readonly SharedCall[]) : []));
    expect(calls.length).toBeGreaterThan(0);
    for (const { event } of calls) expect(event === null || events.has(event)).toBe(true);
  });
});

describe("outbox", () => {
  it("lists the team server as a destination", async () => {
    await ship("--once");
    const { stdout } = await run("outbox");
    expect(stdout).toContain(`team ${server.url}`);
    expect(stdout).toMatch(/delivered {2}[1-9]\d*/);
  });
});

describe("live shipping", () => {
  it("waits for a server that is away, and then sends what was written meanwhile", async () => {
    const library = libraryIn(home, Date.now);
    await library.refresh();
    const settings = await loadSettings(env);
    const target = targetOf(env, settings, server.url);
    if (target === null) throw new Error("no target");
    const stop = new AbortController();
    const messages: string[] = [];
    const notify = (text: string) => messages.push(text);
    const connection = await Connection.open({ env, settings, target, library, notify, signal: stop.signal });
    const shipping = new LiveShipping(library, connection, stop, notify, { pauseMs: 5, quietMs: 20 });
    try {
      server.mishaps.push({ status: 503 }, "lost-request", "lost-response");
      const changed = async () => shipping.changed((await library.refresh()).threads);
      await changed();
      for (const file of filesBelow(home).filter((one) => one.endsWith(".jsonl"))) {
        const text = readFileSync(join(home, file), "utf8");
        const half = text.lastIndexOf("\n", text.length / 2) + 1;
        writeFileSync(join(home, file), text.slice(0, half));
        await changed();
        appendFileSync(join(home, file), text.slice(half));
        await changed();
      }
      await until(() =>
        expectSame(library, server.received).then(
          () => true,
          () => false,
        ),
      );
      expect(server.mishaps).toEqual([]);
      await until(
        () => messages.at(-1) === "team: sending again",
        () => messages,
      );
    } finally {
      await shipping.stop();
    }
  });

  it("reports nothing if it is stopped while it sends", async () => {
    const library = libraryIn(home, Date.now);
    const settings = await loadSettings(env);
    const target = targetOf(env, settings, server.url);
    if (target === null) throw new Error("no target");
    const stop = new AbortController();
    const messages: string[] = [];
    const notify = (text: string) => messages.push(text);
    const connection = await Connection.open({ env, settings, target, library, notify, signal: stop.signal });
    const shipping = new LiveShipping(library, connection, stop, notify, { pauseMs: 5, quietMs: 20 });
    server.mishaps.push("silence");
    shipping.changed((await library.refresh()).threads);
    await until(() => server.mishaps.length === 0);
    await shipping.stop();
    expect(messages).toEqual([]);
  });

  it("by two processes in turn sends every event once", async () => {
    const files = filesBelow(home).filter((one) => one.endsWith(".jsonl"));
    const texts = new Map(files.map((file) => [file, readFileSync(join(home, file), "utf8").split(/(?<=\n)/)]));
    for (const file of files) writeFileSync(join(home, file), "");
    // The time of the newest record, so that the thread runs.
    let now = 0;
    const { signal } = new AbortController();
    const settings = await loadSettings(env);
    const target = targetOf(env, settings, server.url);
    if (target === null) throw new Error("no target");
    const processes = await Promise.all(
      [1, 2].map(async () => {
        const library = libraryIn(home, () => now);
        const connection = await Connection.open({ env, settings, target, library, notify: () => {}, signal });
        return { library, connection };
      }),
    );
    let [turn, most] = [0, 0];
    for (const [file, lines] of texts)
      for (const line of lines) {
        appendFileSync(join(home, file), line);
        now = Math.max(now, Date.parse(/"timestamp":"([^"]+)"/.exec(line)?.[1] ?? "") || 0);
        const { library, connection } = processes[turn % 2] as (typeof processes)[number];
        const { threads } = await library.refresh();
        expect(await connection.attempt((shipper) => shipper.shipChanged(threads))).toBe(true);
        turn += 1;
        const [uri = ""] = server.received.threads;
        const ids = uri === "" ? [] : server.received.events(uri, uri).map(({ id }) => id);
        expect(ids).toEqual([...new Set(ids)]);
        most = Math.max(most, ids.length);
      }
    expect(most).toBeGreaterThan(5);
    for (const { connection } of processes) connection.close();
  });

  it("is done by a server with team.url, which answers meanwhile", async () => {
    const settings = { values: { "team.url": server.url } };
    const local = await startServer(recordedHome("claude", "c-nested").home, {
      settings: await withSettings(settings.values),
    }).catch((error: Error) => error);
    if (local instanceof Error) throw local;
    try {
      const { items } = await local.json<{ items: AgentRecord[] }>("/api/threads");
      expect(items).toHaveLength(1);
      await until(() => server.received.threads.length === 1);
      const [uri = ""] = server.received.threads;
      const tree = await local.json<AgentTree>(`/api/agents/${encodeURIComponent(uri)}`);
      expect(server.received.tree(uri, uri, Date.now())).toEqual(tree);
    } finally {
      await local.close();
    }
  });
});

/** The settings of the machine with some values replaced; the token comes from a file. */
async function withSettings(values: Readonly<Record<string, unknown>>) {
  const path = join(scratch, "token");
  writeFileSync(path, server.token);
  const settings = await loadSettings(env);
  return { ...settings, values: { ...settings.values, ...values, "team.token_file": path } };
}
