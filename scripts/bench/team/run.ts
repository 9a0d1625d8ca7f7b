/**
 * A team server with the work of 1,000 developers on a real PostgreSQL: what a shipment costs, and how long the pages
 * take at several sizes. Prints a section for docs/benchmarks.md: `node scripts/bench/team/run.ts 1000000,10000000`.
 */
import { bytes, markdownTable, milliseconds, thousands } from "../format.ts";
import { COMMON_WORD, documentsOf, RARE_WORD, shipmentsOf, type Work } from "./documents.ts";
import { copyOwner } from "./fill.ts";
import { BenchSite } from "./site.ts";

const sizes = (process.argv[2] ?? "1000000").split(",").map(Number);
const OWNERS = Math.min(1_000, Math.ceil(Math.max(...sizes) / 200));
const AGENTS = 5;
const EVENTS = 40;
const LARGE: Work = { threads: 1, agents: 1_000, events: 5 };
const REQUESTS = sizes.every((size) => size < 100_000) ? 5 : 40;
const CLIENTS = 4;
const SHIPMENT_SIZE = 2_000;
const notify = (text: string) => process.stderr.write(`${text}\n`);
const now = Date.now();

const site = await BenchSite.start();
process.on("exit", () => void site.stop());
const admin = await site.token("boss", "admin");

interface Cpu {
  readonly server: number;
  readonly database: number;
}

async function measured<T>(work: () => Promise<T>): Promise<{ readonly cpu: Cpu; readonly result: T }> {
  const before = site.cpu;
  const result = await work();
  const after = site.cpu;
  return { cpu: { server: after.server - before.server, database: after.database - before.database }, result };
}

async function ship(owner: number, work: Work): Promise<{ documents: number; events: number; bytes: number }> {
  const token = await site.token(`dev${owner}`, "ship");
  const sent = await post(token, shipmentsOf(documentsOf(owner, work, now), SHIPMENT_SIZE));
  return { ...sent, events: work.threads * work.agents * work.events };
}

async function post(token: string, shipments: Iterable<{ body: Buffer; count: number }>) {
  const sum = { documents: 0, bytes: 0 };
  for (const { body, count } of shipments) {
    const response = await fetch(new URL("/api/ingest", site.url), {
      method: "POST",
      body: new Uint8Array(body),
      headers: { Authorization: `Bearer ${token}`, "Content-Encoding": "gzip" },
    });
    if (response.status !== 200) throw new Error(`a shipment was refused: ${await response.text()}`);
    sum.documents += count;
    sum.bytes += body.length;
  }
  return sum;
}

interface Page {
  readonly name: string;
  readonly path: () => string;
}

const owner = () => `dev${2 + Math.floor(Math.random() * (OWNERS - 2))}`;
const PAGES: readonly Page[] = [
  { name: `thread list, ${thousands(OWNERS)} people`, path: () => "/api/threads?limit=50" },
  { name: "thread list, one person", path: () => `/api/threads?limit=50&owner=${owner()}` },
  {
    name: "tree of 1,000 agents",
    path: () => `/api/agents/${encodeURIComponent("claude://00000001-0000-4000-8000-000000000000")}?owner=dev1`,
  },
  { name: `search, a rare word, ${thousands(OWNERS)} people`, path: () => `/api/search?q=${RARE_WORD}` },
  { name: `search, a common word, ${thousands(OWNERS)} people`, path: () => `/api/search?q=${COMMON_WORD}` },
  { name: "search, a common word, one person", path: () => `/api/search?q=${COMMON_WORD}&owner=${owner()}` },
  { name: `costs, ${thousands(OWNERS)} people`, path: () => "/api/team/costs" },
  { name: `statistics, ${thousands(OWNERS)} people`, path: () => "/api/stats" },
  { name: "who runs what now", path: () => "/api/team/now" },
];

async function timesOf({ path }: Page): Promise<{ readonly p50: number; readonly p95: number; readonly cpu: Cpu }> {
  const times: number[] = [];
  let left = REQUESTS;
  const client = async () => {
    for (; left > 0; ) {
      left -= 1;
      const began = performance.now();
      const response = await fetch(new URL(path(), site.url), { headers: { Authorization: `Bearer ${admin}` } });
      if (response.status !== 200) throw new Error(`${path()}: ${response.status} ${await response.text()}`);
      await response.arrayBuffer();
      times.push((performance.now() - began) / 1_000);
    }
  };
  const { cpu } = await measured(() => Promise.all(Array.from({ length: CLIENTS }, client)));
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), cpu: { server: cpu.server / REQUESTS, database: cpu.database / REQUESTS } };
}

await ship(1, LARGE);
const rows = new Map(PAGES.map(({ name }) => [name, [name]]));
const memory: string[] = [];
let filled = 0;
for (const [i, size] of sizes.entries()) {
  const each = size / OWNERS;
  const original = 20_000 + i;
  notify(`filling ${thousands(size)} events`);
  await ship(original, { threads: Math.max(1, Math.round(each / AGENTS / EVENTS)), agents: AGENTS, events: EVENTS });
  // Each size replaces the smaller one.
  if (i > 0)
    for (const table of ["events", "agents", "threads", "logs", "details", "spent", "months", "owners", "machines"])
      await site.sql.all(`delete from retinue.${table} where owner ~ '^dev[0-9]{1,4}$' and owner <> 'dev1'`);
  await site.loading(() => copyOwner(site.sql, `dev${original}`, 2, OWNERS, notify));
  const [count] = await site.sql.all<{ events: number; bytes: number }>(
    "select count(*)::int as events, (select sum(pg_total_relation_size(c.oid))::bigint::float8 from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'retinue' and c.relkind = 'r') as bytes from retinue.events",
  );
  filled = count?.events ?? 0;
  notify(`${thousands(filled)} events, ${bytes(count?.bytes ?? 0)}`);
  memory.push(`${thousands(filled)} events and what belongs to them take ${bytes(count?.bytes ?? 0)} with all indexes`);
  for (const page of PAGES) {
    await timesOf({ ...page });
    const { p50, p95, cpu } = await timesOf(page);
    rows
      .get(page.name)
      ?.push(milliseconds(p50), milliseconds(p95), milliseconds(cpu.server), milliseconds(cpu.database));
    notify(`${page.name}: ${milliseconds(p95)}, CPU ${milliseconds(cpu.server)} + ${milliseconds(cpu.database)}`);
  }
}
notify("shipping");
const ingested = await measured(async () => {
  const all = await Promise.all(
    [10_001, 10_002, 10_003, 10_004].map((n) =>
      ship(n, { threads: Math.min(50, (sizes[0] ?? 0) / 4_000), agents: AGENTS, events: EVENTS }),
    ),
  );
  return all.reduce((a, b) => ({
    documents: a.documents + b.documents,
    events: a.events + b.events,
    bytes: a.bytes + b.bytes,
  }));
});
notify("shipping a few documents at a time");
const SMALL = 300;
const small = await measured(async () => {
  const token = await site.token("dev10005", "ship");
  const documents = [...documentsOf(10_005, { threads: 1, agents: 1, events: SMALL * 2 }, now)];
  for (let n = 0; n < SMALL; n += 1) await post(token, [...shipmentsOf(documents.slice(2 * n, 2 * n + 2), 2)]);
});
const { cpu, result } = ingested;
const core = cpu.server + cpu.database;
const rate = (count: number) => thousands(Math.round(count / core));
console.log(`## Team server

\`retinue serve --store\` on PostgreSQL with the work of ${thousands(OWNERS)} developers, over HTTP on loopback. fsync is on. CPU is that of the server and of all processes of PostgreSQL together.

Shipping: ${thousands(result.documents)} documents (${thousands(result.events)} events, ${bytes(result.bytes)} compressed) of four machines at once took ${core.toFixed(1)} s of CPU (${cpu.server.toFixed(1)} s in the server): ${rate(result.documents)} documents or ${rate(result.events)} events a second per core. A shipment of two documents takes ${milliseconds(small.cpu.server / SMALL)} in the server and ${milliseconds(small.cpu.database / SMALL)} in PostgreSQL.

${CLIENTS} clients at once, ${REQUESTS} requests each page. For ${sizes.map(thousands).join(" and ")} events: median, 95th percentile, and CPU of one request in the server and in PostgreSQL.

${markdownTable(["", ...sizes.flatMap((size) => [`${thousands(size)}: median`, "p95", "CPU server", "CPU PostgreSQL"])], [...rows.values()])}

${memory.join("; ")}. The server takes ${bytes(site.memory.now)} of memory, at most ${bytes(site.memory.peak)}.`);
await site.stop();
process.exit(0);
