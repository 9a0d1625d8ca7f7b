import type { GatheredAgent } from "./gather.ts";
import type { AgentKey } from "./ids.ts";
import type { Observation, PidMark, ProcessMark } from "./observation.ts";
import type { ProcessView } from "./status.ts";

/** Whether a process is there. Enters as an argument, like the clock, so that linking stays a pure function. */
export type Liveness = (process: ProcessMark) => "alive" | "gone" | "unknown" | Holder;

/** The process that has a file open, where the mark names only the file. */
export interface Holder {
  readonly pid: number;
  readonly startedAt: number | null;
}

/** What is known of each thread's process: the newest living mark, else what the dead or missing ones tell. */
export function processViews(facts: readonly Observation[], infoOf: (key: AgentKey) => GatheredAgent, liveness: Liveness): (thread: AgentKey) => ProcessView {
  const seen = Map.groupBy(
    facts.filter((f) => f.type === "process-seen"),
    (f) => f.thread,
  );
  const view = (thread: AgentKey): ProcessView => {
    const marks = (seen.get(thread) ?? []).map((f) => {
      const found = liveness(f.process);
      return typeof found === "string" ? { ...f, is: found } : { ...f, process: { ...UNMARKED, ...found }, is: "alive" as const };
    });
    const newestFirst = marks.sort((a, b) => startOf(b.process) - startOf(a.process) || pidOf(b.process) - pidOf(a.process));
    const alive = newestFirst.find((m) => m.is === "alive");
    if (alive !== undefined) return { is: "alive", who: nameOf(alive.process), startedAt: startOf(alive.process) || null, waitingFor: alive.waitingFor };
    if (newestFirst.some((m) => m.is === "unknown")) return { is: "unknown" };
    const [gone] = newestFirst;
    if (gone !== undefined) return { is: "gone", why: goneWords(gone.process) };
    return infoOf(thread).marksProcess ? { is: "gone", why: "no process runs its thread any more" } : { is: "unknown" };
  };
  const known = new Map<AgentKey, ProcessView>();
  return (thread) => {
    const cached = known.get(thread) ?? view(thread);
    known.set(thread, cached);
    return cached;
  };
}

/** What nobody wrote down of a process that was found by other means. */
const UNMARKED = { birth: null, domain: null };

const isPid = (mark: ProcessMark): mark is PidMark => "pid" in mark;
const startOf = (mark: ProcessMark) => (isPid(mark) ? (mark.startedAt ?? 0) : 0);
const pidOf = (mark: ProcessMark) => (isPid(mark) ? mark.pid : 0);
const nameOf = (mark: ProcessMark) => (isPid(mark) ? `pid ${mark.pid}` : "lock" in mark ? "the holder of its lock" : "one that has its database open");
function goneWords(mark: ProcessMark): string {
  if (isPid(mark)) return `its process (pid ${mark.pid}) is gone`;
  return "lock" in mark ? "nobody holds the lock of the thread any more" : "no process has its database open any more";
}
