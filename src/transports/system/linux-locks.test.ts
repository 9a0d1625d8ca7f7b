import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { lockHolder } from "./linux-locks.ts";

function lockFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "retinue-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "a.lock");
  writeFileSync(path, "");
  return path;
}

describe("the holder of a lock", () => {
  it("is gone if the file is", () => expect(lockHolder("/nowhere/a.lock")).toBe("gone"));

  it("is unknown if the system does not report it", () => expect(lockHolder(lockFile(), () => null)).toBe("unknown"));

  it("is identified by inode and device", ({ skip }) => {
    skip(process.platform !== "linux", "devices have other numbers elsewhere");
    const path = lockFile();
    const { ino, dev } = statSync(path);
    const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & ~0xff)].map((n) =>
      n.toString(16).padStart(2, "0"),
    );
    const line = (rest: string) => () => `1: POSIX  ADVISORY  READ 12 00:01:77 0 EOF\n2: ${rest}\n`;
    expect(lockHolder(path, line(`FLOCK  ADVISORY  WRITE 999999999 ${major}:${minor}:${ino} 0 EOF`))).toBe("alive");
    expect(lockHolder(path, line(`FLOCK  ADVISORY  WRITE 999999999 ${major}:${minor}:${ino + 1} 0 EOF`))).toBe("gone");
    // A file with the same inode on another device.
    expect(lockHolder(path, line(`FLOCK  ADVISORY  WRITE 999999999 fe:77:${ino} 0 EOF`))).toBe("gone");
    expect(lockHolder(path, line(`-> FLOCK  ADVISORY  WRITE 999999999 ${major}:${minor}:${ino} 0 EOF`))).toBe("gone");
  });

  it("follows a real process", async ({ skip }) => {
    skip(process.platform !== "linux", "only Linux has /proc/locks");
    const path = lockFile();
    expect(lockHolder(path)).toBe("gone");
    const child = spawn("flock", ["-n", path, "sleep", "30"], { stdio: "ignore", detached: true });
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await expect.poll(() => lockHolder(path)).toBe("alive");
    process.kill(-(child.pid as number), "SIGKILL");
    await ended;
    await expect.poll(() => lockHolder(path)).toBe("gone");
  });
});
