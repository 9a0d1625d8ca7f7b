/**
 * All systems are tested with recorded output of their tools (fixtures/systems describes its origin); tools of this
 * machine are run for real.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { livenessOn } from "../processes.ts";
import { systemOf } from "./index.ts";
import { mountOf, mountsOf } from "./linux-mounts.ts";
import { macos, parseLsof, parsePs } from "./macos.ts";
import { Polled, type Printed, programs, type Runner, type Tool } from "./tool.ts";
import { parseProcesses, windows } from "./windows.ts";

/** The output of a tool, without the lines that describe its origin. */
function fixture(name: string): string {
  const text = readFileSync(join(import.meta.dirname, "../../../fixtures/systems", name), "utf8");
  return text.replace(/^(?:#.*\r?\n)+/, "");
}
const printed = (stdout: string, more: Partial<Printed> = {}): Printed => ({ code: 0, stdout, stderr: "", ...more });

/** Returns recorded output for every call of a tool, and counts the calls. */
function recorded(print: (tool: Tool) => Printed | null) {
  const calls: { readonly kind: "now" | "later"; readonly tool: Tool; readonly answer: () => void }[] = [];
  const runner: Runner = {
    now: (tool) => {
      calls.push({ kind: "now", tool, answer: () => {} });
      return print(tool);
    },
    later: (tool, done) => void calls.push({ kind: "later", tool, answer: () => done(print(tool)) }),
  };
  return { runner, calls };
}

const STARTED = Date.parse("2026-09-11T09:43:50.687Z");
const BIRTH = Date.parse("2026-09-11T09:43:48Z");
/** Replaces the pid of the recorded process by our own, the only one that is sure to exist. */
const asOurs = (text: string) => text.replaceAll("14779", String(process.pid));
const mark = (more: object = {}) => ({ pid: process.pid, birth: null, domain: null, startedAt: STARTED, ...more });

describe("macOS", () => {
  it("returns the start of each process, and which are zombies", () => {
    const found = parsePs(printed(asOurs(fixture("macos-ps.txt"))));
    expect(found?.get(process.pid)).toEqual({ at: BIRTH });
    expect(found?.get(900)).toEqual({ at: Date.parse("2026-08-08T07:11:34Z") });
    expect(found?.get(15002)).toBeNull();
    expect(found?.size).toBe(6);
  });

  it.each([
    ["a list without our own process", fixture("macos-ps.txt")],
    ["a list in another language", asOurs(fixture("macos-ps-german.txt"))],
    ["nothing", ""],
  ])("rejects %s", (_, text) => expect(parsePs(printed(text))).toBeNull());

  const system = (ps: string | null, lsof: Printed | null = printed("")) =>
    recorded(({ program }) => (program.endsWith("ps") ? (ps === null ? null : printed(ps)) : lsof));

  it.each([
    ["alive", { birth: "Fri Sep 11 09:43:48 2026", domain: "darwin" }],
    ["alive", { birth: null }],
    // Local time, an hour east of UTC: the start of the thread decides.
    ["alive", { birth: "Fri Sep 11 10:43:48 2026" }],
    ["gone", { birth: "Thu Sep 10 08:00:00 2026", startedAt: STARTED - 86_400_000 }],
    ["gone", { startedAt: STARTED - 86_400_000 }],
    ["gone", { pid: 2 ** 22 + 12345 }],
    ["unknown", { domain: "win32:desk" }],
  ])("a process is %s with %o", (is, more) => {
    const { runner } = system(asOurs(fixture("macos-ps.txt")));
    expect(livenessOn(macos(runner))(mark(more))).toBe(is);
  });

  it("does not know a process if ps fails or does not list it", () => {
    expect(livenessOn(macos(system(null).runner))(mark())).toBe("unknown");
    expect(livenessOn(macos(system(asOurs(fixture("macos-ps.txt"))).runner))(mark({ pid: process.ppid }))).toBe(
      "unknown",
    );
  });

  it("runs ps once for all threads, and in the background from then on", () => {
    const { runner, calls } = system(asOurs(fixture("macos-ps.txt")));
    const liveness = livenessOn(macos(runner));
    for (let i = 0; i < 1_000; i += 1) expect(liveness(mark({ startedAt: STARTED + i }))).toBe("alive");
    expect(calls.map((call) => call.kind)).toEqual(["now"]);
  });

  it("returns the files that are open for writing", () => {
    expect(parseLsof(printed(fixture("macos-lsof.txt")))?.filter((one) => one.isWritten)).toEqual([
      { pid: 14779, device: 0x1000004, inode: 187550734, isWritten: true },
      { pid: 14779, device: 0x1000004, inode: 187550735, isWritten: true },
    ]);
    expect(parseLsof(printed("", { code: 1 }))).toEqual([]);
    expect(parseLsof(printed("", { code: 1, stderr: "lsof: status error on /x" }))).toBeNull();
  });

  /** Files of this test in place of the recorded ones. */
  function held(pid: number, names: readonly string[]) {
    const folder = mkdtempSync(join(tmpdir(), "retinue-lsof-"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const name of names) writeFileSync(join(folder, name), "");
    const { dev, ino } = statSync(join(folder, names[0] as string));
    const text = fixture("macos-lsof.txt")
      .replaceAll("187550734", String(ino))
      .replaceAll("0x1000004", `0x${dev.toString(16)}`)
      .replaceAll("14779", String(pid));
    return { folder, ...system(asOurs(fixture("macos-ps.txt")).replace("352", String(process.ppid)), printed(text)) };
  }

  it("finds the process that writes to a file, and queries by folder", () => {
    const { folder, runner, calls } = held(process.ppid, ["a", "b", "c"]);
    const liveness = livenessOn(macos(runner));
    expect(liveness({ holds: join(folder, "a") })).toEqual({
      pid: process.ppid,
      startedAt: Date.parse("2026-07-29T15:37:12Z"),
    });
    for (const name of ["b", "c"]) expect(liveness({ holds: join(folder, name) })).toBe("gone");
    expect(liveness({ lock: join(folder, "a") })).toBe("alive");
    expect(liveness({ lock: join(folder, "b") })).toBe("gone");
    expect(liveness({ lock: join(folder, "missing") })).toBe("gone");
    expect(calls.filter((call) => call.tool.program.endsWith("lsof"))).toHaveLength(1);
  });

  it("does not count our own process, and knows nothing without lsof", () => {
    const { folder, runner } = held(process.pid, ["a"]);
    expect(livenessOn(macos(runner))({ holds: join(folder, "a") })).toBe("gone");
    const { runner: without } = system(fixture("macos-ps.txt"), null);
    expect(livenessOn(macos(without))({ holds: join(folder, "a") })).toBe("unknown");
    expect(livenessOn(macos(without))({ lock: join(folder, "a") })).toBe("unknown");
  });

  // The same programs with the same flags, if they are installed.
  const places = { ps: "/bin/ps", lsof: ["/usr/sbin/lsof", "/usr/bin/lsof"].find((path) => existsSync(path)) ?? "" };

  it("sees real processes start and end with the ps of this machine", async ({ skip }) => {
    skip(!existsSync(places.ps), `no ${places.ps}`);
    const child = spawn(process.execPath, ["-e", "process.stdout.write('up'); setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    const liveness = livenessOn(macos(programs, places));
    const [pid, hour] = [child.pid ?? 0, 3_600_000];
    expect(liveness({ pid, birth: null, domain: null, startedAt: Date.now() })).toBe("alive");
    expect(liveness({ pid, birth: null, domain: null, startedAt: Date.now() - hour })).toBe("gone");
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    expect(liveness({ pid, birth: null, domain: null, startedAt: Date.now() })).toBe("gone");
  });

  it("sees real files open with the lsof of this machine", async ({ skip }) => {
    skip(places.lsof === "", "no lsof");
    const folder = mkdtempSync(join(tmpdir(), "retinue-lsof-"));
    mkdirSync(join(folder, "x"));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    for (const name of ["written", "read", "ours"]) writeFileSync(join(folder, "x", name), "");
    openSync(join(folder, "x", "ours"), "r+");
    const script = `const fs = require("node:fs"); fs.openSync("written", "r+"); fs.openSync("read", "r"); process.stdout.write("up"); setInterval(() => {}, 1000)`;
    const child = spawn(process.execPath, ["-e", script], {
      cwd: join(folder, "x"),
      stdio: ["ignore", "pipe", "ignore"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    const liveness = livenessOn(macos(programs, places));
    expect(liveness({ holds: join(folder, "x", "written") })).toEqual({
      pid: child.pid,
      startedAt: expect.any(Number),
    });
    expect(liveness({ holds: join(folder, "x", "read") })).toBe("gone");
    expect(liveness({ holds: join(folder, "x", "ours") })).toBe("gone");
    expect(liveness({ lock: join(folder, "x", "written") })).toBe("alive");
  });
});

describe("Windows", () => {
  const system = (text: string | null, readByte?: (path: string) => number) =>
    windows(recorded(() => (text === null ? null : printed(text))).runner, readByte);

  it.each(["windows-processes.json", "windows-processes-powershell-7.json"])(
    "returns the start of each process: %s",
    (name) => {
      expect(parseProcesses(printed(asOurs(fixture(name))))?.get(process.pid)?.at).toBe(
        Date.parse("2026-09-11T09:43:48.345Z"),
      );
    },
  );

  it.each([fixture("windows-blocked.txt"), fixture("windows-processes.json"), "", "null", "{}"])(
    "rejects other output: %s",
    (text) => {
      expect(parseProcesses(printed(text))).toBeNull();
    },
  );

  it("accepts a single process, which PowerShell does not put into a list", () => {
    expect(
      parseProcesses(printed(`{"ProcessId":${process.pid},"CreationDate":"\\/Date(5)\\/"}`))?.get(process.pid),
    ).toEqual({ at: 5 });
  });

  it.each([
    // 100-nanosecond steps since 1601, as Claude Code records it there.
    ["alive", { birth: "134335934283456780", domain: "win32:desk" }],
    ["gone", { birth: "134335934293456780" }],
    ["alive", { birth: "nonsense" }],
    ["gone", { startedAt: STARTED - 86_400_000 }],
    ["gone", { pid: 2 ** 22 + 12345 }],
    ["unknown", { domain: "linux::" }],
  ])("a process is %s with %o", (is, more) => {
    expect(livenessOn(system(asOurs(fixture("windows-processes.json"))))(mark(more))).toBe(is);
  });

  it("does not know a process if PowerShell fails", () => expect(livenessOn(system(null))(mark())).toBe("unknown"));

  it("does not know which process has a file open, and of a lock only that it is held", () => {
    const path = import.meta.filename;
    const refuses = (code: string) => () => {
      throw Object.assign(new Error(code), { code });
    };
    expect(livenessOn(system(""))({ holds: path })).toBe("unknown");
    expect(livenessOn(system("", refuses("EBUSY")))({ lock: path })).toBe("alive");
    expect(livenessOn(system("", refuses("EACCES")))({ lock: path })).toBe("unknown");
    expect(livenessOn(system("", () => 0))({ lock: path })).toBe("unknown");
    expect(livenessOn(system("", () => 1))({ lock: path })).toBe("gone");
    expect(livenessOn(system(""))({ lock: `${path}.missing` })).toBe("gone");
  });
});

describe("WSL", () => {
  const mounts = mountsOf(fixture("wsl2-mountinfo.txt"));

  it.each([
    ["/home/dev/.claude", false, false],
    ["/mnt/c", true, true],
    ["/mnt/c/Users/dev/.claude", true, true],
    ["/mnt/cc/x", false, false],
    ["/mnt/c/linux/x", false, false],
    ["/mnt/my share/x", true, false],
  ])("%s: shared with others: %s, Windows drive: %s", (path, isShared, isWindows) => {
    expect(mountOf(path, mounts)).toMatchObject({ isShared, isWindows });
  });

  it("treats the root of a sandbox as its own, whatever its file system", () => {
    expect(mountOf("/home/dev", mountsOf("1 0 0:1 / / rw - 9p none rw,trans=fd")).isShared).toBe(false);
  });
});

describe("another system", () => {
  it("knows only that a process with an unused pid is gone", () => {
    const liveness = livenessOn(systemOf("freebsd"));
    expect(liveness(mark())).toBe("unknown");
    expect(liveness(mark({ pid: 2 ** 22 + 12345 }))).toBe("gone");
    expect(liveness({ lock: import.meta.filename })).toBe("unknown");
  });
});

describe("a query to a tool", () => {
  const TOOL = { program: "x", args: [] };

  it("waits for the first result only, for a limited time, and then returns the last one during a new query", () => {
    let [clock, text] = [0, "first"];
    const { runner, calls } = recorded(() => printed(text));
    const polled = new Polled(
      TOOL,
      ({ stdout }) => stdout,
      runner,
      () => clock,
    );
    expect(polled.now()).toBe("first");
    text = "second";
    clock = 1_999;
    expect(polled.now()).toBe("first");
    clock = 2_000;
    expect([polled.now(), polled.now()]).toEqual(["first", "first"]);
    expect(calls.map((call) => call.kind)).toEqual(["now", "later"]);
    calls[1]?.answer();
    expect(polled.now()).toBe("second");
    // The status is unknown once the last result is too old; that never blocks again.
    clock += 100_000;
    expect(polled.now()).toBeNull();
    expect(calls.map((call) => call.kind)).toEqual(["now", "later", "later"]);
  });

  it("runs a slow tool less often", () => {
    let clock = 0;
    const { runner, calls } = recorded(() => {
      clock += 1_000;
      return printed("x");
    });
    const polled = new Polled(
      TOOL,
      ({ stdout }) => stdout,
      runner,
      () => clock,
    );
    polled.now();
    clock += 19_999;
    polled.now();
    expect(calls).toHaveLength(1);
    clock += 1;
    polled.now();
    expect(calls).toHaveLength(2);
  });

  it("survives a missing program and a failing one", async () => {
    const missing = { program: join(tmpdir(), "no-such-program"), args: [] };
    expect(programs.now(missing)).toBeNull();
    expect(await new Promise((resolve) => programs.later(missing, resolve))).toBeNull();
    const fails = {
      program: process.execPath,
      args: ["-e", "console.log(process.env.LC_ALL, process.env.TZ); process.exit(3)"],
    };
    expect(programs.now(fails)).toEqual({ code: 3, stdout: "C UTC0\n", stderr: "" });
    expect(await new Promise((resolve) => programs.later(fails, resolve))).toEqual({
      code: 3,
      stdout: "C UTC0\n",
      stderr: "",
    });
  });
});
