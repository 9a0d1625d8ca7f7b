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

  it("pauses also if the server asks for no pause", async () => {
    server.mishaps.push(...[0, 0].map(() => ({ status: 429, headers: { "Retry-After": "0" } })));
    const began = Date.now();
    expect((await ship("--once")).code).toBe(0);
    expect(server.mishaps).toEqual([]);
    expect(Date.now() - began).toBeGreaterThanOrEqual(2_000);
  });

  it("fails at once if the token cannot be one, and does not print it", async () => {
    for (const token of ["# my token\nrtn_secret", "rtn_secret\u20ac", "rtn_secret rtn_other"]) {
      env.RETINUE_TEAM_TOKEN = token;
      const { code, stdout, stderr } = await ship("--once");
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("RETINUE_TEAM_TOKEN is not a token");
      expect(stderr + (await ship("--status")).stdout).not.toContain("rtn_");
    }
    expect(server.shipments).toEqual([]);
  });

  it("refuses an address with a password, without printing it, or with a query", async () => {
    for (const to of [server.url.replace("//", "//ann:hunter2@"), `${server.url}/?a=b`, `${server.url}/#a`]) {
      const { code, stdout, stderr } = await run("ship", "--once", "--to", to);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).not.toContain("hunter2");
      expect(stderr).toContain(`write ${server.url}`);
    }
  });

  it("fails at once if the token is not accepted; --status says why until it is", async () => {
    env.RETINUE_TEAM_TOKEN = "another";
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("does not accept the token");
    expect(stderr).toContain("set a token of `retinue token create --scope ship` in RETINUE_TEAM_TOKEN");
    expect(server.received.accepted).toBe(0);
    const status = await ship("--status");
    expect(status.stdout).toContain("1 thread: 1 new");
    expect(status.stdout).toContain("does not accept the token");
    env.RETINUE_TEAM_TOKEN = server.token;
    expect((await ship("--once")).code).toBe(0);
    const after = (await ship("--status")).stdout;
    expect(after).toContain("waiting    nothing");
    expect(after).not.toContain("because");
    expect(JSON.parse((await ship("--status", "--json")).stdout)).toEqual({
      url: server.url,
      level: "full",
      projects: [],
      waiting: [],
      totals: {
        shipments: expect.any(Number),
        documents: expect.any(Number),
        bytes: expect.any(Number),
        at: expect.stringMatching(/^\d{4}-\S+Z$/),
      },
      reason: null,
      nextAt: null,
    });
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
    expect(stderr).toContain("check the address of the team server");
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

  it("does not follow a redirect, and says what to do", async () => {
    server.mishaps.push({ status: 301, body: "<html>Moved</html>" });
    const { code, stderr } = await ship("--once");
    expect([code, server.shipments]).toEqual([1, []]);
    expect(stderr).toContain("this address leads to another one (301");
    expect(stderr).toContain("use the address that it leads to");
  });

  it("sends the rest if the removal of a thread is refused, too", async () => {
    cpSync(recordedHome("claude", "a-single").home, home, { recursive: true, preserveTimestamps: true });
    const [{ uri } = { uri: "" }, other] = await localTrees();
    server.rules.refuses = (document) => document.thread === uri;
    expect((await ship("--once")).code).toBe(1);
    setSettings(`team:\n  share:\n    projects: [${other?.cwd}]\n`);
    const [path = ""] = filesBelow(home).filter((file) => file.endsWith(`${other?.sessionId}.jsonl`));
    const [line = ""] = readFileSync(join(home, path), "utf8")
      .split("\n")
      .filter((one) => one.includes('"type":"user"'));
    const grown = { ...JSON.parse(line), uuid: "33333333-0000-4000-8000-000000000001" };
    appendFileSync(join(home, path), `${JSON.stringify(grown)}\n`);
    expect((await ship("--once")).code).toBe(1);
    const after = (await localTrees()).find((tree) => tree.uri === other?.uri);
    expect(after?.counts.messages).toBe((other?.counts.messages ?? 0) + 1);
    expect(server.received.tree(other?.uri ?? "", other?.uri ?? "", Date.now())).toEqual(after);
  });

  it("notices that the server has lost shipments also if it has to divide the next one", async () => {
    server.rules.number = 0;
    await ship("--once");
    const { number } = server.rules;
    expect((await ship("--once")).code).toBe(0);
    // The first half of the next shipment gets the number that the last one had.
    server.rules.number = number;
    server.mishaps.push({ status: 413 });
    const [path = ""] = filesBelow(home).filter((file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
    const [line = ""] = readFileSync(join(home, path), "utf8")
      .split("\n")
      .filter((one) => one.includes('"type":"user"'));
    appendFileSync(
      join(home, path),
      `${line.replace(/"uuid":"[^"]+"/, '"uuid":"33333333-0000-4000-8000-000000000002"')}\n`,
    );
    const { length } = server.shipments;
    expect((await ship("--once")).code).toBe(0);
    const recordsIn = (shipments: typeof server.shipments) =>
      new Set(shipments.flatMap(({ lines }) => lines.flatMap((one) => (one.is === "agent" ? [one.uri] : []))));
    expect(recordsIn(server.shipments.slice(length))).toEqual(recordsIn(server.shipments.slice(0, length)));
    await expectTrees();
  });

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

  it("warns if the address is neither encrypted nor on this machine", async () => {
    const { stderr } = await run("ship", "--status", "--to", "http://team.example");
    expect(stderr).toContain("http://team.example is not encrypted");
    for (const to of ["https://team.example", "http://127.0.0.1:9", "http://localhost:9"])
      expect((await run("ship", "--status", "--to", to)).stderr).not.toContain("not encrypted");
  });

  it("needs an address and a token", async () => {
    expect(await run("ship", "--once")).toMatchObject({ code: 2 });
    for (const to of ["nonsense", "ftp://host"])
      expect(await run("ship", "--once", "--to", to)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining(`--to ${to}: not an address that begins with https:// or http://`),
      });
    expect(await ship("--once", "--dry-run")).toMatchObject({ code: 2 });
    delete env.RETINUE_TEAM_TOKEN;
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("RETINUE_TEAM_TOKEN");
    expect((await ship("--status")).stdout).toContain("because    no token for the team server");
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
    expect(stdout).toContain(`waiting    listed by retinue ship --status --to ${server.url}`);
  });
});

describe("a damaged shipped.sqlite", () => {
  it("is replaced by the next shipment, and not by commands that only read", async () => {
    await ship("--once");
    const path = join(scratch, "data/shipped.sqlite");
    for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
    const damage = "no database ".repeat(1_000);
    writeFileSync(path, damage);
    for (const how of ["--status", "--dry-run"]) {
      const { code, stderr } = await ship(how);
      expect([code, stderr]).toEqual([0, expect.stringContaining("the next shipment replaces it")]);
      expect(readFileSync(path, "utf8")).toBe(damage);
    }
    const { code, stderr } = await ship("--once");
    expect([code, stderr]).toEqual([0, expect.stringContaining("was damaged")]);
    await expectTrees();
  });
});

describe("the bandwidth of the settings", () => {
  it("delays the next shipment, not the acknowledgement of the last one", async () => {
    setSettings("team:\n  bandwidth: 20KB\n");
    const library = libraryIn(home, Date.now);
    const settings = await loadSettings(env);
    const target = targetOf(env, settings, server.url);
    if (target === null) throw new Error("no target");
    const { signal } = new AbortController();
    const connection = await Connection.open({ env, settings, target, library, notify: () => {}, signal });
    try {
      await library.refresh();
      await connection.attempt((shipper) => shipper.shipAll());
      const [began, { documents, bytes }] = [Date.now(), connection.totals()];
      expect(documents).toBeGreaterThan(0);
      const [path = ""] = filesBelow(home).filter((file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
      const [line = ""] = readFileSync(join(home, path), "utf8")
        .split("\n")
        .filter((one) => one.includes('"type":"user"'));
      const uuid = '"uuid":"33333333-0000-4000-8000-000000000003"';
      appendFileSync(join(home, path), `${line.replace(/"uuid":"[^"]+"/, uuid)}\n`);
      await library.refresh();
      await connection.attempt((shipper) => shipper.shipAll());
      expect(connection.totals().documents).toBeGreaterThan(documents);
      // The first request itself took a part of the time.
      expect(Date.now() - began).toBeGreaterThan((bytes / 20_000) * 500);
    } finally {
      connection.close();
      library.close();
    }
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

  it("uses the token that is in its file when it sends", async () => {
    const path = join(scratch, "token");
    writeFileSync(path, "revoked");
    const { RETINUE_TEAM_TOKEN: _, ...rest } = env;
    setSettings(`team:\n  url: ${server.url}\n  token_file: ${path}\n`);
    const settings = await loadSettings(rest);
    const target = targetOf(rest, settings, undefined);
    if (target === null) throw new Error("no target");
    const library = libraryIn(home, Date.now);
    await library.refresh();
    const { signal } = new AbortController();
    const connection = await Connection.open({ env: rest, settings, target, library, notify: () => {}, signal });
    const attempt = () => connection.attempt((shipper) => shipper.shipAll());
    expect([await attempt(), connection.reason]).toEqual([false, expect.stringContaining("token")]);
    rmSync(path);
    expect([await attempt(), connection.reason]).toEqual([false, expect.stringContaining(path)]);
    writeFileSync(path, `${server.token}\n`);
    expect([await attempt(), connection.reason]).toEqual([true, null]);
    connection.close();
    library.close();
    await expectTrees();
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

  it("is left out by a server whose team.url contains a password; it starts and says so", async () => {
    const values = { "team.url": "http://ann:hunter2@127.0.0.1:9" };
    const local = await startServer(null, { settings: await withSettings(values) });
    try {
      expect(local.messages.join("\n")).toContain("nothing is sent to the team server");
      expect(local.messages.join("\n")).not.toContain("hunter2");
      const headers: Record<string, string> = local.token === null ? {} : { Authorization: `Bearer ${local.token}` };
      expect(await local.json("/api/ship?waiting=true", { headers })).toEqual({ team: null });
    } finally {
      await local.close();
    }
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
