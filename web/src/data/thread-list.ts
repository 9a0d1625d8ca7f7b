import { DAY_MS } from "./days.ts";
import { month } from "./format.ts";
import type { AgentRecord, Status } from "./types.ts";

export interface ThreadFilters {
  readonly owner: string | null;
  readonly provider: string | null;
  /** The project's folder. */
  readonly project: string | null;
  readonly status: string | null;
  /** A period as in the API: `1d`, `1w`. */
  readonly since: string | null;
}

export type ThreadRow =
  | { readonly is: "heading"; readonly id: string; readonly text: string; readonly count: number }
  /** `id` is the result of `threadKey`. */
  | { readonly is: "thread"; readonly id: string };

/** Includes the owner, because on a team server several owners may have the same thread. */
export const threadKey = ({ uri, owner = "" }: Pick<AgentRecord, "uri" | "owner">) => `${owner} ${uri}`;

/** Running threads first, then by the day of the last activity, newest first. */
export function threadRows(records: Iterable<AgentRecord>, filters: ThreadFilters, now: number): ThreadRow[] {
  const shown = [...records].filter((record) => matches(record, filters, now)).sort(newestFirst);
  const groups = Map.groupBy(shown, (record) => groupOf(record, now));
  const isRunning = ([name]: [string, unknown]) => name === RUNNING;
  return [...groups]
    .sort((a, b) => Number(isRunning(b)) - Number(isRunning(a)))
    .flatMap(([text, list]) => [
      { is: "heading", id: text, text, count: list.length } as const,
      ...list.map((record) => ({ is: "thread", id: threadKey(record) }) as const),
    ]);
}

const RUNNING = "Running now";

function hasRunningAgents(record: AgentRecord): boolean {
  return record.status === "running" || (record.counts.byStatus.running ?? 0) > 0;
}

function matches(
  record: AgentRecord,
  { owner, provider, project, status, since }: ThreadFilters,
  now: number,
): boolean {
  if (owner !== null && record.owner !== owner) return false;
  if (provider !== null && record.provider !== provider) return false;
  if (project !== null && record.cwd !== project) return false;
  if (since !== null && !(Date.parse(record.lastActivityAt ?? "") >= now - sinceMs(since))) return false;
  if (status === null) return true;
  return status === "running"
    ? hasRunningAgents(record)
    : record.status === status || (record.counts.byStatus[status as Status] ?? 0) > 0;
}

const sinceMs = (since: string) =>
  Number(/^\d+/.exec(since)?.[0] ?? 0) * (since.endsWith("w") ? 7 : 1) * (since.endsWith("h") ? DAY_MS / 24 : DAY_MS);

function newestFirst(a: AgentRecord, b: AgentRecord): number {
  const [x, y] = [a.lastActivityAt ?? "", b.lastActivityAt ?? ""];
  return x < y ? 1 : x > y ? -1 : a.uri < b.uri ? -1 : 1;
}

function groupOf(record: AgentRecord, now: number): string {
  if (hasRunningAgents(record)) return RUNNING;
  const at = record.lastActivityAt === null ? Number.NaN : Date.parse(record.lastActivityAt);
  if (Number.isNaN(at)) return "Unknown time";
  if (at >= new Date(now).setHours(24, 0, 0, 0)) return "In the future";
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (at >= midnight) return "Today";
  if (at >= midnight - DAY_MS) return "Yesterday";
  if (at >= midnight - 6 * DAY_MS) return "This week";
  return month(at);
}
