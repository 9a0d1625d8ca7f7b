import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import type { AgentRow, Projection, RootFilter, RootRow } from "../../core/ports/store.ts";
import { hash } from "../../core/tools/hash.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { withoutRunningTime } from "../../core/views/record.ts";
import type { SpentRow } from "../../core/views/stats.ts";
import { LruCache } from "./lru-cache.ts";
import { packShortLived } from "./packing.ts";
import type { Packed, Packs } from "./packs.ts";
import { OWNER } from "./schema.ts";
import type { Statements } from "./statements.ts";

/** True for threads that have a file below one of the roots in the JSON list bound to `list`. */
const VISIBLE = (thread: string, list = "?") =>
  `EXISTS (SELECT 1 FROM file_thread ft JOIN file f ON f.id = ft.file WHERE ft.thread = ${thread} AND f.root IN (SELECT value FROM json_each(${list})))`;

/** Number of threads whose last projection is remembered. */
const REMEMBERED = 256;

/** What was last written about some threads that are linked together; everything but the root records as hashes. */
interface Written {
  readonly threads: number;
  /** Records in a pack are not replaced one by one. */
  readonly isPacked: boolean;
  /** The root records, without the time that running agents have run. */
  readonly root: number;
  /** The names of roots and agents. */
  readonly agent: number;
  readonly spent: number;
  readonly problem: number;
}

/** For records in a pack, which are not compared. */
const NOT_COMPARED = { root: 0, agent: 0, spent: 0, problem: 0 } as const;

/** How far the duration of a running agent in the statistics may be behind. */
const COARSE_MS = 30_000;
const withCoarseTime = (row: SpentRow) =>
  row.status === "running" ? { ...row, durationMs: Math.floor(row.durationMs / COARSE_MS) } : row;

const outdatedIn = (before: Written | null, now: Written) =>
  new Set((["agent", "spent", "problem"] as const).filter((table) => before?.[table] !== now[table]));

/** Projections of facts: root records, names of agents, usage. */
export class Projections {
  readonly #sql: Statements;
  readonly #packs: Packs;
  /** By thread. An append mostly changes only the record of its thread; the rest is not written again. */
  readonly #written = new LruCache<AgentKey, Written>(() => 1, REMEMBERED);

  constructor(sql: Statements, packs: Packs) {
    this.#sql = sql;
    this.#packs = packs;
  }

  /** Returns the id of a mentioned thread; creates a row if only a manual link mentions it. */
  #threadId(key: AgentKey): number {
    const known = this.#sql("SELECT id FROM thread WHERE owner = ? AND key = ?").get(OWNER, key);
    return Number(
      known?.id ??
        this.#sql("INSERT INTO thread (owner, key, version, projected) VALUES (?, ?, 0, 0)").run(OWNER, key)
          .lastInsertRowid,
    );
  }

  /** False if another process has stored one from newer facts. */
  save(projections: readonly Projection[]): readonly boolean[] {
    // A thread that is projected repeatedly is projected again soon.
    const isNew = ({ versions }: Projection) => this.#lastOf([...versions.keys()]) === null;
    const roots = projections
      .filter(isNew)
      .flatMap((projection) => projection.roots.map((root) => ({ root, spent: projection.spent.get(root.key) ?? [] })));
    const packed = this.#packs.together(roots, ({ root, spent }) => [root.record, spent]);
    const byRoot = new Map([...packed].map(([{ root }, place]) => [root, place]));
    const unused = new Set<number>();
    const saved = projections.map((projection) => this.#save(projection, byRoot, unused));
    // Packs of replaced records, and packs that were not used.
    if (saved.includes(false)) for (const { pack } of packed.values()) unused.add(pack);
    this.#packs.sweep(unused);
    return saved;
  }

  #save(
    { versions, roots, agents, spent, problems }: Projection,
    packed: ReadonlyMap<RootRow, Packed>,
    unused: Set<number>,
  ): boolean {
    const projectedOf = (key: AgentKey) =>
      Number(this.#sql("SELECT projected FROM thread WHERE owner = ? AND key = ?").get(OWNER, key)?.projected ?? 0);
    const behind = [...versions].map(([key, version]) => version - projectedOf(key));
    if (behind.some((count) => count < 0)) return false;
    const isPacked = roots.some((root) => packed.has(root));
    const now: Written = isPacked
      ? { ...NOT_COMPARED, threads: versions.size, isPacked }
      : {
          threads: versions.size,
          isPacked,
          root: hash(JSON.stringify(roots.map((root) => ({ ...root, record: withoutRunningTime(root.record) })))),
          agent: hash(JSON.stringify([roots.map(({ key }) => key), agents])),
          spent: hash(JSON.stringify([...spent].map(([key, rows]) => [key, rows.map(withCoarseTime)]))),
          problem: hash(JSON.stringify(problems)),
        };
    const last = this.#lastOf([...versions.keys()]);
    const before = last?.isPacked === false && !now.isPacked ? last : null;
    const outdated = outdatedIn(before, now);
    // The status of running agents is checked repeatedly; mostly it is the same.
    if (before?.root === now.root && outdated.size === 0 && behind.every((count) => count === 0)) return true;
    for (const key of versions.keys()) this.#written.set(key, now);
    const ids = this.#replaced(versions, outdated, unused);
    const idOf = (key: AgentKey) => ids.get(threadOf(key)) ?? this.#threadId(threadOf(key));
    this.#writeRoots(roots, packed, idOf);
    if (outdated.has("agent")) this.#writeAgents(agents, idOf);
    const places = new Map(roots.map((root) => [root.key, packed.get(root)?.places[1]]));
    if (outdated.has("spent")) this.#writeSpent(spent, places, idOf);
    if (outdated.has("problem")) this.#writeProblems(problems, ids.values().next().value ?? null);
    return true;
  }

  /** Sets the versions of threads and deletes their outdated rows. Returns the ids of the threads. */
  #replaced(
    versions: Projection["versions"],
    outdated: ReturnType<typeof outdatedIn>,
    unused: Set<number>,
  ): ReadonlyMap<AgentKey, number> {
    const ids = new Map<AgentKey, number>();
    for (const [key, version] of versions) {
      const row = this.#sql("UPDATE thread SET projected = ? WHERE owner = ? AND key = ? RETURNING id").get(
        version,
        OWNER,
        key,
      );
      if (row === undefined) continue;
      ids.set(key, Number(row.id));
      if (outdated.has("agent"))
        for (const { pack } of this.#sql("DELETE FROM root WHERE thread = ? RETURNING pack").all(Number(row.id)))
          if (pack !== null) unused.add(Number(pack));
      for (const table of outdated) this.#sql(`DELETE FROM ${table} WHERE thread = ?`).run(Number(row.id));
    }
    return ids;
  }

  #writeRoots(roots: Projection["roots"], packed: ReadonlyMap<RootRow, Packed>, idOf: (key: AgentKey) => number): void {
    for (const r of roots)
      this.#sql(
        "INSERT OR REPLACE INTO root (thread, key, provider, cwd, last_activity, settled, internals, record, pack) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ).run(
        idOf(r.key),
        r.key,
        r.provider,
        r.cwd,
        Math.round(r.lastActivity),
        r.settled ? 1 : 0,
        r.internals,
        packed.get(r)?.places[0] ?? packShortLived(r.record),
        packed.get(r)?.pack ?? null,
      );
  }

  #writeAgents(agents: Projection["agents"], idOf: (key: AgentKey) => number): void {
    for (const a of agents)
      this.#sql("INSERT INTO agent (thread, key, uri, session_id, agent_id, path) VALUES (?, ?, ?, ?, ?, ?)").run(
        idOf(a.key),
        a.key,
        a.uri,
        a.sessionId,
        a.agentId,
        a.path,
      );
  }

  /** `places`: where the rows of a root are packed together with others. */
  #writeSpent(
    spent: Projection["spent"],
    places: ReadonlyMap<AgentKey, Packed["places"][number] | undefined>,
    idOf: (key: AgentKey) => number,
  ): void {
    for (const [root, rows] of spent) {
      const last = rows.reduce<string | null>(
        (newest, { day }) => (day !== null && (newest === null || day > newest) ? day : newest),
        null,
      );
      if (rows.length > 0)
        this.#sql("INSERT OR REPLACE INTO spent (thread, last_day, rows) VALUES (?, ?, ?)").run(
          idOf(root),
          last,
          places.get(root) ?? packShortLived(rows),
        );
    }
  }

  #writeProblems(problems: Projection["problems"], thread: number | null): void {
    for (const p of problems)
      this.#sql("INSERT INTO problem (thread, code, place, detail, times) VALUES (?, ?, ?, ?, ?)").run(
        thread,
        p.code,
        p.where,
        p.detail,
        p.times ?? 1,
      );
  }

  /** What was last written, if it was about exactly these threads. */
  #lastOf(threads: readonly AgentKey[]): Written | null {
    const [last = null, ...others] = new Set(threads.map((key) => this.#written.get(key)));
    return last !== null && others.length === 0 && last.threads === threads.length ? last : null;
  }

  /** Drops what is known of the tables: another process may have changed them, or the transaction failed. */
  forget(): void {
    this.#written.clear();
  }

  roots({ under, provider, since, limit, after }: RootFilter): readonly RootRow[] {
    const conditions = [
      VISIBLE("root.thread"),
      ...(provider === undefined ? [] : ["provider = ?"]),
      ...(since === undefined ? [] : ["last_activity >= ?"]),
    ];
    const values: (string | number)[] = [
      JSON.stringify(under),
      ...(provider === undefined ? [] : [provider]),
      ...(since === undefined ? [] : [since]),
    ];
    if (after !== undefined) {
      conditions.push("(last_activity < ? OR (last_activity = ? AND key > ?))");
      values.push(after.lastActivity, after.lastActivity, after.key);
    }
    const rows = this.#sql(
      `SELECT * FROM root WHERE ${conditions.join(" AND ")} ORDER BY last_activity DESC, key LIMIT ?`,
    ).all(...values, limit);
    return rows.map((row) => ({
      key: row.key as AgentKey,
      provider: row.provider as string,
      cwd: row.cwd as string | null,
      lastActivity: Number(row.last_activity),
      settled: row.settled === 1,
      internals: Number(row.internals),
      record: this.#packs.value(row.record as Uint8Array) as AgentRecord,
    }));
  }

  unsettled(under: readonly string[], since: number): readonly AgentKey[] {
    const rows = `SELECT key FROM root WHERE ${VISIBLE("root.thread")} AND last_activity >= ? AND settled = 0 ORDER BY last_activity DESC, key`;
    return this.#sql(rows)
      .all(JSON.stringify(under), since)
      .map((row) => row.key as AgentKey);
  }

  spent(under: readonly string[], since: string | null): readonly SpentRow[] {
    // Sorted, so that floating-point sums do not depend on the order of reading.
    return this.#sql(
      `SELECT rows FROM spent JOIN thread ON thread.id = spent.thread WHERE ${VISIBLE("spent.thread", "?1")} AND (?2 IS NULL OR last_day >= ?2) ORDER BY thread.key`,
    )
      .all(JSON.stringify(under), since)
      .flatMap((row) => this.#packs.value(row.rows as Uint8Array) as SpentRow[])
      .filter((row) => since === null || (row.day ?? "") >= since);
  }

  named(id: string, under: readonly string[]): readonly AgentRow[] {
    // A range on the index instead of LIKE, whose wildcards may be part of an id.
    const within = (column: string) =>
      `SELECT key, uri, session_id, agent_id, path FROM agent WHERE ${column} >= ?1 AND ${column} < ?2 AND ${VISIBLE("agent.thread", "?3")}`;
    return this.#sql(`${within("session_id")} UNION ${within("agent_id")} ORDER BY uri`)
      .all(id, `${id}\u{10ffff}`, JSON.stringify(under))
      .map((row) => ({
        key: row.key as AgentKey,
        uri: row.uri as string,
        sessionId: row.session_id as string,
        agentId: row.agent_id as string | null,
        path: row.path as string | null,
      }));
  }
}
