/** `import { open, run } from "retinue"`: the same as the command line, for programs. */
import {
  appendFileSync,
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { type AgentTree, Failure, NotSupported, open, run } from "../../src/app/api.ts";
import { retinue as commandLine, retinueJson } from "../support/cli.ts";
import { FIXTURES, recordedHome } from "../support/fixtures.ts";
import { needsPosix } from "../support/needs.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-library-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let homes = 0;

function copyOf(name: string) {
  const home = join(scratch, `home-${homes++}`);
  cpSync(recordedHome("claude", name).home, home, { recursive: true });
  return { home, env: { PATH: process.env.PATH, HOME: home, RETINUE_HOME: join(home, "data") } };
}

async function opened(name: string) {
  const place = copyOf(name);
  const retinue = await open({ env: place.env });
  onTestFinished(() => retinue.close());
  return { ...place, retinue };
}

describe("open", () => {
  it("returns the threads, trees and events that the command line prints", async () => {
    const { retinue, home } = await opened("c-nested");
    const [thread] = await retinue.threads();
    expect(await retinue.threads({ provider: "codex" })).toEqual([]);
    const listed = (await retinueJson(home, ["ls"])) as unknown[];
    expect(JSON.parse(JSON.stringify([thread]))).toEqual(listed);
    expect(JSON.parse(JSON.stringify(await retinue.tree("latest")))).toEqual(
      await retinueJson(home, ["tree", "latest"]),
    );
    for (const subtree of [true, false]) {
      const events = await retinue.events("latest", { subtree });
      const { stdout } = await commandLine(home, ["events", "latest", ...(subtree ? ["--subtree"] : [])]);
      expect(events.map((event) => JSON.stringify(event))).toEqual(stdout.trim().split("\n"));
      expect(events.filter(({ kind }) => kind === "spawn")).toHaveLength(subtree ? 3 : 1);
    }
  });

  it("fails with the messages of the command line", async () => {
    const { retinue } = await opened("a-single");
    await expect(retinue.tree("nowhere://x")).rejects.toThrow(Failure);
    await expect(retinue.tree("claude://00000000-0000-4000-8000-000000000000")).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("accepts a home, and keeps its own files there", async () => {
    const { home } = copyOf("a-single");
    const before = process.env.RETINUE_HOME;
    delete process.env.RETINUE_HOME;
    onTestFinished(() => {
      if (before !== undefined) process.env.RETINUE_HOME = before;
    });
    const retinue = await open({ home });
    onTestFinished(() => retinue.close());
    expect(await retinue.threads()).toHaveLength(1);
    expect(readFileSync(join(home, ".local/share/retinue/index.sqlite")).length).toBeGreaterThan(0);
  });

  it("reports changes while they happen", async () => {
    const { retinue, home } = await opened("a-single");
    const [thread] = await retinue.threads();
    const transcript = (await retinue.tree("latest")).records.find(({ path }) => path.startsWith(home))?.path ?? "";
    const line =
      readFileSync(transcript, "utf8")
        .split("\n")
        .findLast((one) => one.includes('"type":"assistant"')) ?? "";
    const stop = new AbortController();
    const seen: AgentTree[] = [];
    const later = line
      .replace(/"id":"msg_[^"]*"/, '"id":"msg_0123456789abcdefgh"')
      .replace(/"uuid":"[^"]*"/, '"uuid":"00000000-0000-4000-8000-000000000000"');
    const appending = setInterval(() => {
      if (seen.length === 0) appendFileSync(transcript, `${later}\n`);
    }, 300);
    for await (const tree of retinue.live({ signal: stop.signal })) {
      seen.push(tree);
      stop.abort();
    }
    clearInterval(appending);
    expect(seen[0]).toMatchObject({ uri: thread?.uri, usage: { own: { calls: (thread?.usage.own.calls ?? 0) + 1 } } });
  });
});

describe("run", () => {
  beforeEach(needsPosix("scripts that name their interpreter"));

  function program(name: string, text: string) {
    const home = join(scratch, `home-${homes++}`);
    mkdirSync(home, { recursive: true });
    const path = join(home, name);
    writeFileSync(path, `#!${process.execPath}\n${text}`);
    chmodSync(path, 0o755);
    return { path, env: { PATH: process.env.PATH, HOME: home, RETINUE_HOME: join(home, "data") } };
  }
  const lines = readFileSync(join(FIXTURES, "claude/a-single/recordings/claude/run/stdout.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.stringify({ ...(JSON.parse(line) as { raw: object }).raw, timestamp: undefined }));

  it("returns the events of all agents, sends the prompt of the command line, and ends with the last event", async () => {
    const { path, env } = program(
      "claude",
      `const heard = []; require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  heard.push(line);
  if (line.includes("control_request")) return console.log(JSON.stringify({ type: "control_response", response: { subtype: "error", request_id: JSON.parse(line).request_id, error: "not today" } }));
  process.stdout.write(${JSON.stringify(`${lines.join("\n")}\n`)});
}).on("close", () => require("node:fs").writeFileSync(process.env.HOME + "/heard", heard.join("\\n")));`,
    );
    const handle = await run([path, "-p", "hello"], { env });
    await expect(handle.stop("a1")).rejects.toThrow("not today");
    await expect(handle.injectToolResult("c", "x")).rejects.toThrow(NotSupported);
    const kinds = new Set<string>();
    for await (const { kind } of handle) kinds.add(kind);
    expect([...kinds]).toEqual(expect.arrayContaining(["spawn", "status", "toolCall", "assistant"]));
    expect(await handle.ended).toEqual({ code: 0, signal: null });
    expect(await handle.uri).toMatch(/^claude:\/\//);
    const heard = readFileSync(join(env.HOME, "heard"), "utf8").split("\n");
    expect(heard.filter((line) => line.includes('"user"'))).toEqual([
      JSON.stringify({ type: "user", message: { role: "user", content: "hello" } }),
    ]);
  });

  it("throws NotSupported if a product does not support an operation", async () => {
    const { path, env } = program(
      "codex",
      `console.log('{"type":"thread.started","thread_id":"01a1e11b-43dd-7790-8c42-cef0847f398f"}'); console.log('{"type":"turn.completed"}');`,
    );
    const handle = await run([path, "exec", "hello"], { env });
    for (const call of [handle.send("x"), handle.stop("a"), handle.interrupt(), handle.background("a")])
      await expect(call).rejects.toMatchObject({ name: "NotSupported", code: "not_supported" });
    for await (const _ of handle);
    expect(await handle.uri).toBe("codex://01a1e11b-43dd-7790-8c42-cef0847f398f");
  });

  it("rejects if the command does not exist", async () => {
    await expect(run(["/no/such/program"], { env: program("x", "").env })).rejects.toThrow("ENOENT");
  });
});
