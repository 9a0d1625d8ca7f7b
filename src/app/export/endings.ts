import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import { isRecorded } from "../../core/facts/origin.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import type { Library } from "../ingest/library.ts";

/** An agent whose records did not change for this long is taken to be complete. */
const SETTLE_MS = 5_000;
/** The same for an agent that this process has not checked before. */
const QUIET_MS = 15_000;

/**
 * Decides when an agent's records are complete. A hook, a parent's record or the end of a process may report an end
 * before the last lines are on disk, so only the agent's own last record counts at once. Otherwise its records must be
 * unchanged between two checks.
 */
export class Endings {
  readonly #library: Library;
  readonly #states = new Map<AgentKey, { readonly is: string; readonly since: number }>();

  constructor(library: Library) {
    this.#library = library;
  }

  /**
   * Records the current state of every agent of the tree. `syncedAt`: when the sync that the forest is based on began.
   */
  check(forest: Forest, root: AgentKey, syncedAt: number): EndingsCheck {
    let [isRunning, isSettling] = [false, false];
    const over = new Set<AgentKey>();
    for (const key of subtreeOf(forest, root)) {
      const agent = agentOf(forest, key);
      const { status } = agent.verdict;
      if (status === "running" || status === "pendingInit") isRunning ||= agent.process === "alive";
      else if (hasOwnEnd(agent) || this.#isUnchanged(agent, syncedAt)) over.add(key);
      else isSettling = true;
    }
    return { isOver: ({ key }) => over.has(key), isRunning, isSettling };
  }

  #isUnchanged(agent: LinkedAgent, syncedAt: number): boolean {
    if (syncedAt - (agent.lastActivity ?? 0) > QUIET_MS) return true;
    const { verdict, lastAt, calls, records, files } = agent;
    const is = [verdict.status, lastAt, calls.length, records, ...files.map(({ readTo }) => readTo)].join(" ");
    const before = this.#states.get(agent.key);
    if (before?.is !== is) {
      this.#states.set(agent.key, { is, since: this.#library.now() });
      return false;
    }
    return syncedAt - before.since >= SETTLE_MS && !this.#hasUnread(agent);
  }

  #hasUnread = ({ files }: LinkedAgent) =>
    files.some(({ path, readTo }) => (this.#library.source(path)?.stamp.size ?? 0) > readTo);

  /** Drops the agents of a thread that is finished. */
  forget(root: AgentKey): void {
    for (const key of this.#states.keys()) if (threadOf(key) === threadOf(root)) this.#states.delete(key);
  }
}

export interface EndingsCheck {
  readonly isOver: (agent: LinkedAgent) => boolean;
  /** An agent with a live process is running. */
  readonly isRunning: boolean;
  /** An agent has ended, and its records may not be complete yet. */
  readonly isSettling: boolean;
}

/** The agent's last record is a definite end. */
function hasOwnEnd({ own, steps }: LinkedAgent): boolean {
  const last = steps().findLast((record) => record.state !== null);
  return own !== null && own.state !== "open" && own.certain && last !== undefined && isRecorded(last);
}
