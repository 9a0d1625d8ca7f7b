import { statSync } from "node:fs";
import type { PidMark, ProcessMark } from "../core/facts/observation.ts";
import type { Holder, Liveness } from "../core/link/liveness.ts";
import { system } from "./system/index.ts";
import type { System } from "./system/system.ts";

/** A process that started this much later than its thread is another one with the same pid. */
const GRACE_MS = 5_000;
/** How long a process may run before it records that it started. */
const STARTUP_MS = 60_000;
/** How long a result is reused: on Linux a scan of all processes takes milliseconds, and many threads need it at once. */
const WRITERS_MS = 500;

/** Whether the process that left a mark is running, as far as the system reports it. */
export function livenessOn(of: System): Liveness {
  const writers = new Map<string, { readonly at: number; readonly is: ReturnType<Liveness> }>();
  return (mark: ProcessMark) => {
    if ("pid" in mark) return pidLiveness(of, mark);
    const path = "lock" in mark ? mark.lock : mark.holds;
    if ("lock" in mark) return ofFile(path, () => of.lock(path));
    const known = writers.get(path);
    if (known !== undefined && performance.now() - known.at < WRITERS_MS) return known.is;
    const is = ofFile(path, () => oldestWriter(of, path));
    writers.set(path, { at: performance.now(), is });
    return is;
  };
}

export const processLiveness = livenessOn(system);

/** A mark by which a process that was just started is recognised later. */
export const markOf = (pid: number): PidMark => ({ pid, ...system.mark(pid), startedAt: Date.now() });

/** Pids are reused, so the start time must match. */
function pidLiveness(
  of: System,
  { pid, birth: written, domain, startedAt, bornAfter }: PidMark,
): "alive" | "gone" | "unknown" {
  if (domain !== null && !of.isOwnDomain(domain)) return "unknown";
  // For kill(), 0 and negative numbers mean process groups.
  if (!Number.isInteger(pid) || pid <= 0) return "gone";
  const birth = of.process(pid);
  if (typeof birth === "string") return birth;
  const isSame = written === null ? null : of.isBirth(birth, written);
  if (isSame !== null) return isSame ? "alive" : "gone";
  if (bornAfter !== undefined && birth.at < bornAfter - STARTUP_MS) return "gone";
  return startedAt === null || birth.at <= startedAt + GRACE_MS ? "alive" : "gone";
}

/** A deleted file has no holder; for an unreadable one it is unknown. */
function ofFile(path: string, check: () => ReturnType<Liveness>): ReturnType<Liveness> {
  try {
    return statSync(path, { throwIfNoEntry: false }) === undefined ? "gone" : check();
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? "gone" : "unknown";
  }
}

/**
 * The process that writes to the file; of several, the one that started first, because it may run any thread. Readers
 * and our own process do not count.
 */
function oldestWriter(of: System, path: string): ReturnType<Liveness> {
  const pids = of.writers(path);
  if (pids === "unknown") return "unknown";
  const found = pids.filter((pid) => pid !== process.pid).map((pid): Holder => ({ pid, startedAt: startOf(of, pid) }));
  const [oldest] = found.sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
  return oldest ?? "gone";
}

function startOf(of: System, pid: number): number | null {
  const birth = of.process(pid);
  return typeof birth === "string" ? null : birth.at;
}
