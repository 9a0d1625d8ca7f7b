import { cached } from "../tools/collections.ts";
import type { AgentRecord } from "./agent.ts";
import { AGENTS, type Span } from "./span.ts";

/** The lifetime of an agent, for the critical path. */
export interface Life {
  /** Epoch milliseconds. */
  readonly from: number;
  /** The current time if it is running. */
  readonly to: number;
  readonly spans: readonly Span[];
}

/** Undefined if it never began. An end that is unreadable or before the start is the start. */
export function lifeOf(
  { startedAt, endedAt, lastActivityAt, status }: AgentRecord,
  spans: readonly Span[],
  now: number,
): Life | undefined {
  const from = Date.parse(startedAt ?? "");
  if (startedAt === null || Number.isNaN(from)) return undefined;
  const to = status === "running" ? now : Date.parse(endedAt ?? lastActivityAt ?? startedAt);
  return { from, to: to > from ? to : from, spans };
}

/** The interval in which this agent is on the critical path. */
export interface CriticalPart {
  readonly uri: string;
  readonly from: number;
  readonly to: number;
}

interface Wait {
  readonly uri: string;
  readonly since: number;
  /** When the child began the work that was waited for, and when it ended. */
  readonly from: number;
  readonly to: number;
}

/** Background agents may outlive the thread: the end is then that of the last of them. */
export function untilLastEnd(
  root: string,
  lives: ReadonlyMap<string, Life | undefined>,
): (uri: string) => Life | undefined {
  const own = lives.get(root);
  if (own === undefined) return (uri) => lives.get(uri);
  const [last, until] = [...lives].reduce<[string, number]>(
    (latest, [uri, life]) => (life !== undefined && life.to > latest[1] ? [uri, life.to] : latest),
    [root, own.to],
  );
  const waited: Span = {
    kind: "wait",
    from: own.to,
    to: until,
    name: AGENTS,
    callId: null,
    tokens: 0,
    outputTokens: 0,
    end: "done",
    agents: [last],
  };
  const whole = last === root ? own : { ...own, to: until, spans: [...own.spans, waited] };
  return (uri) => (uri === root ? whole : lives.get(uri));
}

/**
 * The critical path, oldest part first: from the end of an agent back to the child that it waited for, from the start
 * of that child back to its parent, and so on.
 */
export function criticalPath(root: string, find: (uri: string) => Life | undefined): CriticalPart[] {
  const parts: CriticalPart[] = [];
  const waiting = new Map<string, readonly Wait[]>();
  const waitsOf = (uri: string, life: Life) => cached(waiting, uri, () => waitsIn(life, find));
  const whole = find(root);
  const stack = whole === undefined ? [] : [{ uri: root, since: whole.from, until: whole.to }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { uri, since, until } = at;
    const life = find(uri) as Life;
    // Records may contradict each other: ignore waits for the agent itself or for one that waits for it.
    const isAbove = (one: string) => one === uri || stack.some((frame) => frame.uri === one);
    const wait = waitsOf(uri, life).find(
      (one) => one.to <= until && one.to > Math.max(since, one.since) && one.from < one.to && !isAbove(one.uri),
    );
    const from = wait === undefined ? Math.min(since, until) : wait.to;
    if (until > from) parts.push({ uri, from, to: until });
    if (wait === undefined) continue;
    stack.push({ uri, since, until: wait.from }, { uri: wait.uri, since: wait.from, until: wait.to });
  }
  return parts.reverse();
}

/** When the work began that was waited for: a revived agent began again. */
function workStart({ from, spans }: Life, since: number): number {
  const isAtWork = spans.some((span) => span.from <= since && (span.to ?? Number.POSITIVE_INFINITY) > since);
  return from >= since || isAtWork ? from : (spans.find((span) => span.from > since)?.from ?? from);
}

/** Latest first. */
function waitsIn(life: Life, find: (uri: string) => Life | undefined): Wait[] {
  const waits = life.spans.flatMap((span) =>
    span.kind !== "wait"
      ? []
      : span.agents.flatMap((uri) => {
          const child = find(uri);
          return child === undefined
            ? []
            : [
                {
                  uri,
                  since: span.from,
                  from: workStart(child, span.from),
                  to: Math.min(child.to, span.to ?? life.to),
                },
              ];
        }),
  );
  return waits.sort((a, b) => b.to - a.to || a.from - b.from || (a.uri < b.uri ? -1 : 1));
}

/** How long each agent is on the path. */
export function sharesOf(path: readonly CriticalPart[]): ReadonlyMap<string, number> {
  const shares = new Map<string, number>();
  for (const { uri, from, to } of path) shares.set(uri, (shares.get(uri) ?? 0) + to - from);
  return shares;
}
