import { partsOf } from "../../core/facts/ids.ts";
import { dirname } from "../../transports/system/paths.ts";
import type { Backlog, TreeNames } from "./backlog.ts";
import type { Library, ThreadFilter, ThreadRow } from "./library.ts";

/** Bytes read between two checks of the page. */
const PORTION = { bytes: 2 << 20, files: 600 } as const;

/**
 * Reads, newest first, until the threads that `page` requests are correct, and leaves the rest in the backlog.
 * A file is assumed to be at least as new as its records.
 */
export async function readPage(
  library: Library,
  backlog: Backlog,
  page: ThreadFilter,
  read: (paths: readonly string[]) => Promise<void>,
): Promise<void> {
  const limit = page.limit ?? Number.POSITIVE_INFINITY;
  for (let left = limit; backlog.newestMs !== null; ) {
    const rows = rowsIfComplete(library, page, backlog.newestMs);
    const paths =
      rows === null
        ? backlog.next({ ...PORTION, groups: left })
        : backlog.concerning(rows.map((row) => namesOf(library, row)));
    if (paths.length === 0) return;
    await read(paths);
    // A thread needs at least one group, so the first check can wait for as many groups as threads are requested.
    left = Math.max(1, Math.ceil(limit / 4));
  }
}

/** The threads of the page, if no file modified before `unreadMs` can change the selection. */
function rowsIfComplete(library: Library, page: ThreadFilter, unreadMs: number): readonly ThreadRow[] | null {
  const isPast =
    (page.since !== undefined && unreadMs < page.since) ||
    (page.running === true && unreadMs < library.now() - library.longestSilenceMs);
  const rows = [...library.threadRows(isPast ? page : { ...page, since: Math.max(page.since ?? 0, unreadMs) })];
  return isPast || rows.length >= (page.limit ?? Number.POSITIVE_INFINITY) ? rows : null;
}

function namesOf(library: Library, { record, place }: ThreadRow): TreeNames {
  const agents = library.store.named(record.sessionId, library.under);
  const keys = [place.key, ...agents.map((agent) => agent.key)].map(partsOf);
  const ids = [
    ...keys.flatMap(({ thread, agent }) => (agent === null ? [thread] : [thread, agent])),
    ...agents.flatMap(({ agentId }) => agentId ?? []),
  ];
  const origin = record.forkedFrom?.split("://")[1]?.split("/") ?? [];
  return {
    ids: [...new Set([...ids, ...origin])],
    folders: [...new Set(record.records.map(({ path }) => dirname(path)))],
    startedMs: record.startedAt === null ? null : Date.parse(record.startedAt),
  };
}
