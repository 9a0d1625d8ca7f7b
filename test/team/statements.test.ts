import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Budgets } from "../../src/stores/postgres/budgets.ts";
import { type Database, openDatabase, type Parameter } from "../../src/stores/postgres/database.ts";
import { ingester } from "../../src/stores/postgres/ingest.ts";
import { CHANNEL, INGEST, NOTIFY, TOMBSTONE } from "../../src/stores/postgres/ingest-statements.ts";
import { migrate } from "../../src/stores/postgres/migrate.ts";
import { OVERVIEW } from "../../src/stores/postgres/overview-statements.ts";
import { createPartitions, dropEventsBefore } from "../../src/stores/postgres/partitions.ts";
import { READER } from "../../src/stores/postgres/reader-statements.ts";
import { OWNED_TABLES, SHARED_TABLES } from "../../src/stores/postgres/schema.ts";
import { TOKENS } from "../../src/stores/postgres/token-statements.ts";
import { Tokens } from "../../src/stores/postgres/tokens.ts";
import { ownerPrefix, searchFor, UNDATED, wordsFor } from "../../src/stores/postgres/values.ts";
import { freshDatabase } from "../support/postgres.ts";
import { isTest, sourceFiles, withoutComments } from "../support/source-files.ts";
import { agentDocument, eventDocument, HEAD, spentRow } from "./documents.ts";

const OWNER = "o3";
const isOwned = (table: string) => OWNED_TABLES.some((name) => name === table);

/** Tables that a statement names, with what it calls them. */
const tablesIn = (statement: string) =>
  [...statement.matchAll(/(from|join|into|update|using)\s+retinue\.(\w+)(?:\s+as)?(?:\s+(\w+))?/g)].map(
    ([, word = "", table = "", alias = ""]) => ({ word, table, alias }),
  );

/** What a statement does to rows of several owners. */
function crossings(statement: string): string[] {
  return tablesIn(statement)
    .filter(({ table }) => isOwned(table))
    .flatMap(({ word, table, alias }) => {
      if (word === "into")
        return /into retinue\.\w+(?: as \w+)?\s*\(owner,/.test(statement) &&
          /(?:select|values \()\s*\$1\b/.test(statement)
          ? []
          : [`${table} is written without the owner of the parameter`];
      return statement.includes(`${alias}.owner = $1`) ? [] : [`${table} ${alias} is not limited to the owner`];
    })
    .concat(/on conflict \((?!owner\b)/.test(statement) ? ["a key does not begin with the owner"] : []);
}

const ABOUT_SEVERAL = new Set(["seqs", "activity", "spentRows"]);

describe("every statement", () => {
  // Statements of different lists may have the same name.
  const all = [INGEST, READER, OVERVIEW].flatMap((list) => Object.entries(list));

  it.each(all.filter(([name]) => !ABOUT_SEVERAL.has(name)))(
    "about shipped data is about one owner: %s",
    (_, statement) => {
      expect(tablesIn(statement).length).toBeGreaterThan(0);
      expect(crossings(statement)).toEqual([]);
    },
  );

  it("about several owners joins nothing", () => {
    for (const statement of [READER.seqs, READER.activity, READER.spentRows])
      expect(tablesIn(statement).map(({ table }) => table)).toEqual(["owners"]);
  });

  it.each(Object.entries(TOKENS))("about tokens touches no shipped data: %s", (_, statement) => {
    expect(tablesIn(statement).filter(({ table }) => isOwned(table))).toEqual([]);
  });

  it("is in a file that this test reads", () => {
    const elsewhere = sourceFiles("src")
      .filter((file) => !isTest(file) && !/-statements\.ts$|postgres\/(?:schema|migrate)\.ts$/.test(file.path))
      .filter(({ text }) => /\b(?:from|join|into|update)\s+retinue\./.test(withoutComments(text)));
    expect(elsewhere.map(({ path }) => path)).toEqual([]);
  });

  it("is in one of the lists above", () => {
    const files = sourceFiles("src").filter(({ path }) => /postgres\/.*-statements\.ts$/.test(path));
    expect(files.map(({ path }) => path.split("/").at(-1)).sort()).toEqual([
      "ingest-statements.ts",
      "overview-statements.ts",
      "reader-statements.ts",
      "token-statements.ts",
    ]);
    const known = new Set<string>([
      ...[INGEST, READER, OVERVIEW, TOKENS].flatMap((list) => Object.values<string>(list)),
      NOTIFY,
      CHANNEL,
      TOMBSTONE,
    ]);
    const written = files.flatMap(({ text }) =>
      [...withoutComments(text).matchAll(/(`[^`]*`|"[^"\n]*")/g)].map(([, quoted = ""]) =>
        quoted.slice(1, -1).replace(/\$\{TOMBSTONE\}/, TOMBSTONE),
      ),
    );
    expect(written.length).toBeGreaterThan(60);
    expect(written.filter((one) => !known.has(one.replaceAll("\\\\", "\\")))).toEqual([]);
  });

  it("is caught by these rules if it is wrong", () => {
    expect(crossings("select a.uri from retinue.agents a where a.uri = $1")).not.toEqual([]);
    expect(
      crossings("select 1 from retinue.agents a join retinue.events e on e.agent = a.uri where a.owner = $1"),
    ).not.toEqual([]);
    expect(crossings("insert into retinue.spent (thread, owner) values ($1, $2)")).not.toEqual([]);
  });
});

describe("the schema", () => {
  let fresh: Awaited<ReturnType<typeof freshDatabase>>;
  let database: Database;
  beforeAll(async () => {
    fresh = await freshDatabase();
    database = await openDatabase(fresh.url);
    await Promise.all([migrate(database), migrate(database)]);
    await fill(database);
  });
  afterAll(async () => {
    await database.close();
    await fresh.drop();
  });

  it("is created once by servers that start together, and left alone later", async () => {
    expect(await migrate(database)).toEqual({ from: 3, to: 3 });
    const versions = await database.all("select version from retinue.schema");
    expect(versions).toHaveLength(1);
  });

  it("of a newer version is refused, unless it allows this one", async () => {
    await database.all("insert into retinue.schema (version, compatible_from) values (98, 1)");
    expect(await migrate(database)).toEqual({ from: 98, to: 98 });
    await database.all("insert into retinue.schema (version, compatible_from) values (99, 99)");
    await expect(migrate(database)).rejects.toThrow(/needs a retinue that knows schema 99/);
    await database.all("delete from retinue.schema where version > 50");
  });

  it("lists every table", async () => {
    const tables = await database.all<{ name: string }>(
      "select c.relname as name from pg_class c where c.relnamespace = 'retinue'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition order by 1",
    );
    expect(tables.map(({ name }) => name)).toEqual(["schema", ...OWNED_TABLES, ...SHARED_TABLES].sort());
  });

  it("has the owner first in every key and index of shipped data", async () => {
    const rows = await database.all<{ table: string; index: string; method: string; first: string }>(
      `select c.relname as table, i.relname as index, m.amname as method, a.attname as first
       from pg_index x join pg_class c on c.oid = x.indrelid join pg_class i on i.oid = x.indexrelid
       join pg_am m on m.oid = i.relam
       left join pg_attribute a on a.attrelid = c.oid and a.attnum = x.indkey[0]
       where c.relnamespace = 'retinue'::regnamespace`,
    );
    const owned = rows.filter(({ table }) => isOwned(table));
    expect(new Set(owned.map(({ table }) => table))).toEqual(new Set(OWNED_TABLES));
    expect(owned.filter(({ first, method }) => first !== "owner" && method !== "gin")).toEqual([]);
    // The words of an event contain its owner.
    expect(owned.filter(({ method }) => method === "gin").map(({ first }) => first)).toEqual(["words"]);
  });

  const THREAD = "claude://t7";
  const AGENTS = ["claude://t7", "claude://t7/a1"];
  const PLACES = '{"claude://t7": 0, "claude://t7/a1": 1}';
  /** A statement without parameters here does not compile. */
  const READING: Readonly<Record<keyof typeof READER | keyof typeof OVERVIEW, readonly Parameter[]>> = {
    seqs: [[OWNER, "o4"]],
    activity: [[OWNER, "o4"]],
    threads: [OWNER, "9999-12-31T00:00:00.000Z", "", false, null, null, null, null, null, 51],
    threadRecords: [OWNER, ["claude://t7", "claude://t8"]],
    agentByUri: [OWNER, THREAD],
    agentsNamed: [OWNER, "t77%"],
    agentsOfThread: [OWNER, THREAD],
    parentsOfThreads: [OWNER, [THREAD]],
    log: [OWNER, THREAD, THREAD],
    lastCut: [OWNER, THREAD, AGENTS],
    eventsOfAgent: [OWNER, THREAD, THREAD, 0, 200],
    countEvents: [OWNER, THREAD, AGENTS, 5],
    history: [OWNER, THREAD, AGENTS, 10, 0, 200, PLACES],
    arrivals: [OWNER, THREAD, AGENTS, 0, 0, 200, PLACES],
    event: [OWNER, THREAD, THREAD, "e3"],
    details: [OWNER, THREAD, AGENTS, "why"],
    lists: [OWNER, THREAD, AGENTS, "spans"],
    search: [OWNER, searchFor(OWNER, ["needle", "hay"]), 50, 5_000, "2026-05-01"],
    foundEvents: [OWNER, [THREAD], [THREAD], [3]],
    spentRows: [[OWNER, "o4"]],
    spent: [OWNER, "2026-06-20", null],
    months: [OWNER, "2026-06-01", "2026-07-01"],
    changedAgents: [OWNER, 1, 9, 5_001],
    changedEvents: [OWNER, 1, 9, 5_001],
    changedLists: [OWNER, 1, 9, 5_001],
    cutLogs: [OWNER, 1, 9, 5_001],
    running: [OWNER, 200],
    costs: [OWNER, "2026-06-20", null],
    month: [OWNER, "2026-06-01", "2026-07-01"],
    failed: [OWNER, "2026-06-01T00:00:00Z", 1_000],
    machines: [OWNER],
  };
  /** Those that look for rows before they write. */
  const WRITING = {
    floors: [OWNER, [THREAD]],
    logs: [OWNER, [THREAD], [THREAD]],
    lengthOfLog: [OWNER, THREAD, THREAD],
    storedEvents: [OWNER, [THREAD], [THREAD], [3]],
    removeEvents: [OWNER, [THREAD], [THREAD], [3]],
    removeEventsFrom: [OWNER, THREAD, THREAD, 3, 9],
    removeEventsOfThread: [OWNER, THREAD, 9],
    removeAgentsOfThread: [OWNER, THREAD, 9, 9],
    removeListsOfThread: [OWNER, THREAD, 9],
    removeDetailsOfThread: [OWNER, THREAD, 9],
    removeSpentOfThread: [OWNER, THREAD, 9],
    removeSpent: [OWNER, [THREAD], [THREAD]],
    shortenLogs: [OWNER, THREAD],
    threads: [OWNER, 9, [THREAD], ["m1"]],
    wanted: [OWNER, "m1", 100],
    dropCopies: [OWNER, "m1", [THREAD]],
    wantCopies: [OWNER, [THREAD]],
    rootRecords: [OWNER, [THREAD]],
    replaceAgents: [OWNER, THREAD, 9, 9],
    replaceLogs: [OWNER, THREAD, 9],
    setFloor: [OWNER, THREAD, 9],
    spentOfThreads: [OWNER, [THREAD]],
    months: [OWNER, ["2026-06-01"]],
    dropMonths: [OWNER, ["2026-06-01"]],
    countSpent: [OWNER, 1],
    setAhead: [OWNER, 9],
  } as const satisfies Partial<Record<keyof typeof INGEST, readonly Parameter[]>>;

  it.each([
    ...Object.entries(READING).map(
      ([name, given]) => [name, { ...READER, ...OVERVIEW }[name as "seqs"], given] as const,
    ),
    ...Object.entries(WRITING).map(([name, given]) => [`ingest ${name}`, INGEST[name as "floors"], given] as const),
  ])("has an index for %s", async (_, statement, parameters) => {
    const rows = await database.all<Record<string, string>>(`explain ${statement}`, parameters);
    const plan = rows.map((row) => Object.values(row)[0]).join("\n");
    expect(plan).toMatch(/Index|Bitmap/);
    expect(plan.match(/Seq Scan on \w+/g) ?? []).toEqual([]);
  });

  it("is changed in transactions about one owner each", async () => {
    const transactions: { statement: string; first: Parameter | undefined }[][] = [];
    const recorded: Database = {
      ...database,
      transaction: (work) =>
        database.transaction((queries) => {
          const statements: (typeof transactions)[number] = [];
          transactions.push(statements);
          return work({
            all: (statement, parameters = []) => {
              statements.push({ statement, first: parameters[0] });
              return queries.all(statement, parameters);
            },
          });
        }),
    };
    const [thread, other] = ["claude://n1", "claude://n2"];
    const ingest = ingester(recorded);
    for (const owner of ["o1", "o2"])
      await ingest(owner, HEAD, [
        agentDocument(thread, thread, 2),
        agentDocument(thread, `${thread}/a`, 2),
        eventDocument(thread, thread, 0, 2),
        { is: "events-from", thread, agent: thread, at: 1, revision: 3 },
        { is: "detail", thread, agent: thread, what: "spent", revision: 2, value: [spentRow(thread, 1)] },
        { is: "spans", thread, agent: thread, at: 0, revision: 2, items: [] },
        { is: "removed", thread, uri: `${thread}/a`, revision: 4 },
        { is: "removed", thread: other, uri: other, revision: 4 },
      ]);
    const tokens = new Tokens(recorded);
    const { id } = await tokens.create({ owner: "o1", scope: "ship", teams: ["core"], expiresAt: null });
    await tokens.revoke(id);
    await new Budgets(recorded).set({ of: "owner", name: "o1", usd: 1 });
    await dropEventsBefore(recorded, "2020-01-01");
    const owners = transactions.map((statements) => {
      const owned = statements.filter(({ statement }) => tablesIn(statement).some(({ table }) => isOwned(table)));
      return new Set(owned.map(({ first }) => first));
    });
    expect(transactions.length).toBeGreaterThan(5);
    expect(owners.filter((set) => set.size === 1)).toHaveLength(2);
    expect(owners.filter((set) => set.size > 1)).toEqual([]);
  });
});

/** Eight owners with 100 threads each, in which one event in a thousand contains a rare word. */
async function fill(database: Database): Promise<void> {
  const BUCKETS = [UNDATED, "2026-05-01", "2026-06-01"];
  await createPartitions(database, BUCKETS.slice(1));
  const prefixes = Array.from({ length: 8 }, (_, i) => `('o${i + 1}', '${ownerPrefix(`o${i + 1}`)}')`);
  const statements = [
    `insert into retinue.owners (owner, seq) select 'o' || o, 9 from generate_series(1, 3000) o`,
    `insert into retinue.machines (owner, machine, version, shipped_at)
     select 'o' || o, 'm' || m, '1', now() from generate_series(1, 400) o, generate_series(1, 10) m`,
    `insert into retinue.threads (owner, thread, seq, present, active_at, provider, project, status)
     select 'o' || o, 'claude://t' || t, 0, true, timestamptz '2026-06-01' + t * interval '1 minute', 'claude', 'p' || t % 5, 'completed'
     from generate_series(1, 8) o, generate_series(1, 100) t`,
    `insert into retinue.copies (owner, thread, machine, wanted)
     select t.owner, t.thread, 'm' || m, t.thread like '%7' from retinue.threads t, generate_series(1, 3) m`,
    `insert into retinue.agents (owner, thread, uri, parent, place, revision, seq, present, provider, session_id, agent_id, status, refused, active_at, record)
     select 'o' || o, 'claude://t' || t, 'claude://t' || t || case when a = 0 then '' else '/a' || a end, null, a, 1, 0, true, 'claude',
       't' || t, case when a = 0 then null else 'a' || a end, case when t = 50 then 'running' when t % 20 = 1 then 'errored' else 'completed' end, 0,
       timestamptz '2026-06-01' + t * interval '1 minute', repeat('x', 500)
     from generate_series(1, 8) o, generate_series(1, 100) t, generate_series(0, 2) a`,
    `insert into retinue.logs (owner, thread, agent, length, cuts, cut_seq)
     select a.owner, a.thread, a.uri, 10, '[]', 0 from retinue.agents a`,
    `insert into retinue.events (owner, thread, agent, position, bucket, revision, seq, id, at, kind, event, words)
     select a.owner, a.thread, a.uri, n, (array['${BUCKETS.join("','")}']::date[])[1 + n % 3], 1, 0, 'e' || n, timestamptz '2026-06-01' + n * interval '1 second', 'assistant', repeat('x', 300),
       array_to_tsvector(array[p.prefix || 'hay', p.prefix || case when n = 7 and a.thread like '%9' then 'needle' else 'straw' end])
     from retinue.agents a join (values ${prefixes.join(", ")}) p (owner, prefix) on p.owner = a.owner, generate_series(0, 9) n`,
    `insert into retinue.lists (owner, thread, agent, what, at, revision, seq, items)
     select a.owner, a.thread, a.uri, 'spans', 0, 1, 0, '[]' from retinue.agents a`,
    `insert into retinue.details (owner, thread, agent, what, revision, value)
     select a.owner, a.thread, a.uri, w, 1, '{}' from retinue.agents a, unnest(array['why', 'messages']) w`,
    `insert into retinue.spent (owner, thread, agent, n, revision, day, tokens, calls, row)
     select a.owner, a.thread, a.uri, n, 1, date '2026-01-01' + (row_number() over ())::integer % 180, 1, 1, '{}' from retinue.agents a, generate_series(0, 2) n`,
    `insert into retinue.months (owner, month, sums)
     select 'o' || o, (date '2026-01-01' + m * interval '1 month')::date, '{"total":[[],{},[]],"by":{},"full":[]}' from generate_series(1, 300) o, generate_series(0, 11) m`,
    `analyze`,
  ];
  for (const statement of statements) await database.all(statement);
  expect(wordsFor(OWNER, "Hay")).toBe(`${ownerPrefix(OWNER)}hay`);
}
