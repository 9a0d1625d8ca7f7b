import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/** The parts of Linux's list of locks that tell who holds one: `1: FLOCK  ADVISORY  WRITE 1234 08:02:5678 0 EOF`; one that waits has `->` before its kind. */
const HELD = /^\d+: (?:FLOCK|POSIX|OFDLCK)\s+\S+\s+\S+\s+(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /i;

/** Whether a process holds a lock on the file. `list` is what the operating system tells of all locks; null where it tells nothing. */
export function lockHolder(path: string, list: () => string | null = allLocks): "alive" | "gone" | "unknown" {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return "gone";
  const locks = list();
  if (locks === null) return "unknown";
  const held = locks.split("\n").flatMap((line) => {
    const [, pid, major, minor, inode] = HELD.exec(line) ?? [];
    return inode === String(file.ino) ? [{ pid: Number(pid), device: deviceOf(Number.parseInt(major ?? "", 16), Number.parseInt(minor ?? "", 16)) }] : [];
  });
  // Layered file systems show another device here than to whoever asks for the file's; then the holder itself is looked at.
  return held.some(({ pid, device }) => device === file.dev || hasOpen(pid, path)) ? "alive" : "gone";
}

function allLocks(): string | null {
  try {
    return readFileSync("/proc/locks", "utf8");
  } catch {
    // Hidden in hardened containers.
    return null;
  }
}

/** The number that `stat` gives for a device. */
const deviceOf = (major: number, minor: number) => (minor & 0xff) + major * 0x100 + (minor & ~0xff) * 0x1000;

function hasOpen(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path);
  } catch {
    // It ended in the meantime, or is somebody else's.
    return false;
  }
}
