import { partsOf } from "../core/ids.ts";
import { subtreeOf } from "../core/link.ts";
import type { AgentRow } from "../core/store.ts";
import { parseTarget, type Target } from "../core/uri.ts";
import { PROVIDERS } from "../providers/index.ts";
import { Failure } from "./failure.ts";
import type { Library } from "./library.ts";
import { allTrouble, unreadSources } from "./trouble.ts";

/** Finds fault with what can be told wrong before anything is read. */
export function checkTarget(input: string): void {
  parsed(input, () => true);
}

function parsed(input: string, exists: (id: string) => boolean): Target {
  const target = parseTarget(input, PROVIDERS, exists);
  if ("wrong" in target) throw new Failure("usage", target.wrong, [target.right]);
  return target;
}

/** Whether the words name a thread, by its own id, rather than an agent below one. */
export const asksForThread = (input: string): boolean => parsed(input, () => true).agent === null;

/** Finds the one agent that the words name, or says why there is none. */
export function resolve(library: Library, input: string): AgentRow {
  const rows = (id: string) => library.store.named(id, library.under);
  const target = parsed(input, (id) => rows(id).some((row) => namesOf(row).includes(id)));
  const thread = target.is === "latest" ? latest(library, target.provider) : named(library, target);
  return target.agent === null ? thread : below(library, thread, target.agent);
}

function latest(library: Library, provider: string | null): AgentRow {
  const [root] = library.store.roots({ under: library.under, limit: 1, ...(provider === null ? {} : { provider }) });
  if (root === undefined) throw provider === null ? emptyMachine(library) : nothing(library, `no ${provider} threads yet`);
  const { record, key } = root;
  return { key, uri: record.uri, sessionId: record.sessionId, agentId: record.agentId, path: null };
}

function named(library: Library, target: Extract<Target, { is: "named" }>): AgentRow {
  const found = library.store.named(target.thread, library.under).filter((row) => target.provider === null || partsOf(row.key).provider === target.provider);
  // A thread can be asked for by its own id even where it stands below another one.
  const threads = found.filter((row) => partsOf(row.key).agent === null);
  return one(
    fitting(threads, target.thread, (row) => [partsOf(row.key).thread]),
    () => {
      const inside = fitting(found, target.thread, (row) => [row.agentId]);
      const asked = target.agent === null ? [] : anywhere(library, target.agent);
      return nothing(library, `no thread ${target.thread}`, [
        ...(inside.length === 0 ? [] : [`it is the id of an agent: ${list(inside)}`]),
        ...(asked.length === 0 ? [] : [`${target.agent} is ${list(asked)}`]),
      ]);
    },
  );
}

/** The agent must be a descendant of the thread that was asked for, be that a root or itself somebody's child. */
function below(library: Library, thread: AgentRow, id: string): AgentRow {
  const inside = descendants(library, thread);
  return one(fitting(inside, id, namesOf), () => {
    const elsewhere = anywhere(library, id);
    if (elsewhere.some((row) => row.key === thread.key))
      return new Failure("not_found", `${id} is the thread itself, not an agent below it`, [`its URI: ${thread.uri}`]);
    if (elsewhere.length > 0) return new Failure("not_found", `${id} is not an agent below ${thread.uri}`, [`its URI: ${list(elsewhere)}`]);
    return new Failure("not_found", `no agent ${id} in ${thread.uri}`, [
      `agents of this thread: ${list(inside) || "none"}`,
      `next: retinue tree ${thread.uri}`,
    ]);
  });
}

function descendants(library: Library, thread: AgentRow): readonly AgentRow[] {
  const { provider } = partsOf(thread.key);
  const inTree = library.store
    .named(thread.sessionId, library.under)
    .filter((row) => row.agentId !== null && row.sessionId === thread.sessionId && row.key !== thread.key && partsOf(row.key).provider === provider);
  // Everything that carries a root's id stands below it; of a child's only a part does.
  if (thread.agentId === null) return inTree;
  const mine = new Set(subtreeOf(library.forestOf([thread.key]), thread.key));
  return inTree.filter((row) => mine.has(row.key));
}

/** Agents and threads of this id, wherever they stand. */
const anywhere = (library: Library, id: string) => fitting(library.store.named(id, library.under), id, namesOf);

/** All the names an agent goes by: its public id, its provider's own where that differs, and its path. */
function namesOf(row: AgentRow): readonly (string | null)[] {
  const { thread, agent } = partsOf(row.key);
  return row.agentId === null ? [thread] : [row.agentId, agent ?? thread, ...(row.path === null ? [] : [row.path])];
}

const MIN_PREFIX = 6;

function fitting(rows: readonly AgentRow[], id: string, namesOf: (row: AgentRow) => readonly (string | null)[]): AgentRow[] {
  const exact = rows.filter((row) => namesOf(row).includes(id));
  if (exact.length > 0 || id.length < MIN_PREFIX) return exact;
  return rows.filter((row) => namesOf(row).some((name) => name?.toLowerCase().startsWith(id.toLowerCase())));
}

function one(found: readonly AgentRow[], none: () => Failure): AgentRow {
  const [first, ...more] = found;
  if (first === undefined) throw none();
  if (more.length > 0)
    throw new Failure(
      "not_found",
      `ambiguous id: ${found.length} fit; write more of it`,
      found.slice(0, 10).map((row) => row.uri),
    );
  return first;
}

const SHOWN = 5;
const list = (rows: readonly AgentRow[]) =>
  rows
    .slice(0, SHOWN)
    .map((row) => row.uri)
    .join(", ") + (rows.length > SHOWN ? `, and ${rows.length - SHOWN} more` : "");

function nothing(library: Library, what: string, hint: readonly string[] = []): Failure {
  return new Failure("not_found", what, [...hint, searched(library), ...unread(library), "next: retinue ls"]);
}

/** Nothing of any product was found. */
export const emptyMachine = (library: Library) =>
  new Failure("not_found", "no threads found", [
    searched(library),
    "next: retinue demo shows recorded agents at work; retinue doctor says where was looked and what could not be read",
  ]);

/** What was asked for may stand in a file or a database that could not be read. */
const unread = (library: Library) =>
  unreadSources(allTrouble(library))
    .slice(0, SHOWN)
    .map(({ where, detail }) => `could not be read: ${where} (${detail}); next: retinue doctor`);

/** Where was looked, for a person who expected something there. */
export const searched = (library: Library) => `searched: ${library.roots.map((r) => `${r.path}${r.exists ? "" : " (not there)"}`).join(", ")}`;
