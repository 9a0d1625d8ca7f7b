import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PidMark, ProcessMark } from "../core/facts/observation.ts";
import { livenessOn } from "./processes.ts";
import { systemOf } from "./system/index.ts";

const isLinux = process.platform === "linux";
const isWindows = process.platform === "win32";

/** Bypasses the cache that systems other than Linux keep for the output of their tools. */
const processLiveness = (mark: ProcessMark) => livenessOn(systemOf(process.platform))(mark);

let child: ChildProcess;
beforeEach(async () => {
  child = spawn(process.execPath, ["-e", "process.stdout.write('up'); setInterval(() => {}, 1000)"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  // It is certainly running once it has printed something.
  if (child.stdout !== null) await once(child.stdout, "data");
});
afterEach(() => end());

async function end() {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGKILL");
  await gone;
}

const mark = (more: Partial<PidMark> = {}): PidMark => ({
  pid: child.pid ?? 0,
  birth: null,
  domain: null,
  startedAt: null,
  ...more,
});

/** Field 22 of /proc/<pid>/stat: the start time in clock ticks, as products record it. */
function birth(): string {
  const stat = readFileSync(`/proc/${child.pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
}

describe("a process", () => {
  it("is alive until it is killed", async () => {
    expect(processLiveness(mark())).toBe("alive");
    await end();
    expect(processLiveness(mark())).toBe("gone");
  });

  it("is the recorded one if its start time is the recorded one", () => {
    const born = isLinux ? birth() : "1";
    expect(processLiveness(mark({ birth: born }))).toBe("alive");
  });

  it("is another one with the same pid if it started at another time", () => {
    // Elsewhere this is not a start time, and the start of the thread decides.
    expect(processLiveness(mark({ birth: "1" }))).toBe(isLinux ? "gone" : "alive");
  });

  it("is another one with the same pid if it started long after the thread", () => {
    const hour = 3_600_000;
    expect(processLiveness(mark({ startedAt: Date.now() + hour }))).toBe("alive");
    expect(processLiveness(mark({ startedAt: Date.now() - hour }))).toBe("gone");
  });

  it("is another one with the same pid if it started long before the record of its start", () => {
    const hour = 3_600_000;
    expect(processLiveness(mark({ startedAt: Date.now() + hour, bornAfter: Date.now() + hour }))).toBe("gone");
    expect(processLiveness(mark({ startedAt: Date.now(), bornAfter: Date.now() - hour }))).toBe("alive");
  });

  it("of another user is found", ({ skip }) => {
    skip(isWindows, "Windows has no process 1");
    expect(processLiveness({ pid: 1, birth: null, domain: null, startedAt: null })).toBe("alive");
  });

  it("that is a zombie is gone", async ({ skip }) => {
    skip(isWindows, "Windows has no zombies");
    // The shell starts a child and becomes a program that never waits for it.
    const parent = spawn("/bin/sh", ["-c", "true & echo $!; exec sleep 30"], { stdio: ["ignore", "pipe", "ignore"] });
    const [words] = (await once(parent.stdout, "data")) as [Buffer];
    await expect.poll(() => processLiveness(mark({ pid: Number(String(words).trim()) }))).toBe("gone");
    parent.kill("SIGKILL");
  });

  it.each([0, -1, 2 ** 31, 1.5, Number.NaN])("%d is not a pid", (pid) => {
    expect(processLiveness(mark({ pid }))).not.toBe("alive");
  });
});

describe("a process of another machine or container", () => {
  it.each(["linux:0123456789abcdef:pid:[1]", "linux::pid:[1]", "plan9:x", "nonsense"])(
    "is unknown here: %s",
    (domain) => {
      expect(processLiveness(mark({ domain }))).toBe("unknown");
    },
  );

  it("is known here if this is that machine and container", () => {
    const here = isLinux
      ? `linux:00000000000000000000000000000000:${readlinkSync("/proc/self/ns/pid")}`
      : `${process.platform}:x`;
    expect(processLiveness(mark({ domain: here }))).toBe("alive");
  });
});

describe("the process that has a file open", () => {
  const folder = mkdtempSync(join(tmpdir(), "retinue-holder-"));
  afterAll(() => rmSync(folder, { recursive: true }));
  const holder = (path: string) => processLiveness({ holds: path });
  const open = async (name: string, flags: string) => {
    const path = join(folder, name);
    writeFileSync(path, "");
    const script = `require("node:fs").openSync(${JSON.stringify(path)}, "${flags}"); process.stdout.write("up"); setInterval(() => {}, 1000)`;
    const other = spawn(process.execPath, ["-e", script], { stdio: ["ignore", "pipe", "ignore"] });
    await once(other.stdout, "data");
    return { path, other };
  };

  it("is found if it can write, and is gone when it has ended", async () => {
    const { path, other } = await open("written", "r+");
    expect(holder(path)).toEqual(isWindows ? "unknown" : { pid: other.pid, startedAt: expect.any(Number) });
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    await expect.poll(() => holder(path), { timeout: 3_000 }).toBe(isWindows ? "unknown" : "gone");
  });

  it("is gone if processes only read the file, or if the file does not exist", async () => {
    const { path, other } = await open("read", "r");
    expect(holder(path)).toBe(isWindows ? "unknown" : "gone");
    expect(holder(join(folder, "missing"))).toBe("gone");
    other.kill("SIGKILL");
  });
});

describe("a kernel thread", () => {
  it("is not the process of an agent", ({ skip }) => {
    const [pid, command] = [2, "/proc/2/comm"];
    const isKernelThread = existsSync(command) && readFileSync(command, "utf8").trim() === "kthreadd";
    skip(!isKernelThread, "containers and systems other than Linux show no kernel threads");
    expect(processLiveness({ ...mark(), pid })).toBe("gone");
  });
});
