import type { AgentKey } from "../facts/ids.ts";
import type { Observation, PidMark, ProcessMark } from "../facts/observation.ts";
import { cached } from "../tools/collections.ts";
import type { GatheredAgent } from "./gather.ts";
import type { ProcessView } from "./status.ts";

/** Whether a process is running. An argument, like the clock, so that linking stays pure. */
export type Liveness = (process: ProcessMark) => "alive" | "gone" | "unknown" | Holder;

/** The process that has a file open, if the mark names only the file. */
export interface Holder {
  readonly pid: number;
  readonly startedAt: number | null;
}

/** The process of each thread: the newest living mark, else what dead or missing ones imply. */
export function processViews(
  facts: readonly Observation[],
  infoOf: (key: AgentKey) => GatheredAgent,
  liveness: Liveness,
): (thread: AgentKey) => ProcessView {
  const seen = Map.groupBy(
    facts.filter((f) => f.type === "process-seen"),
    (f) => f.thread,
  );
  const view = (thread: AgentKey): ProcessView => {
    const marks = (seen.get(thread) ?? []).map((f) => {
      const found = liveness(f.process);
      return typeof found === "string"
        ? { ...f, is: found }
        : { ...f, process: { ...UNMARKED, ...found }, is: "alive" as const };
    });
    const newestFirst = marks.sort(
      (a, b) => startOf(b.process) - startOf(a.process) || pidOf(b.process) - pidOf(a.process),
    );
    const alive = newestFirst.find((m) => m.is === "alive");
    if (alive !== undefined)
      return {
        is: "alive",
        who: nameOf(alive.process),
        startedAt: startOf(alive.process) || null,
        waitingFor: alive.waitingFor,
      };
    if (newestFirst.some((m) => m.is === "unknown")) return { is: "unknown" };
    const [gone] = newestFirst;
    if (gone !== undefined) return { is: "gone", why: goneText(gone.process) };
    return infoOf(thread).marksProcess ? { is: "gone", why: "its process is no longer running" } : { is: "unknown" };
  };
  const views = new Map<AgentKey, ProcessView>();
  return (thread) => cached(views, thread, () => view(thread));
}

/** Defaults for a process that was not found by pid. */
const UNMARKED = { birth: null, domain: null };

const isPid = (mark: ProcessMark): mark is PidMark => "pid" in mark;
const startOf = (mark: ProcessMark) => (isPid(mark) ? (mark.startedAt ?? 0) : 0);
const pidOf = (mark: ProcessMark) => (isPid(mark) ? mark.pid : 0);
const nameOf = (mark: ProcessMark) =>
  isPid(mark) ? `pid ${mark.pid}` : "lock" in mark ? "the holder of its lock" : "one that has its database open";
function goneText(mark: ProcessMark): string {
  if (isPid(mark)) return `its process (pid ${mark.pid}) has ended`;
  return "lock" in mark ? "no process holds the lock of the thread" : "no process has its database open";
}
