import type { PidMark } from "../../core/observation.ts";

/** What one operating system tells about processes and the files they hold. Cheap enough to be asked for every thread. */
export interface System {
  /** When the process with this number began. `unknown`: it exists, but the system does not say since when. */
  process(pid: number): Birth | "gone" | "unknown";
  /** Whether the birth is the one that a product wrote down; null where the two cannot be compared. */
  isBirth(birth: Birth, written: string): boolean | null;
  /** Whether pids of this domain, as products write it down, are pids of this system. */
  isOwnDomain(domain: string): boolean;
  /** How a process that was just started is recognised later. */
  mark(pid: number): Pick<PidMark, "birth" | "domain">;
  /** Processes that have the file open for writing. Empty: there is certainly none. */
  writers(path: string): readonly number[] | "unknown";
  /** Whether a process holds a lock on the file. Looked up, never tried: trying could keep a product from getting its own lock. */
  lock(path: string): "alive" | "gone" | "unknown";
  /** How each of these is found out here, for `retinue doctor`. */
  readonly means: Means;
}

export interface Means {
  readonly processes: string;
  readonly writers: string;
  readonly locks: string;
}

export interface Birth {
  /** Epoch milliseconds, as exact as the system tells. */
  readonly at: number;
  /** In the system's own unit, where that is more exact. */
  readonly ticks?: string;
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

/** Whether other users' processes could have the file open without our seeing them. */
export const isOwnFile = (uid: number) => process.getuid === undefined || process.getuid() === 0 || process.getuid() === uid;
