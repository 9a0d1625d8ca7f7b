import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";

/**
 * A held lock in /proc/locks: `1: FLOCK  ADVISORY  WRITE 1234 08:02:5678 0 EOF`; a waiting one has `->` before its
 * kind.
 */
const HELD = /^\d+: (?:FLOCK|POSIX|OFDLCK)\s+\S+\s+\S+\s+(-?\d+) ([0-9a-f]+):([0-9a-f]+):(\d+) /i;

/** Whether a process holds a lock on the file. `list` is the content of /proc/locks; null if unavailable. */
export function lockHolder(path: string, list: () => string | null = allLocks): "alive" | "gone" | "unknown" {
  const pids = holders(path, list);
  return pids === null ? "unknown" : pids.length > 0 ? "alive" : "gone";
}

/** The process that holds a lock on the file; null if none, or if that is unknown. */
export const lockHolderPid = (path: string): number | null => holders(path, allLocks)?.[0] ?? null;

/** Null if locks cannot be listed. */
function holders(path: string, list: () => string | null): readonly number[] | null {
  const file = statSync(path, { throwIfNoEntry: false });
  if (file === undefined) return [];
  const locks = list();
  if (locks === null) return null;
  const held = locks.split("\n").flatMap((line) => {
    const [, pid, major, minor, inode] = HELD.exec(line) ?? [];
    return inode === String(file.ino)
      ? [{ pid: Number(pid), device: deviceOf(Number.parseInt(major ?? "", 16), Number.parseInt(minor ?? "", 16)) }]
      : [];
  });
  // Layered file systems report different devices here and in stat; then the holder's open files are checked.
  return held.filter(({ pid, device }) => device === file.dev || hasOpen(pid, path)).map(({ pid }) => pid);
}

function allLocks(): string | null {
  try {
    return readFileSync("/proc/locks", "utf8");
  } catch {
    // Hidden in hardened containers.
    return null;
  }
}

/** The device number as `stat` returns it. */
const deviceOf = (major: number, minor: number) => (minor & 0xff) + major * 0x100 + (minor & ~0xff) * 0x1000;

function hasOpen(pid: number, path: string): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`) === path);
  } catch {
    // The process ended, or belongs to another user.
    return false;
  }
}
