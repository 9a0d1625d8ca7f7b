import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import type { Holder, Liveness } from "../core/liveness.ts";
import type { PidMark, ProcessMark } from "../core/observation.ts";
import { lockLiveness } from "./locks.ts";

const LINUX_TICKS_PER_SECOND = 100;

/** Is the process there that left the mark? */
export function processLiveness(mark: ProcessMark): ReturnType<Liveness> {
  if ("lock" in mark) return lockLiveness(mark.lock);
  return "holds" in mark ? holderOf(mark.holds) : pidLiveness(mark);
}

/** How a process of this machine that was just started is known later on. */
export function markOf(pid: number): PidMark {
  const isLinux = process.platform === "linux";
  const domain = isLinux ? `linux:${ownMachine() ?? ""}:${ownNamespace() ?? ""}` : process.platform;
  return { pid, birth: isLinux ? (linuxBirth(pid)?.ticks ?? null) : null, domain, startedAt: Date.now() };
}

/** Is it the one that was marked? Pids are used again, so a birth time must fit where one is known. */
function pidLiveness(mark: PidMark): "alive" | "gone" | "unknown" {
  if (!isOurDomain(mark.domain)) return "unknown";
  // To a signal, 0 and below mean whole groups of processes.
  if (!Number.isInteger(mark.pid) || mark.pid <= 0) return "gone";
  if (!exists(mark.pid)) return "gone";
  if (process.platform !== "linux") return "alive";
  const born = linuxBirth(mark.pid);
  if (born === null) return "gone";
  if (mark.birth !== null) return born.ticks === mark.birth ? "alive" : "gone";
  // Without a birth mark: a process that began after the thread's did is another one.
  return mark.startedAt === null || born.at <= mark.startedAt + 5_000 ? "alive" : "gone";
}

/** Whether any process has this number now. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Not allowed to signal it means that it is there.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

function linuxBirth(pid: number): { ticks: string; at: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command name may hold blanks and brackets; the fields after the last bracket do not.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, ticks] = [fields[0], fields[19]];
    // A zombie has ended and only waits to be collected.
    if (ticks === undefined || state === "Z" || state === "X") return null;
    return { ticks, at: bootTime() + (Number(ticks) * 1000) / LINUX_TICKS_PER_SECOND };
  } catch {
    // It ended between the two looks.
    return null;
  }
}

function bootTime(): number {
  const line = /^btime (\d+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1];
  return Number(line ?? 0) * 1000;
}

/** A pid means something only on its own machine and in its own container: `linux:<machine>:pid:[<namespace>]`. */
function isOurDomain(domain: string | null): boolean {
  if (domain === null) return true;
  const [system, machine, ...namespace] = domain.split(":");
  if (system === "linux" && process.platform === "linux") return namespace.join(":") === ownNamespace() && (isUnstated(machine) || machine === ownMachine());
  return system === process.platform;
}

/** Where there is no machine id, or it was taken out, the birth time still tells a foreign pid from ours. */
const isUnstated = (machine: string | undefined) => machine === undefined || /^0*$/.test(machine) || ownMachine() === null;

function ownNamespace(): string | null {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Hardened kernels hide it; then no foreign pid is trusted.
    return null;
  }
}

function ownMachine(): string | null {
  try {
    return readFileSync("/etc/machine-id", "utf8").trim();
  } catch {
    // Containers often have none.
    return null;
  }
}

/** A look at all processes takes some milliseconds, and many threads ask at the same moment. */
const HOLDER_MS = 500;
const holders = new Map<string, { readonly at: number; readonly is: ReturnType<Liveness> }>();

/** Which process has the file open to write to it. Readers, like ourselves, do not count. */
function holderOf(path: string): ReturnType<Liveness> {
  const known = holders.get(path);
  if (known !== undefined && performance.now() - known.at < HOLDER_MS) return known.is;
  const is = process.platform === "linux" ? linuxHolder(path) : "unknown";
  holders.set(path, { at: performance.now(), is });
  return is;
}

/** Of several the one that began first: it may be at work on anything that another one is. */
function linuxHolder(path: string): ReturnType<Liveness> {
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (file === undefined) return "gone";
  // What another user's processes have open is not shown to us.
  const uid = process.getuid?.();
  const isOurs = uid === 0 || file.uid === uid;
  const real = realpathSync(path);
  const found: Holder[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name) || Number(name) === process.pid || !writes(name, real)) continue;
    found.push({ pid: Number(name), startedAt: linuxBirth(Number(name))?.at ?? null });
  }
  const [oldest] = found.sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0));
  return oldest ?? (isOurs ? "gone" : "unknown");
}

const ACCESS_MODE = 0o3;

function writes(pid: string, path: string): boolean {
  return attempt(() => readdirSync(`/proc/${pid}/fd`), []).some((fd) => {
    if (attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`), "") !== path) return false;
    const flags = /^flags:\s*([0-7]+)$/m.exec(attempt(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"), ""))?.[1];
    return (Number.parseInt(flags ?? "0", 8) & ACCESS_MODE) !== 0;
  });
}

function attempt<T>(look: () => T, otherwise: T): T {
  try {
    return look();
  } catch {
    // It ended meanwhile, or is not ours to look into.
    return otherwise;
  }
}
