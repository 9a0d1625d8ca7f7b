/** retinue's files are private to the user, whatever the umask, and modes that an older version left open are fixed. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { closeHome } from "../../src/app/home.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { FIXTURES } from "../support/fixtures.ts";

const CHILD = "claude://f99d99e0-0001-4c08-865d-e32964e15b93";
const isWindows = process.platform === "win32";
let scratch: string;
let data: string;
beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-private-"));
  data = join(scratch, "data");
  cpSync(join(FIXTURES, "claude/c3-nested-parallel/home"), join(scratch, "home"), { recursive: true });
});
afterEach(() => rmSync(scratch, { recursive: true, force: true, maxRetries: 3 }));

const env = () => ({
  PATH: process.env.PATH ?? "",
  ...COMPILED,
  HOME: join(scratch, "home"),
  RETINUE_HOME: data,
  CC_LANGSMITH_DEBUG: "true",
});

/** In a shell with umask 0. */
function openly(args: readonly string[], input = "") {
  const quoted = [process.execPath, MAIN, ...args].map((word) => `'${word}'`).join(" ");
  return spawnSync("sh", ["-c", `umask 0; exec ${quoted}`], {
    env: env(),
    input,
    encoding: "utf8",
    cwd: scratch,
    timeout: 60_000,
  });
}

/** Starts a long-running process, and waits until it has printed its URL. */
async function openlyStarted(args: readonly string[]) {
  const tracing = { TRACE_TO_OTLP: "true", OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:1" };
  const child = spawn("sh", ["-c", `umask 0; exec '${process.execPath}' '${MAIN}' ${args.join(" ")}`], {
    env: { ...env(), ...tracing },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [address] = (await once(child.stdout, "data")) as [Buffer];
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "exit");
  };
  return { address: address.toString().trim(), stop };
}

/** The folder and everything below it, by name. */
const below = (folder: string): string[] => [
  folder,
  ...readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
];
const openOnes = (folder: string) =>
  below(folder)
    .filter((path) => (lstatSync(path).mode & 0o077) !== 0)
    .map((path) => path.slice(scratch.length));

describe("$RETINUE_HOME", () => {
  it("is private with everything in it, whatever the umask", async ({ skip }) => {
    skip(isWindows, "file modes have no meaning on Windows");
    const server = await openlyStarted(["serve", "--no-open", "--port", "0"]);
    const proxy = await openlyStarted(["proxy", "--port", "0", "--upstream", "http://127.0.0.1:1"]);
    await fetch(`${proxy.address}/v1/messages`, { method: "POST", body: '{"model":"m","messages":[]}' });
    const card = await fetch(new URL("/api/cards", server.address), {
      method: "POST",
      body: '{"title":"x"}',
      headers: { "Content-Type": "application/json" },
    });
    expect(card.status).toBe(200);
    const hook = {
      session_id: "s",
      hook_event_name: "Stop",
      transcript_path: join(scratch, "elsewhere/s.jsonl"),
      cwd: scratch,
    };
    expect(openly(["hook"], JSON.stringify(hook)).status).toBe(0);
    expect(openly(["run", "--", "echo", "words"]).stdout).toBe("words\n");
    expect(
      openly(["import", "-"], '{"type":"init","timestamp":"2026-01-01T00:00:00Z","session_id":"s","model":"m"}\n')
        .status,
    ).toBe(0);
    expect(openly(["hooks", "install", "claude", "--yes"]).status).toBe(0);
    const made = readdirSync(data);
    expect(made).toEqual(
      expect.arrayContaining(["index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "kept.sqlite", "server.json"]),
    );
    expect(made).toEqual(expect.arrayContaining(["recordings", "imported", "hooks", "logs"]));
    expect(openOnes(data)).toEqual([]);
    await proxy.stop();
    await server.stop();
    expect(openOnes(data)).toEqual([]);
  });

  it("is made private by the next command if an older version left it open", ({ skip }) => {
    skip(isWindows, "file modes have no meaning on Windows");
    expect(openly(["link", CHILD, CHILD]).status).not.toBe(null);
    expect(openly(["token", "show"]).status).toBe(0);
    for (const args of [["ls"], ["run", "--", "true"], ["hook"]]) {
      mkdirSync(join(data, "logs"), { recursive: true });
      writeFileSync(join(data, "logs/export.log"), "");
      for (const path of below(data)) chmodSync(path, lstatSync(path).isDirectory() ? 0o755 : 0o644);
      expect(openly(args).status).toBe(0);
      expect({ args, open: openOnes(data) }).toEqual({ args, open: [] });
    }
  });

  it("does not change the modes of other files and shared folders", ({ skip }) => {
    skip(isWindows, "file modes have no meaning on Windows");
    mkdirSync(data);
    mkdirSync(join(scratch, "other"));
    writeFileSync(join(data, "notes.txt"), "");
    writeFileSync(join(data, "index.sqlite"), "");
    symlinkSync(join(scratch, "other"), join(data, "recordings"));
    for (const name of ["data/notes.txt", "data/index.sqlite", "other"]) chmodSync(join(scratch, name), 0o755);
    chmodSync(data, 0o1777);
    closeHome(env());
    const modes = ["data", "data/notes.txt", "data/index.sqlite", "other"].map(
      (name) => statSync(join(scratch, name)).mode & 0o7777,
    );
    expect(modes).toEqual([0o1777, 0o755, 0o700, 0o755]);
  });

  it("does not change the umask of an agent that retinue runs", ({ skip }) => {
    skip(isWindows, "file modes have no meaning on Windows");
    expect(openly(["run", "--", "sh", "-c", "umask; touch made"]).stdout).toMatch(/^0+\n$/);
    expect(statSync(join(scratch, "made")).mode & 0o777).toBe(0o666);
  });
});
