import type { PidMark } from "../../core/facts/observation.ts";

/** What an operating system reports about processes and the files they hold. Cheap enough to call for every thread. */
export interface System {
  /** The start time of a process. `unknown`: it exists, but its start time is not available. */
  process(pid: number): Birth | "gone" | "unknown";
  /** Whether the start time equals the one that a product recorded; null if they cannot be compared. */
  isBirth(birth: Birth, written: string): boolean | null;
  /** Whether pids of this domain, as recorded by products, are pids of this system. */
  isOwnDomain(domain: string): boolean;
  /** A mark by which a process that was just started is recognised later. */
  mark(pid: number): Pick<PidMark, "birth" | "domain">;
  /** Processes that have the file open for writing. Empty: there is certainly none. */
  writers(path: string): readonly number[] | "unknown";
  /** Whether a process holds a lock on the file. Never tries to lock, which could block the product. */
  lock(path: string): "alive" | "gone" | "unknown";
  /** How each of these is determined, for `retinue doctor`. */
  readonly means: Means;
}

export interface Means {
  readonly processes: string;
  readonly writers: string;
  readonly locks: string;
}

export interface Birth {
  /** Epoch milliseconds, as exact as the system reports. */
  readonly at: number;
  /** In the system's own unit, if that is more exact. */
  readonly ticks?: string;
}

/** Whether a process with this pid exists. */
export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** False if processes of other users could have the file open without being visible. */
export const isOwnFile = (uid: number) =>
  process.getuid === undefined || process.getuid() === 0 || process.getuid() === uid;
