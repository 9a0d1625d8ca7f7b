import type { GatheredAgent } from "./gather.ts";
import type { AgentKey } from "./ids.ts";
import type { Observation, ProcessMark } from "./observation.ts";
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
      return { ...f.process, waitingFor: f.waitingFor, ...(typeof found === "string" ? { is: found } : { ...found, is: "alive" as const }) };
    });
    const newestFirst = marks.sort((a, b) => (b.startedAt ?? 0) - (a.startedAt ?? 0) || b.pid - a.pid);
    const alive = newestFirst.find((m) => m.is === "alive");
    if (alive !== undefined) return { is: "alive", pid: alive.pid, startedAt: alive.startedAt, waitingFor: alive.waitingFor };
    if (newestFirst.some((m) => m.is === "unknown")) return { is: "unknown" };
    const [gone] = newestFirst;
    if (gone !== undefined)
      return { is: "gone", why: gone.holds === undefined ? `its process (pid ${gone.pid}) is gone` : "no process has its database open any more" };
    return infoOf(thread).marksProcess ? { is: "gone", why: "no process runs its thread any more" } : { is: "unknown" };
  };
  const known = new Map<AgentKey, ProcessView>();
  return (thread) => {
    const cached = known.get(thread) ?? view(thread);
    known.set(thread, cached);
    return cached;
  };
}
