/** Failures of the machine: full and read-only disks, held locks, damaged files, limits of the system. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect, it, type TestContext } from "vitest";
import { openLibrary } from "../../src/app/open.ts";
import { search } from "../../src/app/query/search.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { COMPILED, MAIN } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";
import { until } from "../support/server.ts";

const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const LONG = { timeout: 240_000 };
/** Of the index. */
const PAGE = 8_192;
let scratch = "";
let home = "";
let data = "";
let runs: Run[] = [];
let mounted: string[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "retinue-faults-"));
  home = join(scratch, "home");
  data = join(scratch, "data");
  cpSync(recordedHome("claude", "c-nested").home, home, { recursive: true });
});
afterEach(async () => {
  for (const { child } of runs) child.kill("SIGKILL");
  await Promise.all(runs.map(({ exit }) => exit));
  runs = [];
  for (const folder of mounted) execFileSync("umount", ["-l", folder]);
  mounted = [];
  rmSync(scratch, { recursive: true, maxRetries: 3 });
});

/** The command line in its own process; `before` are shell commands that set its limits. */
class Run {
  readonly child: ChildProcess;
  readonly exit: Promise<number | string | null>;
  stdout = "";
  stderr = "";

  constructor(args: readonly string[], before = "") {
    const env = { PATH: process.env.PATH ?? "", ...COMPILED, HOME: home, RETINUE_HOME: data };
    const command = ["sh", "-c", `${before} exec "$@"`, "sh", process.execPath, MAIN, ...args];
    const [program, ...rest] = before.startsWith("unshare ")
      ? ["unshare", "-Ur", ...command.with(2, `${before.slice(8)} exec "$@"`)]
      : command;
    this.child = spawn(program as string, rest, { env, stdio: ["ignore", "pipe", "pipe"] });
    this.child.stdout?.setEncoding("utf8").on("data", (part: string) => {
      this.stdout += part;
    });
    this.child.stderr?.setEncoding("utf8").on("data", (part: string) => {
      this.stderr += part;
    });
    this.exit = new Promise((resolve) => this.child.once("exit", (code, signal) => resolve(code ?? signal)));
    runs.push(this);
  }

  get events(): AgentEvent[] {
    const lines = this.stdout.split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as AgentEvent);
  }
}

interface Health {
  readonly watching: boolean;
  readonly troubles: readonly { readonly code: string; readonly message: string; readonly since: string }[];
}

class Server extends Run {
  constructor(before = "") {
    super(["serve", "--port", "0", "--no-open"], before);
  }

  async get<T>(path: string): Promise<T> {
    // A connection of its own: on a busy machine the server may close an idle one at the moment of the next request.
    const headers = { connection: "close" };
    return (await fetch(new URL(path, this.stdout.trim()), { headers })).json() as Promise<T>;
  }

  health = () => this.get<Health>("/api/health");
  codes = async () => (await this.health()).troubles.map(({ code }) => code);
  prompts = async () =>
    (await this.get<{ items: { prompt: string }[] }>("/api/threads")).items.map(({ prompt }) => prompt);

  async ready(): Promise<this> {
    await until(
      async () => this.stdout.includes("\n") && (await this.health()).watching,
      () => this.stderr,
    );
    return this;
  }
}

const list = async (before = "") => {
  const run = new Run(["ls", "--json", "--limit", "1000"], before);
  const code = await run.exit;
  return { code, stderr: run.stderr, threads: code === 0 ? (JSON.parse(run.stdout) as unknown[]) : run.stdout };
};

function projectFolder(): string {
  const projects = join(home, ".claude/projects");
  return join(projects, readdirSync(projects)[0] as string);
}

const record = (session: string, content: string) =>
  `${JSON.stringify({ type: "user", uuid: crypto.randomUUID(), parentUuid: null, isSidechain: false, sessionId: session, timestamp: new Date().toISOString(), cwd: "/p", message: { role: "user", content } })}\n`;

/** A new thread with this prompt. */
function begin(prompt: string): void {
  const session = crypto.randomUUID();
  writeFileSync(join(projectFolder(), `${session}.jsonl`), record(session, prompt));
}

/** A small file system for one test, which is skipped if it cannot be mounted. */
function mountSmall({ skip }: TestContext, folder: string, kilobytes: number): void {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${kilobytes}k`, "none", folder], { stdio: "ignore" });
  } catch {
    skip("no file system can be mounted here");
  }
  mounted.push(folder);
}

/** Fills a file system; returns the file to remove. */
function fill(folder: string): string {
  const path = join(folder, "ballast");
  const file = openSync(path, "w");
  for (let size = 1 << 20; size >= 1; size = size >> 1)
    try {
      for (;;) writeSync(file, Buffer.alloc(size));
    } catch {
      // Full for chunks of this size.
    }
  closeSync(file);
  return path;
}

const leftovers = () => readdirSync(data).filter((name) => name.startsWith("server.json."));
const isBug = (run: Run) => /this is a bug|\n {4}at /.test(run.stderr);

describe("an index that is locked by a stopped process", () => {
  /** Holds the write lock until it is killed. */
  async function holdLock(): Promise<ChildProcess> {
    const script = `const { DatabaseSync } = require("node:sqlite"); const db = new DatabaseSync(process.argv[1], { timeout: 60_000 }); db.exec("BEGIN IMMEDIATE"); console.log("held"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["-e", script, join(data, "index.sqlite")], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    child.kill("SIGSTOP");
    return child;
  }

  it("is waited for by the server, which reports it, keeps serving, and catches up", LONG, async () => {
    const server = await new Server().ready();
    const holder = await holdLock();
    try {
      begin("written while it was locked");
      await until(async () => (await server.codes()).includes("not-up-to-date"));
      const [trouble] = (await server.health()).troubles;
      expect(trouble?.message).toContain("database is locked");
      expect(Date.now() - Date.parse(trouble?.since ?? "")).toBeLessThan(60_000);
      expect((await server.prompts()).length).toBe(1);
      await until(() => server.stderr.includes("retrying"));
    } finally {
      holder.kill("SIGKILL");
    }
    await until(async () => (await server.prompts()).includes("written while it was locked"));
    await until(async () => (await server.codes()).length === 0);
    await until(() => server.stderr.includes("can read what is new again"));
    begin("written afterwards");
    await until(async () => (await server.prompts()).includes("written afterwards"));
    expect(isBug(server)).toBe(false);
  });

  it("does not end events --follow", LONG, async () => {
    const follow = new Run(["events", THREAD, "--follow"]);
    await until(() => follow.events.some(({ kind }) => kind === "status"));
    const holder = await holdLock();
    try {
      appendFileSync(join(projectFolder(), `${THREAD}.jsonl`), record(THREAD, "written while it was locked"));
      await until(() => follow.stderr !== "");
    } finally {
      holder.kill("SIGKILL");
    }
    appendFileSync(join(projectFolder(), `${THREAD}.jsonl`), record(THREAD, "written afterwards"));
    await until(() => follow.events.some(({ text }) => text === "written afterwards"));
    expect(follow.events.filter(({ text }) => text === "written while it was locked").length).toBe(1);
    expect(isBug(follow)).toBe(false);
  });
});

describe("a full disk", () => {
  /** Enough threads for the index to outgrow the free space. */
  const crowd = (count: number) => {
    for (let n = 0; n < count; n += 1) begin(`thread ${n} ${crypto.randomUUID().repeat(50)}`);
  };

  it(
    "makes the server use memory and report it, and the index is used again once there is space",
    LONG,
    async (test) => {
      mountSmall(test, data, 8 * 1_024);
      const server = await new Server().ready();
      const ballast = fill(data);
      crowd(60);
      await until(async () => (await server.codes()).includes("index-unusable"));
      await until(async () => (await server.prompts()).length >= 50);
      expect(server.stderr).toContain("reading without the index");
      begin("written on a full disk");
      await until(async () => (await server.prompts()).includes("written on a full disk"));
      rmSync(ballast);
      await until(
        async () => (await server.codes()).length === 0,
        () => server.stderr,
      );
      begin("written afterwards");
      await until(async () => (await server.prompts()).includes("written afterwards"));
      expect(isBug(server)).toBe(false);
      server.child.kill("SIGTERM");
      expect(await server.exit).toBe(0);
      // What the server wrote after it could write again is complete for the next one.
      const { threads, stderr } = await list();
      expect({ count: threads.length, stderr }).toEqual({ count: 63, stderr: "" });
    },
  );

  it("lets a server start, list and stop, and leaves no temporary files", LONG, async (test) => {
    mountSmall(test, data, 64);
    const ballast = fill(data);
    const server = await new Server().ready();
    await until(async () => (await server.codes()).toSorted().join() === "index-unusable,not-announced");
    expect((await server.prompts()).length).toBe(1);
    expect(leftovers()).toEqual([]);
    rmSync(ballast);
    execFileSync("mount", ["-o", "remount,size=4m", data]);
    await until(
      async () => (await server.codes()).length === 0,
      () => server.stderr,
    );
    expect(readFileSync(join(data, "server.json"), "utf8")).toContain(server.stdout.trim());
    expect(leftovers()).toEqual([]);
    expect(isBug(server)).toBe(false);
  });

  it("does not stop ls, nor does a read-only disk", LONG, async (test) => {
    const whole = await list();
    rmSync(data, { recursive: true });
    mountSmall(test, data, 64);
    const ballast = fill(data);
    const full = await list();
    expect(full.threads).toEqual(whole.threads);
    expect(full.stderr).toContain("reading without the index");
    rmSync(ballast);
    execFileSync("mount", ["-o", "remount,ro", data]);
    const readOnly = await list();
    expect(readOnly.threads).toEqual(whole.threads);
    expect(readOnly.stderr).toContain("reading without the index");
  });

  it("does not stop ls if a file cannot grow beyond a limit, which needs no mounted disk", LONG, async () => {
    const whole = await list();
    rmSync(data, { recursive: true });
    crowd(60);
    const limited = await list("ulimit -f 100;");
    expect({ code: limited.code, count: limited.threads.length }).toEqual({ code: 0, count: 61 });
    expect(limited.stderr).toContain("reading without the index");
    expect(limited.stderr).not.toContain("bug");
    expect(whole.threads.length).toBe(1);
  });
});

/** Overwrites bytes in the middle of a closed file. */
function damage(path: string, from: number, length: number): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(length, 0xa5), 0, length, from);
  closeSync(file);
}

const setAside = (name: string) =>
  readdirSync(data).filter((file) => file.startsWith(`${name}.damaged-`) && !/-(?:wal|shm)$/.test(file));

/** Overwrites a column with junk that SQLite does not detect, like a failing disk. */
function spoil(file: string, sql: string): void {
  const db = new DatabaseSync(join(data, file), { timeout: 60_000 });
  db.exec(sql);
  db.close();
}

describe("a damaged index", () => {
  it("is rebuilt in the same command if only a later query finds the damage, and doctor reports it", LONG, async () => {
    const whole = await list();
    const tree = new Run(["tree", THREAD, "--json"]);
    await tree.exit;
    spoil("index.sqlite", "UPDATE chunk SET facts = x'28b52ffd0011'");
    const again = new Run(["tree", THREAD, "--json"]);
    expect(await again.exit).toBe(0);
    expect(JSON.parse(again.stdout)).toEqual(JSON.parse(tree.stdout));
    expect(again.stderr).toContain("the index was damaged");
    expect(isBug(again)).toBe(false);
    expect(setAside("index.sqlite").length).toBe(1);
    const doctor = new Run(["doctor"]);
    await doctor.exit;
    expect(doctor.stdout).toContain("index-set-aside");
    expect(await list()).toEqual(whole);
  });

  it("is rebuilt by a running server, which continues", LONG, async () => {
    await list();
    const server = await new Server().ready();
    spoil("index.sqlite", "UPDATE chunk SET facts = x'28b52ffd0011'");
    const path = `/api/agents/${encodeURIComponent(`claude://${THREAD}`)}`;
    const first = await fetch(new URL(path, server.stdout.trim()));
    expect({ status: first.status, answer: await first.json() }).toMatchObject({
      status: 503,
      answer: { error: { code: "unavailable" } },
    });
    await until(
      async () => ((await server.get<{ children?: unknown[] }>(path)).children?.length ?? 0) > 0,
      () => server.stderr,
    );
    expect(setAside("index.sqlite").length).toBe(1);
    begin("written afterwards");
    await until(async () => (await server.prompts()).includes("written afterwards"));
    expect(isBug(server)).toBe(false);
  });

  it("gives the same results, whichever page is junk", LONG, async () => {
    await list();
    const env = { HOME: home, RETINUE_HOME: data };
    const settings = await loadSettings(env);
    const look = async () => {
      const messages: string[] = [];
      const library = await openLibrary({ env, settings, notify: (text) => messages.push(text) });
      await library.refresh();
      const results = await library.query(async () => {
        const records = [...library.threads({})];
        const forests = [...library.forests()].map(({ agents }) => [...agents.keys()]);
        const found = await search(library, ["done"], 10);
        return JSON.stringify([
          records,
          forests,
          found,
          library.store.spent(library.under, null),
          library.store.problems(3),
        ]);
      });
      library.close();
      return { results, messages };
    };
    const { results: whole } = await look();
    const path = join(data, "index.sqlite");
    const good = readFileSync(path);
    let found = 0;
    for (let at = 0; at < good.length; at += PAGE) {
      writeFileSync(path, good);
      damage(path, at, PAGE);
      const { results, messages } = await look();
      expect({ at, results }).toEqual({ at, results: whole });
      if (messages.some((text) => text.startsWith("the index was damaged"))) found += 1;
    }
    expect(found).toBeGreaterThan(5);
    expect(setAside("index.sqlite").length).toBe(1);
  });
});

describe("beyond the limit of file watches", () => {
  /** A separate namespace has its own limits. */
  const limitTo = (watches: number) => `unshare echo ${watches} > /proc/sys/user/max_inotify_watches &&`;
  const needsNamespace = ({ skip }: TestContext) => {
    try {
      execFileSync("unshare", ["-Ur", "sh", "-c", "echo 3 > /proc/sys/user/max_inotify_watches"], { stdio: "ignore" });
    } catch {
      skip("no user namespace can be created here, or it has no limits of its own");
    }
  };

  it("the server polls, reports it, and misses nothing", LONG, async (test) => {
    needsNamespace(test);
    const server = await new Server(limitTo(2)).ready();
    await until(async () => (await server.codes()).includes("polling"));
    expect(server.stderr.match(/fs\.inotify\.max_user_watches/g)?.length).toBe(1);
    begin("in a folder that is not watched");
    await until(async () => (await server.prompts()).includes("in a folder that is not watched"));
    const { problems } = await server.get<{ problems: { code: string }[] }>("/api/doctor");
    expect(problems.map(({ code }) => code)).toContain("folders-not-watched");
    const doctor = new Run(["doctor"], limitTo(2));
    await doctor.exit;
    expect(doctor.stdout).toContain("folders-not-watched");
  });
});
