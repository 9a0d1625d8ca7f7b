import { partsOf } from "../../core/facts/ids.ts";
import { parseTarget, type Target } from "../../core/facts/uri.ts";
import { subtreeOf } from "../../core/link/forest.ts";
import type { AgentRow } from "../../core/ports/store.ts";
import { plural } from "../../core/tools/format.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { Failure } from "../failure.ts";
import type { Library } from "../ingest/library.ts";
import { allTrouble, unreadSources } from "./trouble.ts";

/** Throws if the URI is invalid, without reading anything. */
export function checkTarget(input: string): void {
  parsedTarget(input, () => true);
}

/** Whether an id of an agent can be the id of a thread of its own. */
export const threadIdOf = (provider: string, id: string): boolean =>
  PROVIDERS.find(({ name }) => name === provider)?.isThreadId(id) ?? false;

/** The parts of a URI. Throws if it is invalid; ids that exist are valid. */
export function parsedTarget(input: string, exists: (id: string) => boolean): Target {
  const target = parseTarget(input, PROVIDERS, exists);
  if ("wrong" in target) throw new Failure("usage", target.wrong, [target.right]);
  return target;
}

/** Whether the input names a thread by its id rather than an agent below one. */
export const isThreadUri = (input: string): boolean => parsedTarget(input, () => true).agent === null;

/** Finds the agent that the input names, or throws a `Failure` with the reason. */
export function resolve(library: Library, input: string): AgentRow {
  const rows = (id: string) => library.store.named(id, library.under);
  const target = parsedTarget(input, (id) => rows(id).some((row) => namesOf(row).includes(id)));
  const thread = target.is === "latest" ? latest(library, target.provider) : named(library, target);
  return target.agent === null ? thread : below(library, thread, target.agent);
}

function latest(library: Library, provider: string | null): AgentRow {
  const [root] = library.store.roots({ under: library.under, limit: 1, ...(provider === null ? {} : { provider }) });
  if (root === undefined)
    throw provider === null ? noThreadsFound(library) : nothing(library, `no ${provider} threads yet`);
  const { record, key } = root;
  return { key, uri: record.uri, sessionId: record.sessionId, agentId: record.agentId, path: null };
}

function named(library: Library, target: Extract<Target, { is: "named" }>): AgentRow {
  const found = library.store
    .named(target.thread, library.under)
    .filter((row) => target.provider === null || partsOf(row.key).provider === target.provider);
  // A child thread can be addressed by its own id.
  const threads = found.filter((row) => partsOf(row.key).agent === null);
  return one(
    fitting(threads, target.thread, (row) => [partsOf(row.key).thread]),
    target.thread,
    () => {
      const inside = fitting(found, target.thread, (row) => [row.agentId]);
      const elsewhere = target.agent === null ? [] : anywhere(library, target.agent);
      return nothing(library, `no thread ${target.thread}`, [
        ...(inside.length === 0 ? [] : [`it is the id of an agent: ${list(inside)}`]),
        ...(elsewhere.length === 0 ? [] : [`${target.agent} is ${list(elsewhere)}`]),
      ]);
    },
  );
}

/** The agent must be a descendant of the thread, which may be a root or itself a child. */
function below(library: Library, thread: AgentRow, id: string): AgentRow {
  const inside = descendants(library, thread);
  return one(fitting(inside, id, namesOf), id, () => {
    const elsewhere = anywhere(library, id);
    if (elsewhere.some((row) => row.key === thread.key))
      return new Failure("not_found", `${id} is the thread itself, not an agent below it`, [`its URI: ${thread.uri}`]);
    if (elsewhere.length > 0)
      return new Failure("not_found", `${id} is not an agent below ${thread.uri}`, [`its URI: ${list(elsewhere)}`]);
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
    .filter(
      (row) =>
        row.agentId !== null &&
        row.sessionId === thread.sessionId &&
        row.key !== thread.key &&
        partsOf(row.key).provider === provider,
    );
  // All agents with a root's id are below it; of a child thread only some are.
  if (thread.agentId === null) return inTree;
  const subtree = new Set(subtreeOf(library.forestOf([thread.key]), thread.key));
  return inTree.filter((row) => subtree.has(row.key));
}

/** Agents and threads with this id in any tree. */
const anywhere = (library: Library, id: string) => fitting(library.store.named(id, library.under), id, namesOf);

/** All names of an agent: its public id, its native id if that differs, and its path. */
function namesOf(row: AgentRow): readonly (string | null)[] {
  const { thread, agent } = partsOf(row.key);
  return row.agentId === null ? [thread] : [row.agentId, agent ?? thread, ...(row.path === null ? [] : [row.path])];
}

const MIN_PREFIX = 6;

function fitting(
  rows: readonly AgentRow[],
  id: string,
  namesOf: (row: AgentRow) => readonly (string | null)[],
): AgentRow[] {
  const exact = rows.filter((row) => namesOf(row).includes(id));
  if (exact.length > 0 || id.length < MIN_PREFIX) return exact;
  return rows.filter((row) => namesOf(row).some((name) => name?.toLowerCase().startsWith(id.toLowerCase())));
}

/** The only match of an id. Throws if there is none, or several. */
function one(found: readonly AgentRow[], id: string, none: () => Failure): AgentRow {
  const [first, ...more] = found;
  if (first === undefined) throw none();
  if (more.length > 0)
    throw new Failure(
      "not_found",
      `ambiguous id ${JSON.stringify(id)}: ${found.length} matches; use more characters`,
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

/** No agent matches: names the folders that were searched and what could not be read. */
function nothing(library: Library, what: string, hint: readonly string[] = []): Failure {
  return new Failure("not_found", what, [
    ...hint,
    searched(library),
    ...unread(library),
    ...notReadYet(library),
    "next: retinue ls",
  ]);
}

/** The agent may be in a file that is not read yet. */
function notReadYet({ reading }: Library): readonly string[] {
  if (reading === null) return [];
  return [
    `not everything was read yet: ${plural(reading.all - reading.done, "file")} last modified before ${new Date(reading.reachesMs).toISOString()} ${reading.all - reading.done === 1 ? "is" : "are"} left`,
  ];
}

/** The error if no records of any product were found. */
export const noThreadsFound = (library: Library) =>
  new Failure("not_found", "no threads found", [
    searched(library),
    "next: retinue demo shows replayed agents; retinue doctor lists the folders searched and what could not be read",
  ]);

/** The agent may be in a file or database that could not be read. */
const unread = (library: Library) =>
  unreadSources(allTrouble(library))
    .slice(0, SHOWN)
    .map(({ where, detail }) => `could not be read: ${where} (${detail}); next: retinue doctor`);

/** The roots that were searched. */
export const searched = (library: Library) =>
  `searched: ${library.roots.map((r) => `${r.path}${r.exists ? "" : " (not found)"}`).join(", ")}`;
