import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";

/** The resources of a process at one moment. */
export interface Sample {
  /** Seconds since the start. */
  readonly at: number;
  readonly rss: number;
  readonly heap: number;
  /** Open file descriptors, inotify watches, and active resources of the event loop. */
  readonly files: number;
  readonly watches: number;
  readonly handles: number;
  /** Seconds of CPU so far, user and system. */
  readonly cpu: number;
  readonly records: number;
}

/** Kernel clock ticks per second, on every Linux. */
const TICKS = 100;

/** Seconds of CPU of a process, or of its main thread only. */
export function cpuOf(pid: number, of: "process" | "main thread" = "process"): number {
  // The command name may contain spaces and parentheses.
  const fields = readFileSync(of === "process" ? `/proc/${pid}/stat` : `/proc/${pid}/task/${pid}/stat`, "utf8")
    .replace(/^.*\) /s, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}

export const rssOf = (pid: number) =>
  1_024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
export const peakOf = (pid: number) =>
  1_024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

function watchesOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fdinfo`).reduce((sum, name) => {
    try {
      return sum + (readFileSync(`/proc/${pid}/fdinfo/${name}`, "utf8").match(/^inotify /gm)?.length ?? 0);
    } catch {
      // Closed in the meantime.
      return sum;
    }
  }, 0);
}

/** Requires `inside.ts` to be loaded in the child. */
export async function sample(
  child: ChildProcess,
  at: number,
  records: number,
  message: "how" | "collect" = "how",
): Promise<Sample> {
  const pid = child.pid ?? 0;
  child.send(message);
  const [report] = (await once(child, "message")) as [{ heapUsed: number; external: number; handles: number }];
  const files = readdirSync(`/proc/${pid}/fd`).length;
  return {
    at,
    rss: rssOf(pid),
    heap: report.heapUsed,
    files,
    watches: watchesOf(pid),
    handles: report.handles,
    cpu: cpuOf(pid),
    records,
  };
}
