import { displayName } from "../facts/display-name.ts";
import { totalTokens } from "../facts/usage.ts";
import type { Status } from "../link/status.ts";
import type { AgentTree } from "./agent.ts";

/** What is compared of an agent or a thread; null if unknown. */
export const MEASURES = [
  "durationMs",
  "calls",
  "tokens",
  "costUsd",
  "toolCalls",
  "toolErrors",
  "agents",
  "failed",
] as const;
export type Measure = (typeof MEASURES)[number];
export type Measured = Readonly<Record<Measure, number | null>>;

export interface ComparedAgent {
  readonly uri: string;
  readonly name: string;
  readonly type: string | null;
  readonly status: Status;
  readonly model: readonly string[];
  /** Of the agent alone; `agents` and `failed` count those below it. */
  readonly own: Measured;
  /** Number of calls, by tool. */
  readonly tools: Readonly<Record<string, number>>;
  /** Files that it changed, relative to its folder. */
  readonly files: readonly string[];
}

/** Why two agents were taken for the same one; null for an agent without a counterpart. */
type MatchedBy = "thread" | "prompt" | "description" | "type" | "place";

interface ComparedPair {
  readonly depth: number;
  readonly matchedBy: MatchedBy | null;
  readonly left: ComparedAgent | null;
  readonly right: ComparedAgent | null;
  readonly differs: readonly string[];
}

export interface Comparison {
  /** Sums over each tree. */
  readonly left: Measured;
  readonly right: Measured;
  readonly agents: readonly ComparedPair[];
}

/** What records do not contain, by agent. */
export type WorkOf = (uri: string) => Pick<ComparedAgent, "tools" | "files">;

/** Compares two trees, agent by agent: children of matched agents are matched by prompt, description, type and place. */
export function compareTrees(left: AgentTree, right: AgentTree, workOf: WorkOf): Comparison {
  const agents: ComparedPair[] = [];
  const add = (a: AgentTree | null, b: AgentTree | null, depth: number, matchedBy: MatchedBy | null) => {
    const [x, y] = [a === null ? null : comparedOf(a, workOf), b === null ? null : comparedOf(b, workOf)];
    agents.push({ depth, matchedBy, left: x, right: y, differs: x === null || y === null ? [] : differences(x, y) });
  };
  // Depth first, in the order of the left tree; agents of the right tree without a counterpart follow their siblings.
  const stack: { a: AgentTree | null; b: AgentTree | null; depth: number; by: MatchedBy | null }[] = [
    { a: left, b: right, depth: 0, by: "thread" },
  ];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { a, b, depth, by } = next;
    add(a, b, depth, by);
    const pairs = pairsOf(a?.children ?? [], b?.children ?? []);
    for (const pair of pairs.toReversed()) stack.push({ ...pair, depth: depth + 1 });
  }
  return { left: sumOf(left), right: sumOf(right), agents };
}

const STAGES: readonly { readonly by: MatchedBy; readonly key: (agent: AgentTree, place: number) => string | null }[] =
  [
    { by: "prompt", key: ({ type, prompt }) => keyOf(type, prompt?.trim() ?? null) },
    { by: "description", key: ({ type, description, name }) => keyOf(type, description ?? name) },
    { by: "type", key: ({ kind, type }) => (type === null ? null : `${kind} ${type}`) },
    { by: "place", key: ({ provider, kind }, place) => `${provider} ${kind} ${place}` },
  ];

const keyOf = (type: string | null, text: string | null) => (text === null ? null : `${type ?? ""} ${text}`);

/** Each stage matches agents with equal keys in order of their start. */
function pairsOf(left: readonly AgentTree[], right: readonly AgentTree[]) {
  const taken = new Map<AgentTree, { readonly b: AgentTree; readonly by: MatchedBy }>();
  const free = new Set(right);
  for (const { by, key } of STAGES)
    for (const [i, a] of left.entries()) {
      const wanted = taken.has(a) ? null : key(a, i);
      if (wanted === null) continue;
      const b = [...free].find((one) => key(one, right.indexOf(one)) === wanted);
      if (b === undefined) continue;
      taken.set(a, { b, by });
      free.delete(b);
    }
  return [
    ...left.map((a) => ({ a, b: taken.get(a)?.b ?? null, by: taken.get(a)?.by ?? null })),
    ...[...free].map((b) => ({ a: null, b, by: null })),
  ];
}

function comparedOf(agent: AgentTree, workOf: WorkOf): ComparedAgent {
  const { own } = agent.usage;
  return {
    uri: agent.uri,
    name: displayName(agent),
    type: agent.type,
    status: agent.status,
    model: agent.model,
    own: {
      durationMs: agent.durationMs,
      calls: own.calls,
      tokens: totalTokens(own),
      costUsd: own.costUsd,
      toolCalls: agent.counts.toolCalls,
      toolErrors: agent.counts.toolErrors,
      agents: agent.counts.descendants,
      failed: failedBelow(agent),
    },
    ...workOf(agent.uri),
  };
}

const FAILED = ["errored", "shutdown", "notFound"] as const;
const failedBelow = ({ counts }: AgentTree) => FAILED.reduce((sum, status) => sum + (counts.byStatus[status] ?? 0), 0);

export function sumOf(tree: AgentTree): Measured {
  const { subtree } = tree.usage;
  const own = FAILED.some((status) => status === tree.status) ? 1 : 0;
  let [toolCalls, toolErrors] = [0, 0];
  const stack = [tree];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    toolCalls += next.counts.toolCalls;
    toolErrors += next.counts.toolErrors;
    stack.push(...next.children);
  }
  return {
    durationMs: tree.durationMs,
    calls: subtree.calls,
    tokens: totalTokens(subtree),
    costUsd: subtree.costUsd,
    toolCalls,
    toolErrors,
    agents: tree.counts.descendants + 1,
    failed: failedBelow(tree) + own,
  };
}

function differences(a: ComparedAgent, b: ComparedAgent): string[] {
  return [
    ...(a.status === b.status ? [] : ["status"]),
    ...(a.type === b.type ? [] : ["type"]),
    ...(a.model.join() === b.model.join() ? [] : ["model"]),
    ...MEASURES.filter((measure) => a.own[measure] !== b.own[measure]),
    ...(sameTools(a.tools, b.tools) ? [] : ["tools"]),
    ...(a.files.join("\n") === b.files.join("\n") ? [] : ["files"]),
  ];
}

const sameTools = (a: ComparedAgent["tools"], b: ComparedAgent["tools"]) =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].every((name) => (a[name] ?? 0) === (b[name] ?? 0));

/** A measure over a group of threads; threads for which it is unknown are left out. */
export interface Spread {
  readonly threads: number;
  readonly least: number;
  readonly median: number;
  readonly most: number;
}

export interface ComparedMeasure {
  readonly measure: Measure;
  readonly left: Spread | null;
  readonly right: Spread | null;
  /**
   * `clear`: all values of one group are larger than all of the other, and that happens by chance in at most 5 % of
   * cases. `few`: the same, but with so few threads it happens more often. `none`: the groups overlap or are equal.
   */
  readonly difference: "clear" | "few" | "none" | "unknown";
  /** How often two groups of these sizes are separated like this by chance; null if they are not separated. */
  readonly chance: number | null;
}

const CLEAR = 0.05;

/** Compares two groups of threads, measure by measure. */
export function compareGroups(left: readonly Measured[], right: readonly Measured[]): readonly ComparedMeasure[] {
  return MEASURES.map((measure): ComparedMeasure => {
    const [a, b] = [valuesOf(left, measure), valuesOf(right, measure)];
    const [x, y] = [spreadOf(a), spreadOf(b)];
    if (x === null || y === null) return { measure, left: x, right: y, difference: "unknown", chance: null };
    if (x.most >= y.least && y.most >= x.least) return { measure, left: x, right: y, difference: "none", chance: null };
    const chance = Math.min(1, 2 / ways(a.length + b.length, a.length));
    return { measure, left: x, right: y, difference: chance <= CLEAR ? "clear" : "few", chance };
  });
}

const valuesOf = (group: readonly Measured[], measure: Measure) =>
  group.flatMap((one) => one[measure] ?? []).sort((a, b) => a - b);

function spreadOf(sorted: readonly number[]): Spread | null {
  const [least, most] = [sorted[0], sorted.at(-1)];
  if (least === undefined || most === undefined) return null;
  const middle = sorted.length / 2;
  const median = ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
  return { threads: sorted.length, least, median, most };
}

/** The number of ways to choose `k` of `n`. */
function ways(n: number, k: number): number {
  let count = 1;
  for (let i = 1; i <= k; i += 1) count = (count * (n - k + i)) / i;
  return count;
}
