import type { AgentKey, CallKey } from "../facts/ids.ts";
import { cached } from "../tools/collections.ts";
import type { ShellRun, StartedThread } from "./shell-runs.ts";

/** What a command and a thread have in common, besides product and time. */
export interface Fit {
  readonly prompt: boolean;
  readonly folder: boolean;
  readonly answer: boolean;
}

/** A start in a command that may have started the thread. */
export interface Candidate {
  readonly child: StartedThread;
  readonly run: ShellRun;
  /** Distinguishes the starts of the command. */
  readonly start: string;
  /** How many threads it started at most. */
  readonly times: number;
  readonly fit: Fit;
}

/** The alternatives, if it cannot be decided who started a thread. */
export interface Undecided {
  /** Commands that may have started it, and the agents that ran them. */
  readonly commands: readonly { readonly agent: AgentKey; readonly name: string }[];
  /** Other threads that one of the commands may have started instead. */
  readonly rivals: readonly AgentKey[];
}

export interface Decided {
  readonly is: "decided";
  readonly by: Candidate;
  readonly call: CallKey | null;
}

type Outcome = Decided | { readonly is: "undecided"; readonly between: Undecided };

/** Larger groups are not decided. */
const MOST_CANDIDATES = 400;

/**
 * Decides which start belongs to which thread. Every start has started as many threads as possible; a thread is decided
 * if all such assignments give it to the same agent.
 */
export function* decideCandidates(
  candidates: readonly Candidate[],
): Generator<{ readonly child: StartedThread; readonly outcome: Outcome }> {
  for (const group of groupsOf(withBetterFits(candidates))) {
    const byChild = Map.groupBy(group, ({ child }) => child);
    const most = group.length > MOST_CANDIDATES ? null : assigned(group);
    for (const [child, own] of byChild) yield { child, outcome: outcomeOf(child, own, group, most) };
  }
}

function outcomeOf(
  child: StartedThread,
  own: readonly Candidate[],
  group: readonly Candidate[],
  most: number | null,
): Outcome {
  const isNeeded = (isThis: (one: Candidate) => boolean) =>
    most !== null && assigned(group.filter((one) => one.child !== child || !isThis(one))) < most;
  for (const [speaker, of] of Map.groupBy(own, ({ run }) => run.speaker)) {
    if (!isNeeded(({ run }) => run.speaker === speaker)) continue;
    const [first] = of;
    const calls = [...Map.groupBy(of, ({ run }) => run.call)];
    const [call, by] =
      calls.length === 1 ? (calls[0] ?? []) : (calls.find(([one]) => isNeeded(({ run }) => run.call === one)) ?? []);
    if (first !== undefined) return { is: "decided", by: by?.[0] ?? first, call: call ?? null };
  }
  return { is: "undecided", between: betweenWhat(child, own, group) };
}

const MOST_NAMED = 6;

function betweenWhat(child: StartedThread, own: readonly Candidate[], group: readonly Candidate[]): Undecided {
  const runs = new Set(own.map(({ run }) => run));
  const rivals = new Set(group.filter((one) => one.child !== child && runs.has(one.run)).map((one) => one.child.key));
  const commands = [...runs].map((run) => ({ agent: run.speaker, name: run.name }));
  return {
    commands: commands.sort((a, b) => (a.name < b.name ? -1 : 1)).slice(0, MOST_NAMED),
    rivals: [...rivals].sort().slice(0, MOST_NAMED),
  };
}

/**
 * If a command printed the answers of some threads, it did not start the others; if some commands printed the answer of
 * a thread, the others did not start it.
 */
function withBetterFits(candidates: readonly Candidate[]): readonly Candidate[] {
  const starts = new Set(candidates.filter(({ fit, times }) => fit.answer && times === 1).map(startOf));
  const better = candidates.filter((one) => one.fit.answer || !starts.has(startOf(one)));
  const children = new Set(better.filter(({ fit }) => fit.answer).map(({ child }) => child));
  return better.filter(({ fit, child }) => fit.answer || !children.has(child));
}

const startOf = ({ run, start }: Candidate) => `${run.call} ${start}`;

/** Candidates that share threads or starts. */
function groupsOf(candidates: readonly Candidate[]): readonly (readonly Candidate[])[] {
  const numbers = new Map<StartedThread | ShellRun, number>();
  const rootOf: number[] = [];
  const find = (at: number): number => {
    let root = at;
    while (rootOf[root] !== root) root = rootOf[root] ?? root;
    rootOf[at] = root;
    return root;
  };
  const numberOf = (one: StartedThread | ShellRun) => cached(numbers, one, () => rootOf.push(rootOf.length) - 1);
  for (const { child, run } of candidates) rootOf[find(numberOf(child))] = find(numberOf(run));
  return [...Map.groupBy(candidates, ({ child }) => find(numberOf(child))).values()];
}

/** The largest number of threads that can be given to starts. */
function assigned(candidates: readonly Candidate[]): number {
  const byChild = Map.groupBy(candidates, ({ child }) => child.key);
  const takenBy = new Map<string, AgentKey[]>();
  const place = (child: AgentKey, tried: Set<string>): boolean => {
    for (const one of byChild.get(child) ?? []) {
      const start = startOf(one);
      if (tried.has(start)) continue;
      tried.add(start);
      const holders = takenBy.get(start) ?? [];
      if (holders.length < one.times) {
        takenBy.set(start, [...holders, child]);
        return true;
      }
      for (const [i, holder] of holders.entries())
        if (place(holder, tried)) {
          takenBy.set(start, (takenBy.get(start) ?? []).toSpliced(i, 1, child));
          return true;
        }
    }
    return false;
  };
  let count = 0;
  for (const child of byChild.keys()) if (place(child, new Set())) count += 1;
  return count;
}
