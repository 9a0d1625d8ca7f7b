import { lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync } from "node:fs";
import { lockHolder } from "./linux-locks.ts";
import { mountOf } from "./linux-mounts.ts";
import { type Birth, isOwnFile, type System } from "./system.ts";

const TICKS_PER_SECOND = 100;

/**
 * Linux: `/proc` shows everything about the user's own processes. Processes of other systems may use files on shared
 * mounts (WSL's `/mnt/c`) without being visible.
 */
export const linux: System = {
  process: (pid) => birthOf(pid) ?? "gone",
  isBirth: (birth, written) => birth.ticks === written,
  isOwnDomain,
  mark: (pid) => ({
    birth: birthOf(pid)?.ticks ?? null,
    domain: `linux:${ownMachine() ?? ""}:${ownNamespace() ?? ""}`,
  }),
  writers(path) {
    const real = realpathSync(path);
    const pids = attempt(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name) && writes(name, real));
    if (pids.length === 0 && (!isOwnFile(lstatSync(real).uid) || mountOf(real).isShared)) return "unknown";
    return pids.map(Number);
  },
  lock(path) {
    const is = lockHolder(path);
    return is === "gone" && mountOf(path).isShared ? "unknown" : is;
  },
  means: {
    processes: "number and start time of each process, from /proc",
    writers:
      "files that processes of this user have open, from /proc; not on mounts shared with another system, such as /mnt/c of WSL",
    locks: "/proc/locks; not on mounts shared with another system",
  },
};

/** `PF_KTHREAD` in the flags of a process. */
const KERNEL_THREAD = 0x00200000;

function birthOf(pid: number): Birth | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command name may contain spaces and parentheses; the fields after the last parenthesis do not.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, ticks] = [fields[0], fields[19]];
    // A zombie has ended.
    // A recorded pid of another machine or container may be that of a kernel thread here, which runs no agent.
    const isKernel = (Number(fields[6]) & KERNEL_THREAD) !== 0;
    if (ticks === undefined || state === "Z" || state === "X" || isKernel) return null;
    return { ticks, at: bootTime() + (Number(ticks) * 1000) / TICKS_PER_SECOND };
  } catch {
    // No such process.
    return null;
  }
}

function bootTime(): number {
  const line = /^btime (\d+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1];
  return Number(line ?? 0) * 1000;
}

/** A pid is valid only on its machine and in its container: `linux:<machine>:pid:[<namespace>]`. */
function isOwnDomain(domain: string): boolean {
  const [system, machine, ...namespace] = domain.split(":");
  return (
    system === "linux" && namespace.join(":") === ownNamespace() && (isUnstated(machine) || machine === ownMachine())
  );
}

/** Without a machine id, the start time still distinguishes a foreign pid. */
const isUnstated = (machine: string | undefined) =>
  machine === undefined || /^0*$/.test(machine) || ownMachine() === null;

function ownNamespace(): string | null {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    // Hidden by hardened kernels; then no foreign pid is trusted.
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

const ACCESS_MODE = 0o3;

function writes(pid: string, path: string): boolean {
  return attempt(() => readdirSync(`/proc/${pid}/fd`), []).some((fd) => {
    if (attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`), "") !== path) return false;
    const flags = /^flags:\s*([0-7]+)$/m.exec(
      attempt(() => readFileSync(`/proc/${pid}/fdinfo/${fd}`, "utf8"), ""),
    )?.[1];
    return (Number.parseInt(flags ?? "0", 8) & ACCESS_MODE) !== 0;
  });
}

function attempt<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch {
    // The process ended, or is not accessible.
    return otherwise;
  }
}
