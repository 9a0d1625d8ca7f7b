import { type AgentKey, type CallKey, partsOf, threadOf } from "../facts/ids.ts";
import type { Observation, ObservationOf, Starter } from "../facts/observation.ts";
import type { ParentEvidence } from "./evidence.ts";
import { type ShellRun, type Shells, type StartedThread, shellsIn } from "./shell-runs.ts";
import { type Candidate, type Decided, decideCandidates, type Undecided } from "./start-matching.ts";

/** Evidence that an agent's shell command started a thread. */
interface StartEvidence extends ParentEvidence {
  readonly child: AgentKey;
  readonly rule: StartRule;
}

/** Strongest first. */
type StartRule = "environment" | "command names it" | "printed id" | "shell command" | "script output";

export interface Starts {
  readonly evidence: readonly StartEvidence[];
  /** Threads that an agent may have started, and why that cannot be decided. */
  readonly undecided: ReadonlyMap<AgentKey, Undecided>;
}

const NO_STARTS: Starts = { evidence: [], undecided: new Map() };

interface StartsOf {
  readonly facts: readonly Observation[];
  /** All agents; only threads without a parent can have been started by a command. */
  readonly agents: readonly StartedThread[];
  readonly isFree: (thread: AgentKey) => boolean;
  /** The final name of a call. */
  readonly resolve: (call: CallKey) => CallKey;
}

/**
 * Which threads were started by shell commands of other agents. Only evidence that excludes all other explanations
 * decides; the order of calls and threads is none.
 */
export function decideStarts({ facts, agents, isFree, resolve }: StartsOf): Starts {
  const shells = shellsIn(facts, agents, isFree, resolve);
  if (shells === null) return NO_STARTS;
  const evidence: StartEvidence[] = [];
  const undecided = new Map<AgentKey, Undecided>();
  const decided = new Set<AgentKey>();
  // A start that has found its thread can have started no other, which the next decision takes into account.
  const decide = ({ piece, run, child }: Start) => {
    evidence.push(piece);
    decided.add(piece.child);
    run?.take(child);
  };
  const starters = startersOf(facts, shells);
  for (const start of namedByProcess(shells, starters, resolve)) decide(start);
  for (const start of namedInCommandOrOutput(shells, decided)) decide(start);

  // No agent started a thread whose process names none.
  const open = shells.threads.filter(({ key }) => !decided.has(key) && (starters.get(key)?.starters.length ?? 1) > 0);
  // A thread whose process names an agent gets that agent's command before threads that only fit.
  for (const isStated of [true, false]) {
    const children = open.filter(({ key }) => starters.has(key) === isStated);
    for (const { child, outcome } of decideCandidates(candidatesOf(children, isStated, shells, starters, evidence)))
      if (outcome.is === "decided") decide(startBy(outcome, child, starters.get(child.key)));
      else undecided.set(child.key, outcome.between);
  }
  const inScripts = shells.scripts(open.filter(({ key }) => !decided.has(key) && !undecided.has(key)));
  for (const { child, outcome } of decideCandidates(inScripts))
    if (outcome.is === "decided") decide({ piece: byScript(outcome.by, outcome.call), run: null, child });
    else undecided.set(child.key, outcome.between);
  return { evidence, undecided };
}

/** A thread, the command that started it, if known, and the evidence for that. */
interface Start {
  readonly child: StartedThread;
  readonly run: ShellRun | null;
  readonly piece: StartEvidence;
}

type Seen = ObservationOf<"starter-seen">;
type Starters = ReadonlyMap<AgentKey, Seen>;

/** Threads whose process names exactly one agent. */
function* namedByProcess(
  { runs, threads }: Shells,
  starters: Starters,
  resolve: StartsOf["resolve"],
): Generator<Start> {
  for (const child of threads) {
    const seen = starters.get(child.key);
    const [only, other] = seen?.starters ?? [];
    if (seen === undefined || only === undefined || other !== undefined || !only.exact) continue;
    const fitting = runs.filter((run) => run.speaker === only.agent && run.mayStart(child) !== null);
    const named = only.call === null ? undefined : resolve(only.call);
    const run = fitting.find(({ call }) => call === named) ?? (fitting.length === 1 ? fitting[0] : undefined);
    const piece = byEnvironment(child, only.agent, named ?? run?.call ?? null, only.says, seen);
    yield { child, run: run ?? null, piece };
  }
}

/** The commands that may have started the threads; if their processes name agents, only commands of these. */
function candidatesOf(
  children: readonly StartedThread[],
  isStated: boolean,
  shells: Shells,
  starters: Starters,
  evidence: readonly StartEvidence[],
): readonly Candidate[] {
  const isOfStarter = ({ child, run }: Candidate) =>
    starters.get(child.key)?.starters.some(({ agent, exact }) => {
      return agent === run.speaker || (!exact && isWithin(threadOf(run.speaker), threadOf(agent), evidence, starters));
    }) ?? true;
  const launched = shells.candidates(children).filter(isOfStarter);
  const named = new Set(launched.map(({ child }) => child));
  // If its process names the session, a script that ran then may have started it.
  const inScript = isStated ? shells.anyScripts(children).filter(isOfStarter) : [];
  return [...launched, ...inScript.filter(({ child }) => !named.has(child))];
}

function startBy({ by, call }: Decided, child: StartedThread, seen: Seen | undefined): Start {
  const [starter] = seen?.starters ?? [];
  const piece =
    seen === undefined || starter === undefined
      ? byCommand(by, call)
      : byEnvironment(child, by.run.speaker, call, starter.says, seen);
  return { child, run: by.run, piece };
}

/** The agents that the processes of threads name, without ancestors of the nearest one. */
function startersOf(facts: readonly Observation[], { threads }: Shells): Starters {
  const began = new Map(threads.map((thread) => [thread.key, thread.began]));
  const seen = new Map<AgentKey, Seen>();
  for (const o of facts) {
    if (o.type !== "starter-seen") continue;
    const start = began.get(o.thread);
    // A later process continued the thread.
    if (start !== undefined && o.at !== null && o.at > start + CLOCK_MS) continue;
    const known = seen.get(o.thread);
    if (
      known === undefined ||
      o.starters.length > known.starters.length ||
      (o.starters.length === known.starters.length && o.id < known.id)
    )
      seen.set(o.thread, o);
  }
  const isAbove = (above: Starter, below: Starter) =>
    above !== below &&
    (seen.get(threadOf(below.agent))?.starters.some(({ agent }) => threadOf(agent) === threadOf(above.agent)) ?? false);
  return new Map(
    [...seen].map(([key, o]) => [
      key,
      { ...o, starters: o.starters.filter((starter) => !o.starters.some((other) => isAbove(starter, other))) },
    ]),
  );
}

/** Whether a thread is the session, or is known to be started below it. */
function isWithin(
  thread: AgentKey,
  session: AgentKey,
  evidence: readonly StartEvidence[],
  starters: Starters,
): boolean {
  const seen = new Set<AgentKey>();
  for (let at: AgentKey | undefined = thread; at !== undefined && !seen.has(at); ) {
    if (at === session) return true;
    seen.add(at);
    if (starters.get(at)?.starters.some(({ agent }) => threadOf(agent) === session)) return true;
    const parent = evidence.find(({ child }) => child === at)?.parent;
    at = parent === undefined ? undefined : threadOf(parent);
  }
  return false;
}

/** Products create their thread shortly after the process starts. */
const CLOCK_MS = 1_000;

/** Threads whose id is in the command or in its output. An id proves nothing if the command starts no product. */
function* namedInCommandOrOutput({ runs, threads }: Shells, decided: ReadonlySet<AgentKey>): Generator<Start> {
  const byKey = new Map(threads.map((thread) => [thread.key, thread]));
  const found: { readonly run: ShellRun; readonly child: StartedThread; readonly rule: StartRule }[] = [];
  for (const run of runs) for (const one of run.named(byKey)) found.push({ run, ...one });
  for (const [child, all] of Map.groupBy(found, (one) => one.child)) {
    // The output of a command contains that of the commands below it.
    const inner = all.filter((one) => !all.some((other) => other !== one && one.run.isAround(other.run, byKey)));
    const [first] = inner;
    if (decided.has(child.key) || first === undefined || inner.some(({ run }) => run.speaker !== first.run.speaker))
      continue;
    const { run, rule } = first;
    const says =
      rule === "printed id"
        ? `the output of the command ${run.name} names it`
        : `the command ${run.name} gives it its id`;
    const call = inner.every((one) => one.run.call === run.call) ? run.call : null;
    yield {
      run,
      child,
      piece: startEvidence(child, run, call, { rule, source: "parent_rollout", confidence: 1, says }),
    };
  }
}

const byEnvironment = (
  child: StartedThread,
  parent: AgentKey,
  call: CallKey | null,
  says: string,
  { at, id }: Seen,
): StartEvidence => ({
  child: child.key,
  parent,
  call,
  rule: "environment",
  source: "protocol",
  confidence: 1,
  says: `its process ${says}`,
  at,
  from: id,
});

function byCommand({ child, run, fit }: Candidate, call: CallKey | null): StartEvidence {
  const parts = [
    fit.prompt ? "contains its prompt" : null,
    fit.answer ? "printed its answer" : null,
    fit.folder ? "ran in its folder" : null,
    run.ends === null || !child.isDone(run.ends) ? "was called before it began" : "ran while it did",
  ].filter((part) => part !== null);
  return startEvidence(child, run, call, {
    rule: "shell command",
    source: "inferred",
    confidence: fit.prompt ? 0.9 : fit.answer ? 0.8 : 0.7,
    says: `the command ${run.name} starts ${partsOf(child.key).provider}, ${parts.join(", ")}; no other thread and no other call fits`,
  });
}

const byScript = ({ child, run }: Candidate, call: CallKey | null): StartEvidence =>
  startEvidence(child, run, call, {
    rule: "script output",
    source: "inferred",
    confidence: 0.7,
    says: `the command ${run.name} printed its answer, ran in its folder, and it began and ended within the call; no other call fits`,
  });

const startEvidence = (
  { key: child }: StartedThread,
  { speaker: parent, at, from }: ShellRun,
  call: CallKey | null,
  why: Pick<StartEvidence, "rule" | "source" | "confidence" | "says">,
): StartEvidence => ({ child, parent, call, ...why, at, from });
