import {
  COST_GROUPS,
  type CostGroup,
  type CostLine,
  type FailedThread,
  type Person,
  type RunningThread,
} from "../../core/ports/team.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { MonthlyCost } from "../../core/views/budget.ts";
import { costIn, type PackedSums } from "../../core/views/stats-sums.ts";
import type { Queries } from "./database.ts";
import { eachOwner } from "./each-owner.ts";
import { OVERVIEW } from "./overview-statements.ts";
import { monthAfter, periodFrom, UsageReader } from "./usage.ts";

/** Agents of one owner that failed, of which the threads are made. */
const MAX_FAILED = 1_000;
/** Agents of one thread that are listed. */
const SHOWN = 20;

/** Which column a line of `costs` is about: the bits of the others are set. */
const PARTS: ReadonlyMap<number, Exclude<CostGroup, "owner">> = new Map([
  [0b0111, "project"],
  [0b1011, "model"],
  [0b1101, "type"],
  [0b1110, "day"],
]);

/** What several people did together, from the sums of each of them. */
export class Overview {
  readonly #queries: Queries;
  readonly #usage: UsageReader;

  constructor(queries: Queries, usage = new UsageReader(queries)) {
    this.#queries = queries;
    this.#usage = usage;
  }

  /** Threads with running agents, the latest activity first. */
  async running(owners: readonly string[], limit: number): Promise<RunningThread[]> {
    const rows = await eachOwner<{
      agents: number;
      active_at: Date | null;
      machine: string | null;
      shipped_at: Date | null;
      record: string;
    }>(this.#queries, owners, OVERVIEW.running, () => [limit]);
    return rows
      .sort((a, b) => latest(a.row.active_at, b.row.active_at))
      .slice(0, limit)
      .map(({ owner, row }) => ({
        owner,
        machine: row.machine,
        shippedAt: row.shipped_at?.toISOString() ?? null,
        running: row.agents,
        record: parsed(row.record),
      }));
  }

  /**
   * Usage from this day (UTC) on by each of the groups, and all of it. If there is much of it, a thread counts in each
   * month in which it worked.
   */
  async costs(
    owners: readonly string[],
    since: string | null,
  ): Promise<{ readonly total: CostLine; readonly by: Readonly<Record<CostGroup, readonly CostLine[]>> }> {
    const isLarge = await this.#usage.isLarge(owners);
    const { months, days } = isLarge ? periodFrom(since) : { months: null, days: { from: since, to: null } };
    const sums = new CostSums();
    if (days !== null)
      for (const { owner, row } of await eachOwner<CostRow>(this.#queries, owners, OVERVIEW.costs, () => [
        days.from,
        days.to,
      ])) {
        const group = PARTS.get(row.part) ?? "owner";
        sums.add(group, lineOf(group === "owner" ? owner : row[group], row));
      }
    if (isLarge)
      for await (const one of this.#usage.months(owners, months))
        for (const month of one.sums) sums.addMonth(one.owner, month);
    return sums.answer();
  }

  /** What each owner spent in the month (UTC) with this first day, by project. Clocks that are ahead name later months. */
  async monthlyCosts(owners: readonly string[], month: string): Promise<MonthlyCost[]> {
    if (await this.#usage.isLarge(owners)) return this.#monthlySums(owners, month);
    const rows = await eachOwner<{ project: string | null; cost: number }>(
      this.#queries,
      owners,
      OVERVIEW.month,
      () => [month, monthAfter(month)],
    );
    return rows.map(({ owner, row }) => ({ owner, project: row.project, costUsd: row.cost }));
  }

  async #monthlySums(owners: readonly string[], month: string): Promise<MonthlyCost[]> {
    const costs: MonthlyCost[] = [];
    for await (const { owner, sums } of this.#usage.months(owners, month, monthAfter(month)))
      for (const { by } of sums)
        for (const [project, line] of by.project ?? []) costs.push({ owner, project, costUsd: costIn(line).costUsd });
    return costs;
  }

  /** Threads with failures since a time, the latest first. Their own records are left to the caller. */
  async failures(
    owners: readonly string[],
    since: string | null,
    limit: number,
  ): Promise<(Omit<FailedThread, "record"> & { readonly thread: string })[]> {
    const rows = await eachOwner<FailedRow>(this.#queries, owners, OVERVIEW.failed, () => [since, MAX_FAILED]);
    const threads = Map.groupBy(
      rows.sort((a, b) => latest(a.row.active_at, b.row.active_at)),
      ({ owner, row }) => `${owner} ${row.thread}`,
    );
    return [...threads.values()].slice(0, limit).flatMap((list) => {
      const [first] = list;
      if (first === undefined) return [];
      const { owner, row } = first;
      const count = (status: string) => list.filter((one) => one.row.status === status).length;
      return {
        owner,
        thread: row.thread,
        machine: row.machine,
        at: row.active_at?.toISOString() ?? null,
        errored: count("errored"),
        shutdown: count("shutdown"),
        refused: list.reduce((sum, one) => sum + one.row.refused, 0),
        agents: list.slice(0, SHOWN).map((one) => parsed(one.row.record)),
      };
    });
  }

  async machines(owners: readonly string[]): Promise<Map<string, Person["machines"]>> {
    const rows = await eachOwner<{ machine: string; version: string; shipped_at: Date }>(
      this.#queries,
      owners,
      OVERVIEW.machines,
    );
    const machines = rows.map(({ owner, row: { machine, version, shipped_at } }) => ({
      owner,
      machine: { machine, version, shippedAt: shipped_at.toISOString() },
    }));
    const byOwner = Map.groupBy(machines, ({ owner }) => owner);
    return new Map([...byOwner].map(([owner, list]) => [owner, list.map(({ machine }) => machine)]));
  }
}

interface FailedRow {
  readonly thread: string;
  readonly status: string;
  readonly refused: number;
  readonly active_at: Date | null;
  readonly machine: string | null;
  readonly record: string;
}

interface CostRow extends Readonly<Record<Exclude<CostGroup, "owner">, string | null>> {
  readonly part: number;
  readonly cost: number;
  readonly unpriced: number;
  readonly tokens: number;
  readonly calls: number;
  readonly threads: number;
}

const NOTHING: CostLine = { key: null, costUsd: 0, unpricedCalls: 0, tokens: 0, calls: 0, threads: 0 };

const lineOf = (key: string | null, { cost, unpriced, tokens, calls, threads }: CostRow): CostLine => ({
  key,
  costUsd: cost,
  unpricedCalls: unpriced,
  tokens,
  calls,
  threads,
});

/** A thread belongs to one owner, so the numbers of threads can be added. */
const added = (sum: CostLine, line: CostLine): CostLine => ({
  key: sum.key,
  costUsd: sum.costUsd + line.costUsd,
  unpricedCalls: sum.unpricedCalls + line.unpricedCalls,
  tokens: sum.tokens + line.tokens,
  calls: sum.calls + line.calls,
  threads: sum.threads + line.threads,
});

const byName = (a: CostLine, b: CostLine) => ((a.key ?? "") < (b.key ?? "") ? -1 : 1);
const byWeight = (a: CostLine, b: CostLine) => b.costUsd - a.costUsd || b.tokens - a.tokens || byName(a, b);

/** Adds lines with the same key. */
class CostSums {
  readonly #groups = new Map(COST_GROUPS.map((group) => [group, new Map<string | null, CostLine>()]));

  add(group: CostGroup, line: CostLine): void {
    // An owner without usage has sums, too.
    if (line.threads === 0) return;
    const lines = this.#groups.get(group);
    lines?.set(line.key, added(lines.get(line.key) ?? { ...NOTHING, key: line.key }, line));
  }

  addMonth(owner: string, { total, by }: PackedSums): void {
    this.add("owner", { key: owner, ...costIn(total) });
    for (const group of PARTS.values())
      for (const [key, line] of by[group] ?? []) this.add(group, { key, ...costIn(line) });
  }

  /** Highest cost first, days in order. */
  #lines(group: CostGroup): CostLine[] {
    return [...(this.#groups.get(group)?.values() ?? [])].sort(group === "day" ? byName : byWeight);
  }

  answer() {
    const people = this.#lines("owner");
    const by = Object.fromEntries(COST_GROUPS.map((group) => [group, this.#lines(group)]));
    return { total: people.reduce(added, NOTHING), by: by as Record<CostGroup, CostLine[]> };
  }
}

const latest = (a: Date | null, b: Date | null) => (b?.getTime() ?? 0) - (a?.getTime() ?? 0);
const parsed = (text: string) => JSON.parse(text) as AgentRecord;
