import type { AgentRecord } from "./agent.ts";
import type { Span } from "./span.ts";

/** An agent's life, as far as it matters for who waited for whom. */
export interface Life {
  /** Epoch milliseconds. */
  readonly from: number;
  /** Now, for one that goes on. */
  readonly to: number;
  readonly spans: readonly Span[];
}

/** Undefined for one that never began. */
export function lifeOf({ startedAt, endedAt, lastActivityAt, status }: AgentRecord, spans: readonly Span[], now: number): Life | undefined {
  if (startedAt === null) return undefined;
  const from = Date.parse(startedAt);
  const to = status === "running" ? now : Date.parse(endedAt ?? lastActivityAt ?? startedAt);
  return { from, to: Math.max(from, to), spans };
}

/** For so long the whole could not go on without this agent. */
export interface CriticalPart {
  readonly uri: string;
  readonly from: number;
  readonly to: number;
}

interface Wait {
  readonly uri: string;
  readonly since: number;
  readonly from: number;
  /** When the child that was waited for had ended. */
  readonly to: number;
}

/**
 * What the end had to wait for, oldest first: from the end of an agent back to the child that it really waited for, from that child's
 * beginning on with its parent, and so on. Whoever wants the whole to be faster has to make one of these faster.
 */
export function criticalPath(root: string, livesAs: (uri: string) => Life | undefined): CriticalPart[] {
  const parts: CriticalPart[] = [];
  const waiting = new Map<string, readonly Wait[]>();
  const waitsOf = (uri: string, life: Life) => {
    const known = waiting.get(uri) ?? waitsIn(life, livesAs);
    waiting.set(uri, known);
    return known;
  };
  const whole = livesAs(root);
  const stack = whole === undefined ? [] : [{ uri: root, until: whole.to }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    const { uri, until } = at;
    const life = livesAs(uri) as Life;
    // Records may contradict each other: nobody waits for itself, nor for whoever waits for it.
    const isAbove = (one: string) => one === uri || stack.some((frame) => frame.uri === one);
    const wait = waitsOf(uri, life).find((one) => one.to <= until && one.to > one.since && one.from < one.to && !isAbove(one.uri));
    const from = wait === undefined ? Math.min(life.from, until) : wait.to;
    if (until > from) parts.push({ uri, from, to: until });
    if (wait === undefined) continue;
    stack.push({ uri, until: wait.from }, { uri: wait.uri, until: wait.to });
  }
  return parts.reverse();
}

/** The latest first. */
function waitsIn(life: Life, livesAs: (uri: string) => Life | undefined): Wait[] {
  const waits = life.spans.flatMap((span) =>
    span.kind !== "wait"
      ? []
      : span.agents.flatMap((uri) => {
          const child = livesAs(uri);
          return child === undefined ? [] : [{ uri, since: span.from, from: child.from, to: Math.min(child.to, span.to ?? life.to) }];
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
