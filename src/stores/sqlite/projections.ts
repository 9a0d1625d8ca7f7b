import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import type { AgentRow, Projection, RootFilter, RootRow } from "../../core/ports/store.ts";
import { hash } from "../../core/tools/hash.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import { withoutRunningTime } from "../../core/views/record.ts";
import type { SpentRow } from "../../core/views/stats.ts";
import { checkCount } from "../fault.ts";
import { LruCache } from "./lru-cache.ts";
import { packShortLived } from "./packing.ts";
import type { Packed, Packs } from "./packs.ts";
import { OWNER } from "./schema.ts";
import type { Statements } from "./statements.ts";

/**
 * True for threads that have a file below one of the roots in the JSON list bound to `list`, or one whose row a damaged
 * page has lost or overwritten with zeros.
 */
const VISIBLE = (thread: string, list = "?") =>
  `EXISTS (SELECT 1 FROM file_thread ft LEFT JOIN file f ON f.id = ft.file WHERE ft.thread = ${thread} AND (f.id IS NULL OR instr(f.root, char(0)) > 0 OR f.root IN (SELECT value FROM json_each(${list}))))`;

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

/**
 * How to count the rows of some tables: what a damaged page has lost is empty. Columns are in expressions, because
 * SQLite does not look at columns that cannot be NULL.
 */
const COUNTED = {
  root: "SELECT count(last_activity + 0) FROM root INDEXED BY root_newest",
  spent: "SELECT count(*) FROM spent WHERE thread > 0",
  agent: `SELECT min(
    (SELECT count(session_id || '') FROM agent INDEXED BY agent_by_session),
    (SELECT count(agent_id || '') FROM agent INDEXED BY agent_by_id) + (SELECT count(*) FROM agent WHERE id > 0 AND agent_id IS NULL))`,
} as const;
type Counted = keyof typeof COUNTED;
/** The same for the table that shows which threads are below a root. \`described\` is in no index of it. */
const VISIBILITY =
  "SELECT coalesce(sum(thread + 0 > 0 AND file + 0 > 0), 0) AS rows, (SELECT sum(files) FROM thread) AS written FROM file_thread WHERE described >= 0";

const outdatedIn = (before: Written | null, now: Written) =>
  new Set((["agent", "spent", "problem"] as const).filter((table) => before?.[table] !== now[table]));

/** Projections of facts: root records, names of agents, usage. */
export class Projections {
  readonly #sql: Statements;
  readonly #packs: Packs;
  /** By thread. An append mostly changes only the record of its thread; the rest is not written again. */
  readonly #written = new LruCache<AgentKey, Written>(() => 1, REMEMBERED);

  /** Tables whose rows were counted since the database was opened. */
  readonly #counted = new Set<Counted>();
  /** Rows that this transaction has added, without those that it has deleted. */
  readonly #added = new Map<Counted, number>();

  constructor(sql: Statements, packs: Packs) {
    this.#sql = sql;
    this.#packs = packs;
  }

  /** Once for each table: all rows that were written must be there. */
  #check(table: Counted): void {
    if (this.#counted.has(table)) return;
    const written = `SELECT value FROM note WHERE name = '${table} rows'`;
    for (const query of [VISIBILITY, `SELECT (${COUNTED[table]}) AS rows, (${written}) AS written`]) {
      const found = this.#sql(query).get();
      checkCount(`rows of ${table}`, Number(found?.rows), Number(found?.written));
    }
    this.#counted.add(table);
  }

  /** Deletes the row of a thread, and returns its pack. */
  #delete(table: Counted, thread: number): number | null {
    const returned = table === "root" ? "pack" : "NULL AS pack";
    const row = this.#sql(`DELETE FROM ${table} WHERE thread = ? RETURNING ${returned}`).get(thread);
    if (row === undefined) return null;
    this.#count(table, -1);
    return row.pack === null ? null : Number(row.pack);
  }

  #count(table: Counted, change: number): void {
    this.#added.set(table, (this.#added.get(table) ?? 0) + change);
  }

  #saveCounts(): void {
    for (const [table, change] of this.#added)
      if (change !== 0)
        this.#sql(
          "INSERT INTO note (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = CAST(value AS INTEGER) + ?2",
        ).run(`${table} rows`, String(change));
    this.#added.clear();
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
    this.#saveCounts();
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
      const pack = outdated.has("agent") ? this.#delete("root", Number(row.id)) : null;
      if (pack !== null) unused.add(pack);
      for (const table of outdated)
        if (table === "spent") this.#delete(table, Number(row.id));
        else {
          const { changes } = this.#sql(`DELETE FROM ${table} WHERE thread = ?`).run(Number(row.id));
          if (table === "agent") this.#count(table, -Number(changes));
        }
    }
    return ids;
  }

  #writeRoots(roots: Projection["roots"], packed: ReadonlyMap<RootRow, Packed>, idOf: (key: AgentKey) => number): void {
    for (const r of roots) {
      const thread = idOf(r.key);
      this.#delete("root", thread);
      this.#count("root", 1);
      this.#sql(
        "INSERT INTO root (thread, key, provider, cwd, last_activity, settled, internals, record, pack) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
      ).run(
        thread,
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
  }

  #writeAgents(agents: Projection["agents"], idOf: (key: AgentKey) => number): void {
    this.#count("agent", agents.length);
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
      if (rows.length === 0) continue;
      const thread = idOf(root);
      this.#delete("spent", thread);
      this.#count("spent", 1);
      this.#sql("INSERT INTO spent (thread, last_day, rows) VALUES (?, ?, ?)").run(
        thread,
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
    this.#added.clear();
  }

  roots({ under, provider, since, limit, after }: RootFilter): readonly RootRow[] {
    this.#check("root");
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
    this.#check("root");
    const rows = `SELECT key FROM root WHERE ${VISIBLE("root.thread")} AND last_activity >= ? AND settled = 0 ORDER BY last_activity DESC, key`;
    return this.#sql(rows)
      .all(JSON.stringify(under), since)
      .map((row) => row.key as AgentKey);
  }

  spent(under: readonly string[], since: string | null): readonly SpentRow[] {
    this.#check("spent");
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
    const rows = this.#sql(`${within("session_id")} UNION ${within("agent_id")} ORDER BY uri`).all(
      id,
      `${id}\u{10ffff}`,
      JSON.stringify(under),
    );
    // Rarely, so all rows may be counted.
    if (rows.length === 0) this.#check("agent");
    return rows.map((row) => ({
      key: row.key as AgentKey,
      uri: row.uri as string,
      sessionId: row.session_id as string,
      agentId: row.agent_id as string | null,
      path: row.path as string | null,
    }));
  }
}
