/** `retinue ship`, against a receiving server on loopback. */
import { appendFileSync, cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import { REDACTION_LEVELS } from "../../src/core/redaction/redaction.ts";
import type { SharedCall } from "../../src/core/views/shared-tree.ts";
import { filesBelow, recordedHome } from "../support/fixtures.ts";
import {
  addMessage,
  eachWithMachine,
  expectReceived,
  runOn,
  setSettings,
  treesOf,
} from "../support/shipping-machine.ts";

const machine = eachWithMachine();
const run = (...args: readonly string[]) => runOn(machine, ...args);
const ship = (...args: readonly string[]) => run("ship", "--to", machine.server.url, ...args);

describe("ship --once", () => {
  it("sends everything, and then nothing", async () => {
    const first = await ship("--once");
    expect([first.code, first.stderr]).toEqual([0, ""]);
    expect(first.stdout).toMatch(/has everything: \d+ documents of 1 thread sent/);
    await expectReceived(machine);
    const { length } = machine.server.shipments;
    const second = await ship("--once");
    expect([second.code, second.stdout]).toEqual([0, `${machine.server.url} has everything\n`]);
    expect(machine.server.shipments.slice(length).flatMap(({ lines }) => lines)).toEqual([]);
    expect(JSON.parse((await ship("--once", "--json")).stdout)).toMatchObject({
      documents: 0,
      url: machine.server.url,
    });
  });

  it("sends again what was not acknowledged", async () => {
    machine.server.mishaps.push(
      "lost-request",
      "lost-response",
      { status: 503, headers: { "Retry-After": "0.1" } },
      { status: 500 },
    );
    expect((await ship("--once")).code).toBe(0);
    expect(machine.server.mishaps).toEqual([]);
    await expectReceived(machine);
    // The repetition has higher revisions.
    const [first, second] = machine.server.shipments.map(({ lines }) => lines[0]?.revision ?? 0);
    expect(second).toBeGreaterThan(first ?? 0);
  });

  it("pauses also if the server asks for no pause", async () => {
    machine.server.mishaps.push(...[0, 0].map(() => ({ status: 429, headers: { "Retry-After": "0" } })));
    const began = Date.now();
    expect((await ship("--once")).code).toBe(0);
    expect(machine.server.mishaps).toEqual([]);
    expect(Date.now() - began).toBeGreaterThanOrEqual(2_000);
  });

  it("fails at once if the token cannot be one, and does not print it", async () => {
    for (const token of ["# my token\nrtn_secret", "rtn_secret\u20ac", "rtn_secret rtn_other"]) {
      machine.env.RETINUE_TEAM_TOKEN = token;
      const { code, stdout, stderr } = await ship("--once");
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toContain("RETINUE_TEAM_TOKEN is not a token");
      expect(stderr + (await ship("--status")).stdout).not.toContain("rtn_");
    }
    expect(machine.server.shipments).toEqual([]);
  });

  it("refuses an address with a password, without printing it, or with a query", async () => {
    for (const to of [
      machine.server.url.replace("//", "//ann:hunter2@"),
      `${machine.server.url}/?a=b`,
      `${machine.server.url}/#a`,
    ]) {
      const { code, stdout, stderr } = await run("ship", "--once", "--to", to);
      expect([code, stdout]).toEqual([2, ""]);
      expect(stderr).not.toContain("hunter2");
      expect(stderr).toContain(`write ${machine.server.url}`);
    }
  });

  it("fails at once if the token is not accepted; --status says why until it is", async () => {
    machine.env.RETINUE_TEAM_TOKEN = "another";
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("does not accept the token");
    expect(stderr).toContain("set a token of `retinue token create --scope ship` in RETINUE_TEAM_TOKEN");
    expect(machine.server.received.accepted).toBe(0);
    const status = await ship("--status");
    expect(status.stdout).toContain("1 thread: 1 new");
    expect(status.stdout).toContain("does not accept the token");
    machine.env.RETINUE_TEAM_TOKEN = machine.server.token;
    expect((await ship("--once")).code).toBe(0);
    const after = (await ship("--status")).stdout;
    expect(after).toContain("waiting    nothing");
    expect(after).not.toContain("because");
    expect(JSON.parse((await ship("--status", "--json")).stdout)).toEqual({
      url: machine.server.url,
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
    const [path = ""] = filesBelow(machine.home).filter((file) => file.endsWith(".jsonl"));
    const [line = ""] = readFileSync(join(machine.home, path), "utf8")
      .split("\n")
      .filter((one) => one.includes('"type":"user"'));
    const { message, ...rest } = JSON.parse(line) as { message: { content: unknown }; uuid: string };
    const big = { ...rest, uuid: crypto.randomUUID(), message: { ...message, content: "long ".repeat(60_000) } };
    appendFileSync(join(machine.home, path), `${JSON.stringify(big)}\n`);
    machine.server.rules.maxBytes = 100_000;
    expect((await ship("--once")).code).toBe(0);
    const texts = machine.server.received.documents.flatMap((document) =>
      document.is === "event" ? [document.event.text] : [],
    );
    expect(texts.filter((text) => text?.startsWith("[left out: "))).toHaveLength(1);
    for (const { lines } of machine.server.shipments) expect(JSON.stringify(lines).length).toBeLessThan(150_000);
  });

  it("leaves long texts out of a record that is too large for the server", async () => {
    const [path = ""] = filesBelow(machine.home).filter((file) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(file));
    const lines = readFileSync(join(machine.home, path), "utf8").split("\n");
    const first = lines.findIndex((line) => line.includes('"type":"user"'));
    const { message, ...rest } = JSON.parse(lines[first] ?? "") as { message: { content: unknown } };
    const prompt = { ...rest, message: { ...message, content: "long ".repeat(60_000) } };
    writeFileSync(join(machine.home, path), lines.with(first, JSON.stringify(prompt)).join("\n"));
    machine.server.rules.maxBytes = 100_000;
    expect(await ship("--once")).toMatchObject({ code: 0, stderr: "" });
    const [uri = ""] = machine.server.received.threads;
    expect(machine.server.received.tree(uri, uri, Date.now())?.prompt).toMatch(/^\[left out: \d+ characters/);
  });

  it.each([
    ["a page of another program", { status: 200, body: "<html>Welcome to the hotel</html>" }],
    ["an error with status 200", { status: 200, body: { error: "not now" } }],
    ["a receipt for another number of documents", { status: 200, body: { accepted: 1, ignored: 0 } }],
  ])("does not take %s for an acknowledgement", async (_, mishap) => {
    machine.server.mishaps.push(mishap);
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("no team server at this address");
    expect(stderr).toContain("check the address of the team server");
    expect((await ship("--status")).stdout).toContain("1 thread: 1 new");
    expect((await ship("--once")).code).toBe(0);
    await expectReceived(machine);
  });

  it.each([true, false])(
    "sends the rest if a thread is refused; the server names the document: %s",
    async (isNamed) => {
      cpSync(recordedHome("claude", "a-single").home, machine.home, { recursive: true, preserveTimestamps: true });
      const [{ uri } = { uri: "" }, other] = await treesOf(machine);
      machine.server.rules.namesDocument = isNamed;
      machine.server.rules.refuses = (document) => document.thread === uri && document.is === "event";
      const { code, stderr } = await ship("--once");
      expect(code).toBe(1);
      expect(stderr).toContain("refuses 1 thread; everything else was acknowledged");
      expect(stderr).toContain(`${uri}: 422: unbelievable`);
      expect(machine.server.received.tree(other?.uri ?? "", other?.uri ?? "", Date.now())).toEqual(other);
      expect((await ship("--status")).stdout).toMatch(
        new RegExp(`waiting    1 thread: 1 refused by the server\n    refused  ${uri}: 422: unbelievable`),
      );
      // It is not tried again as it is.
      machine.server.rules.refuses = () => false;
      const { length } = machine.server.shipments;
      expect((await ship("--once")).code).toBe(1);
      expect(machine.server.shipments.slice(length).flatMap(({ lines }) => lines)).toEqual([]);
      const [path = ""] = filesBelow(machine.home).filter((file) =>
        file.endsWith(`${uri.slice("claude://".length)}.jsonl`),
      );
      appendFileSync(join(machine.home, path), '{"type":"mode","mode":"normal"}\n');
      expect(await ship("--once")).toMatchObject({ code: 0, stderr: "" });
      await expectReceived(machine);
      expect((await ship("--status")).stdout).toContain("waiting    nothing");
    },
  );

  it("does not follow a redirect, and says what to do", async () => {
    machine.server.mishaps.push({ status: 301, body: "<html>Moved</html>" });
    const { code, stderr } = await ship("--once");
    expect([code, machine.server.shipments]).toEqual([1, []]);
    expect(stderr).toContain("this address leads to another one (301");
    expect(stderr).toContain("use the address that it leads to");
  });

  it("sends the rest if the removal of a thread is refused, too", async () => {
    cpSync(recordedHome("claude", "a-single").home, machine.home, { recursive: true, preserveTimestamps: true });
    const [{ uri } = { uri: "" }, other] = await treesOf(machine);
    machine.server.rules.refuses = (document) => document.thread === uri;
    expect((await ship("--once")).code).toBe(1);
    setSettings(machine, `team:\n  share:\n    projects: [${other?.cwd}]\n`);
    addMessage(machine, "33333333-0000-4000-8000-000000000001", other?.sessionId);
    expect((await ship("--once")).code).toBe(1);
    const after = (await treesOf(machine)).find((tree) => tree.uri === other?.uri);
    expect(after?.counts.messages).toBe((other?.counts.messages ?? 0) + 1);
    expect(machine.server.received.tree(other?.uri ?? "", other?.uri ?? "", Date.now())).toEqual(after);
  });

  it("notices that the server has lost shipments also if it has to divide the next one", async () => {
    machine.server.rules.number = 0;
    await ship("--once");
    const { number } = machine.server.rules;
    expect((await ship("--once")).code).toBe(0);
    // The first half of the next shipment gets the number that the last one had.
    machine.server.rules.number = number;
    machine.server.mishaps.push({ status: 413 });
    addMessage(machine, "33333333-0000-4000-8000-000000000002");
    const { length } = machine.server.shipments;
    expect((await ship("--once")).code).toBe(0);
    const recordsIn = (shipments: typeof machine.server.shipments) =>
      new Set(shipments.flatMap(({ lines }) => lines.flatMap((one) => (one.is === "agent" ? [one.uri] : []))));
    expect(recordsIn(machine.server.shipments.slice(length))).toEqual(
      recordsIn(machine.server.shipments.slice(0, length)),
    );
    await expectReceived(machine);
  });

  it("blames no thread if the server refuses the program", async () => {
    machine.server.mishaps.push(
      ...Array.from({ length: 3 }, () => ({ status: 422, body: { error: { message: "too old" } } })),
    );
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("not everything was acknowledged");
    expect(stderr).toContain("422: too old");
    expect((await ship("--status")).stdout).toContain("1 thread: 1 new");
  });

  it("reads the token from a file, and the address, the shared projects and the level from the settings", async () => {
    writeFileSync(join(machine.home, "token"), `${machine.server.token}\n`);
    setSettings(
      machine,
      `team:\n  url: ${machine.server.url}/\n  token_file: ~/token\n  share:\n    projects: [/nowhere]\n`,
    );
    delete machine.env.RETINUE_TEAM_TOKEN;
    expect((await run("ship", "--once")).stdout).toBe(`${machine.server.url} has everything\n`);
    setSettings(machine, `team:\n  url: ${machine.server.url}\n  token_file: ~/token\n  share:\n    level: metadata\n`);
    expect((await run("ship", "--once")).code).toBe(0);
    const texts = machine.server.received.documents.flatMap((one) => (one.is === "event" ? [one.event.text] : []));
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
    delete machine.env.RETINUE_TEAM_TOKEN;
    const { code, stderr } = await ship("--once");
    expect(code).toBe(1);
    expect(stderr).toContain("RETINUE_TEAM_TOKEN");
    expect((await ship("--status")).stdout).toContain("because    no token for the team server");
  });
});

describe("ship --dry-run", () => {
  it("prints exactly what is sent then, and changes nothing", async () => {
    delete machine.env.RETINUE_TEAM_TOKEN;
    const { code, stdout } = await ship("--dry-run");
    expect(code).toBe(0);
    expect(existsSync(join(machine.scratch, "data/shipped.sqlite"))).toBe(false);
    expect(machine.server.shipments).toEqual([]);
    machine.env.RETINUE_TEAM_TOKEN = machine.server.token;
    await ship("--once");
    const [head, ...lines] = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as ShipmentDocument);
    expect(head).toMatchObject({ schema: "retinue/shipment@1" });
    const plain = (documents: readonly ShipmentDocument[]) => documents.map((one) => ({ ...one, revision: 0 }));
    expect(plain(lines)).toEqual(plain(machine.server.received.documents));
    expect((await ship("--dry-run")).stdout.trimEnd().split("\n")).toHaveLength(1);
  });

  it.each(REDACTION_LEVELS)("has no secret in any document, also not in names, with the level %s", async (level) => {
    const words = ["c3-nested-parallel", "general-purpose", "opus", "Bash"];
    setSettings(machine, `redaction:\n  level: ${level}\n  patterns: [${words.join(", ")}]\n`);
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
    expect(stdout).toContain(`team ${machine.server.url}`);
    expect(stdout).toMatch(/delivered {2}[1-9]\d*/);
    expect(stdout).toContain(`waiting    listed by retinue ship --status --to ${machine.server.url}`);
  });
});

describe("a damaged shipped.sqlite", () => {
  it("is replaced by the next shipment, and not by commands that only read", async () => {
    await ship("--once");
    const path = join(machine.scratch, "data/shipped.sqlite");
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
    await expectReceived(machine);
  });
});
