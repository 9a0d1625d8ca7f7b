import { type AgentKey, threadOf } from "../../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link.ts";
import type { Library } from "../library.ts";

/** An agent whose records have not changed for this long has written everything it will write, as far as its files can tell. */
const SETTLE_MS = 5_000;
/** The same for an agent that this process has never looked at before. */
const QUIET_MS = 15_000;

/**
 * Decides when an agent's records are complete. A hook, a parent's record or the end of a process may say that an agent has ended
 * before its last lines are on disk, so only the agent's own last record is believed at once. Otherwise its records have to stay
 * unchanged between two looks.
 */
export class Endings {
  readonly #library: Library;
  readonly #standing = new Map<AgentKey, { readonly is: string; readonly since: number }>();

  constructor(library: Library) {
    this.#library = library;
  }

  /** Notes how every agent of the tree stands. `lookedAt`: when the reading began that the forest was made from. */
  look(forest: Forest, root: AgentKey, lookedAt: number): Look {
    let [isRunning, isSettling] = [false, false];
    const over = new Set<AgentKey>();
    for (const key of subtreeOf(forest, root)) {
      const agent = agentOf(forest, key);
      const { status } = agent.verdict;
      if (status === "running" || status === "pendingInit") isRunning ||= agent.process === "alive";
      else if (saysSoItself(agent) || this.#isUnchanged(agent, lookedAt)) over.add(key);
      else isSettling = true;
    }
    return { isOver: ({ key }) => over.has(key), isRunning, isSettling };
  }

  #isUnchanged(agent: LinkedAgent, lookedAt: number): boolean {
    if (lookedAt - (agent.lastActivity ?? 0) > QUIET_MS) return true;
    const { verdict, lastAt, calls, records, files } = agent;
    const is = [verdict.status, lastAt, calls.length, records, ...files.map(({ readTo }) => readTo)].join(" ");
    const before = this.#standing.get(agent.key);
    if (before?.is !== is) {
      this.#standing.set(agent.key, { is, since: this.#library.now() });
      return false;
    }
    return lookedAt - before.since >= SETTLE_MS && !this.#hasUnread(agent);
  }

  #hasUnread = ({ files }: LinkedAgent) => files.some(({ path, readTo }) => (this.#library.source(path)?.stamp.size ?? 0) > readTo);

  /** Forgets the agents of a thread that needs no more looks. */
  forget(root: AgentKey): void {
    for (const key of this.#standing.keys()) if (threadOf(key) === threadOf(root)) this.#standing.delete(key);
  }
}

export interface Look {
  readonly isOver: (agent: LinkedAgent) => boolean;
  /** Some agent is at work in a process that is alive. */
  readonly isRunning: boolean;
  /** Some agent has ended, and its records may not be complete yet. */
  readonly isSettling: boolean;
}

/** The product's own last record of the agent ends its work, beyond doubt. */
function saysSoItself({ own, steps }: LinkedAgent): boolean {
  const last = steps().findLast((record) => record.stands !== null);
  return own !== null && own.stands !== "open" && own.certain && last?.live !== true && last?.witness !== true;
}
