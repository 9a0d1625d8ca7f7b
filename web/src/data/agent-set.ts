import type { AgentRecord, AgentTree, Status } from "./types.ts";

export type Change = "new" | "moved" | "changed";

/** Sums over a whole subtree. */
export interface Sums {
  readonly toolCalls: number;
  readonly toolErrors: number;
  /** Epoch milliseconds of the first and last activity. */
  readonly from: number | null;
  readonly to: number | null;
  readonly agents: number;
  readonly byStatus: Readonly<Partial<Record<Status, number>>>;
}

/** The agents of one or more threads. Records may arrive in any order. */
export class AgentSet {
  readonly #records = new Map<string, AgentRecord>();
  readonly #children = new Map<string, string[]>();
  #sums: Map<string, Sums> | null = null;

  get size(): number {
    return this.#records.size;
  }

  get(uri: string): AgentRecord | undefined {
    return this.#records.get(uri);
  }

  has(uri: string): boolean {
    return this.#records.has(uri);
  }

  uris(): Iterable<string> {
    return this.#records.keys();
  }

  putTree(tree: AgentTree): void {
    const stack = [tree];
    for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
      const { children, ...record } = next;
      this.put(record);
      stack.push(...children);
    }
  }

  put(record: AgentRecord): Change {
    const before = this.#records.get(record.uri);
    this.#records.set(record.uri, record);
    this.#sums = null;
    if (before !== undefined && before.parent === record.parent && before.startedAt === record.startedAt)
      return "changed";
    if (before !== undefined) this.#detach(before);
    if (record.parent !== null) this.#attach(record.parent, record);
    return before === undefined ? "new" : "moved";
  }

  remove(uri: string): boolean {
    const record = this.#records.get(uri);
    if (record === undefined) return false;
    this.#detach(record);
    this.#records.delete(uri);
    this.#sums = null;
    return true;
  }

  /** Sorted by start time. */
  childrenOf(uri: string): readonly string[] {
    return this.#children.get(uri) ?? NO_CHILDREN;
  }

  /** From the root down to the agent. Ends early if records name each other as parents. */
  pathTo(uri: string): readonly AgentRecord[] {
    const path: AgentRecord[] = [];
    const seen = new Set<string>();
    for (
      let at = this.#records.get(uri);
      at !== undefined && !seen.has(at.uri);
      at = at.parent === null ? undefined : this.#records.get(at.parent)
    ) {
      seen.add(at.uri);
      path.unshift(at);
    }
    return path;
  }

  sumsOf(uri: string): Sums | undefined {
    this.#sums ??= this.#addUp();
    return this.#sums.get(uri);
  }

  /** The agent and all agents below it, parents first. */
  subtree(uri: string): string[] {
    const order: string[] = [];
    const seen = new Set<string>();
    const stack = [uri];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      if (seen.has(at) || !this.#records.has(at)) continue;
      seen.add(at);
      order.push(at);
      stack.push(...this.childrenOf(at).toReversed());
    }
    return order;
  }

  #addUp(): Map<string, Sums> {
    const sums = new Map<string, Sums>();
    const tops = [...this.#records.values()].filter(
      (record) => record.parent === null || !this.#records.has(record.parent),
    );
    for (const top of tops) for (const uri of this.subtree(top.uri).reverse()) sums.set(uri, this.#sum(uri, sums));
    return sums;
  }

  #sum(uri: string, below: ReadonlyMap<string, Sums>): Sums {
    const record = this.#records.get(uri) as AgentRecord;
    const byStatus: Partial<Record<Status, number>> = { [record.status]: 1 };
    let { toolCalls, toolErrors } = record.counts;
    let [from, to, agents] = [timeOf(record.startedAt), timeOf(record.endedAt ?? record.lastActivityAt), 1];
    for (const child of this.childrenOf(uri)) {
      const sum = below.get(child);
      if (sum === undefined) continue;
      toolCalls += sum.toolCalls;
      toolErrors += sum.toolErrors;
      agents += sum.agents;
      from = from === null || (sum.from !== null && sum.from < from) ? sum.from : from;
      to = to === null || (sum.to !== null && sum.to > to) ? sum.to : to;
      for (const [status, n] of Object.entries(sum.byStatus) as [Status, number][])
        byStatus[status] = (byStatus[status] ?? 0) + n;
    }
    return { toolCalls, toolErrors, from, to, agents, byStatus };
  }

  #attach(parent: string, record: AgentRecord): void {
    const siblings = this.#children.get(parent) ?? [];
    const isLater = (uri: string) => byStart(record, this.#records.get(uri)) < 0;
    // Searches from the end, because a new agent is nearly always the latest.
    let at = siblings.length;
    while (at > 0 && isLater(siblings[at - 1] ?? "")) at -= 1;
    this.#children.set(parent, siblings.toSpliced(at, 0, record.uri));
  }

  #detach(record: AgentRecord): void {
    if (record.parent === null) return;
    this.#children.set(
      record.parent,
      this.childrenOf(record.parent).filter((uri) => uri !== record.uri),
    );
  }
}

const NO_CHILDREN: readonly string[] = [];
const timeOf = (at: string | null) => (at === null ? null : Date.parse(at));

/** Agents without a start time are last. */
function byStart(a: AgentRecord, b: AgentRecord | undefined): number {
  const [x, y] = [a.startedAt ?? "~", b?.startedAt ?? "~"];
  return x < y ? -1 : x > y ? 1 : 0;
}
