import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import type { ProcessMark, Starter } from "../../core/facts/observation.ts";
import { AGENT_MARKERS, STARTER_VARIABLES, startersIn } from "../../providers/kit/launch/environment.ts";
import { processLiveness } from "../../transports/processes.ts";
import { Recorder } from "../../transports/recorder.ts";
import { holderOf, originOf, type ProcessOrigin } from "../../transports/system/origin.ts";
import { join } from "../../transports/system/paths.ts";
import { recordingsRoot } from "../home.ts";
import type { Library } from "../ingest/library.ts";

const NAMES: ReadonlySet<string> = new Set([...STARTER_VARIABLES, ...AGENT_MARKERS]);
const MAX_CHECKS = 5;

/**
 * Records which agents the processes of running threads name in their environment or as their ancestors, which is known
 * only while they run. Each thread is checked until its process is found, at most `MAX_CHECKS` times.
 */
export class StarterWatch {
  readonly #library: Library;
  /** How often each thread was checked; some products never name their process. */
  readonly #checks = new Map<AgentKey, number>();
  readonly #threadOf = new Map<number, AgentKey>();
  readonly #originOf: (pid: number, names: ReadonlySet<string>) => ProcessOrigin | null;

  constructor(library: Library, lookUp = originOf) {
    this.#library = library;
    this.#originOf = lookUp;
  }

  /** Checks the processes of these threads. Returns the path of the recording if something was added to it. */
  check(threads: Iterable<AgentKey>): string | null {
    const fresh = [...new Set([...threads].map(threadOf))].filter(
      (thread) => (this.#checks.get(thread) ?? 0) < MAX_CHECKS,
    );
    const seen = fresh.flatMap((thread) => {
      const pid = this.#pidOf(thread);
      this.#checks.set(thread, pid === null ? (this.#checks.get(thread) ?? 0) + 1 : MAX_CHECKS);
      if (pid === null) return [];
      this.#threadOf.set(pid, thread);
      return [{ thread, pid }];
    });
    const day = new Date().toISOString().slice(0, 10);
    const recorder = new Recorder(join(recordingsRoot(this.#library.env, "run"), "starters", `${day}.jsonl`));
    let isWritten = false;
    for (const { thread, pid } of seen) {
      const origin = this.#originOf(pid, NAMES);
      const starters = origin === null ? null : this.#startersOf(origin, thread);
      if (origin === null || starters === null) continue;
      const note = { thread, starters: starters.map((starter) => ({ ...starter })) };
      recorder.note({ starter: note }, origin.startedAt ?? Date.now());
      isWritten = true;
    }
    recorder.close();
    return isWritten ? recorder.path : null;
  }

  /** Null if nothing is known; empty if certainly no agent started it. */
  #startersOf({ variables, ancestors }: ProcessOrigin, thread: AgentKey): readonly Starter[] | null {
    const named = startersIn(variables ?? {}).filter(({ agent }) => threadOf(agent) !== thread);
    const nearest = ancestors.map((pid) => this.#threadOf.get(pid)).find((one) => one !== undefined && one !== thread);
    if (nearest === undefined) {
      const isMarked = variables === null || AGENT_MARKERS.some((name) => variables[name] !== undefined);
      return named.length > 0 ? named : isMarked ? null : [];
    }
    // Variables of all agents above it pile up; the nearest ancestor tells which one is meant.
    const same = named.filter(({ agent }) => threadOf(agent) === nearest);
    const says = "is a descendant of the process of that agent";
    return same.length > 0 ? same : [{ agent: nearest, exact: false, call: null, says }];
  }

  #pidOf(thread: AgentKey): number | null {
    const { observations } = this.#library.store.facts([thread], this.#library.under);
    const marks = observations.flatMap((o) => (o.type === "process-seen" && o.thread === thread ? [o.process] : []));
    return marks.map(pidIn).findLast((pid) => pid !== null) ?? null;
  }
}

function pidIn(mark: ProcessMark): number | null {
  if (processLiveness(mark) !== "alive") return null;
  return "pid" in mark ? mark.pid : "lock" in mark ? holderOf(mark.lock) : null;
}
