/** Everything about a machine's threads, computed there and answered by a team server, one line each, to be compared. */
import { explainAgent } from "../../../src/app/explain/explain.ts";
import { Index } from "../../../src/app/ingest/index-file.ts";
import { Library } from "../../../src/app/ingest/library.ts";
import { listPrice } from "../../../src/app/query/prices.ts";
import { explain } from "../../../src/app/query/why.ts";
import { loadSettings } from "../../../src/app/settings/settings.ts";
import { Connection, shipOnce } from "../../../src/app/ship/connection.ts";
import { targetOf } from "../../../src/app/ship/target.ts";
import { agentOf, subtreeOf } from "../../../src/core/link/forest.ts";
import { DEFAULT_REDACTION, Redactor } from "../../../src/core/redaction/redaction.ts";
import type { AgentRecord } from "../../../src/core/views/agent.ts";
import type { AgentEvent } from "../../../src/core/views/event.ts";
import { treeOf } from "../../../src/core/views/record.ts";
import { spansOf } from "../../../src/core/views/spans.ts";
import { GROUPS, type SpentRow, spentRows } from "../../../src/core/views/stats.ts";
import { statsBy } from "../../../src/core/views/stats-sums.ts";
import { shortened } from "../../../src/server/cut.ts";
import { localEvents } from "../../support/local-events.ts";
import type { State } from "../state.ts";
import type { Shipping } from "./machine.ts";

const REDACTOR = new Redactor(DEFAULT_REDACTION);
const PATIENCE_MS = 120_000;
const PAGE = 1_000;

/** The same text for equal values: keys are sorted, and sums of costs do not depend on their order. */
function text(value: unknown): string {
  return JSON.stringify(value, (key, item: unknown) => {
    if (key === "owner") return undefined;
    if (typeof item === "number" && !Number.isInteger(item)) return Number(item.toPrecision(12));
    if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
    return Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

const statsLine = (group: string, lines: readonly { readonly key: string | null }[]) =>
  `stats ${group} ${text(lines.toSorted((a, b) => String(a.key).localeCompare(String(b.key))))}`;

/** The index of a machine, as of a time when nothing runs any more. */
export async function libraryOf({ env }: Shipping, now: number): Promise<Library> {
  const store = await Index.open({ env, notify: () => {}, retries: false });
  const library = new Library({ env, store, price: listPrice, now: () => now, liveness: () => "unknown" });
  await library.refresh();
  return library;
}

/** Ships the rest, undisturbed, or throws. Returns the number of documents that were sent before and now. */
export async function shipRest(
  { env }: Shipping,
  library: Library,
  address: string,
): Promise<{ readonly before: number; readonly now: number }> {
  const settings = await loadSettings(env);
  const target = targetOf(env, settings, address);
  if (target === null) throw new Error("no target");
  const { signal } = new AbortController();
  const connection = await Connection.open({ env, settings, target, library, notify: () => {}, signal });
  try {
    const before = connection.totals().documents;
    const left = await shipOnce(connection, PATIENCE_MS, signal);
    if (left !== null) throw new Error(`not everything was acknowledged: ${left}`);
    return { before, now: connection.shipper.work.documents };
  } finally {
    connection.close();
  }
}

export async function localState(library: Library): Promise<State> {
  const lines: string[] = [];
  const spent: SpentRow[] = [];
  for (const forest of library.forests())
    for (const root of forest.roots) {
      const tree = treeOf(forest, root, library.price);
      lines.push(`tree ${text(REDACTOR.tree(tree))}`);
      lines.push(`explain ${tree.uri} ${text(await explainAgent(library, forest, root))}`);
      spent.push(...spentRows(forest, root, tree, library.price));
      for (const key of subtreeOf(forest, root)) {
        const agent = agentOf(forest, key);
        for (const event of await localEvents(library, forest, key)) lines.push(`event ${text(shortened(event))}`);
        for (const span of spansOf(forest, key)) lines.push(`span ${agent.uri} ${text(span)}`);
        lines.push(`why ${agent.uri} ${text(REDACTOR.why(explain(forest, agent)))}`);
      }
    }
  for (const group of GROUPS) lines.push(statsLine(group, statsBy(spent, group)));
  return lines;
}

/** The same from a server, for one owner. */
export async function answeredState(address: string, token: string, owner: string): Promise<State> {
  const get = async <T>(path: string): Promise<T> => {
    const url = new URL(path, address);
    url.searchParams.set("owner", owner);
    const response = await fetch(url, { headers: { Authorization: `Bearer ${token}` } });
    if (response.status !== 200) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as T;
  };
  const lines: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const from: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const page = await get<{ items: AgentRecord[]; next: string | null }>(`/api/threads?limit=100${from}`);
    for (const { uri } of page.items) lines.push(...(await threadLines(get, uri)));
    cursor = page.next;
  }
  const { by } = await get<{ by: Record<string, { key: string | null }[]> }>("/api/stats");
  for (const group of GROUPS) lines.push(statsLine(group, by[group] ?? []));
  return lines;
}

type Get = <T>(path: string) => Promise<T>;
interface Node extends AgentRecord {
  readonly children: readonly Node[];
}

async function threadLines(get: Get, thread: string): Promise<string[]> {
  const at = (uri: string) => `/api/agents/${encodeURIComponent(uri)}`;
  const tree = await get<Node>(at(thread));
  const lines = [`tree ${text(tree)}`, `explain ${thread} ${text(await get(`${at(thread)}/explain`))}`];
  const { items } = await get<{ items: { uri: string; spans: unknown[] }[] }>(`${at(thread)}/spans`);
  for (const { uri, spans } of items) for (const span of spans) lines.push(`span ${uri} ${text(span)}`);
  const agents = [tree];
  // Grows during the loop.
  for (const { uri, children } of agents) {
    agents.push(...children);
    lines.push(`why ${uri} ${text(await get(`${at(uri)}/why`))}`);
    for (let after = ""; ; ) {
      const page: { items: AgentEvent[]; next: string } = await get(`${at(uri)}/events?limit=${PAGE}${after}`);
      for (const event of page.items) lines.push(`event ${text(event)}`);
      if (page.items.length < PAGE) break;
      after = `&after=${encodeURIComponent(page.next)}`;
    }
  }
  return lines;
}
