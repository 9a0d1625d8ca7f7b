import { type AgentKey, partsOf, recordKey, threadOf } from "../facts/ids.ts";
import {
  type Amounts,
  addAmounts,
  isNegative,
  isNothing,
  NO_AMOUNTS,
  NO_TOKENS,
  subtractAmounts,
  totalTokens,
} from "../facts/usage.ts";
import { cached, lowerBound } from "../tools/collections.ts";
import {
  type Account,
  account,
  amountsOf,
  type Explained,
  nameOf,
  type OfModel,
  sumByModel,
  type Trace,
} from "./account.ts";
import type { GatheredAgent, ModelCall } from "./gather.ts";
import { ALL_MODELS, type StatedTotal, type UnrecordedCall } from "./totals.ts";

/** A total of the product, compared with the known model calls of its period. */
export interface Reconciliation extends Account {
  readonly total: StatedTotal;
  /** The total it continues, and of which thread. */
  readonly base: Base | null;
  /** The usage since that total. */
  readonly stated: readonly OfModel[];
  readonly covered: readonly ModelCall[];
  /** Calls made before, by processes that ended without a total. */
  readonly earlier: readonly ModelCall[];
  /** Incomplete responses, which it omits. */
  readonly cut: readonly ModelCall[];
  /** An unrecorded call, if the totals prove it, and the agent it was made for. */
  readonly revealed: { readonly agent: AgentKey; readonly call: ModelCall } | null;
  /** Usage that is known from the total alone. */
  readonly undivided: readonly Undivided[];
}

/** Usage on one model that only the total states; not a model call. */
export interface Undivided extends ModelCall {
  /** `thread`: stated as its own. `internal`: no agent used this model. `all`: of all agents together. */
  readonly whose: "thread" | "internal" | "all";
  /** The stated cost that includes it and these calls. */
  readonly costOf?: { readonly costUsd: number; readonly calls: readonly ModelCall[] };
}

export interface ReconciledTotals {
  /** Oldest first. */
  readonly reconciliations: readonly Reconciliation[];
  /** Calls after the last total. */
  readonly since: readonly ModelCall[];
}

export interface Base {
  readonly thread: AgentKey;
  readonly total: StatedTotal;
}

type Gathered = ReadonlyMap<AgentKey, GatheredAgent>;
type Copies = ReadonlyMap<AgentKey, AgentKey>;

/** Reconciles the totals of a thread with its model calls, on request and once; null if it has none. */
export type TotalsOf = (thread: AgentKey) => ReconciledTotals | null;

export function totalsIn(gathered: Gathered, copiedFrom: Copies): TotalsOf {
  const known = new Map<AgentKey, ReconciledTotals | null>();
  let byThread: ReadonlyMap<AgentKey, readonly GatheredAgent[]> | null = null;
  return (thread) =>
    cached(known, thread, () => {
      byThread ??= membersOf(gathered);
      return reconcile(thread, byThread.get(thread) ?? [], gathered, copiedFrom);
    });
}

const membersOf = (gathered: Gathered) => Map.groupBy(gathered.values(), (agent) => threadOf(agent.key));

/** Model calls that no record contains, derived from totals. */
export interface UsageFromTotals {
  /** By the agent that they were made for. */
  readonly revealed: ReadonlyMap<AgentKey, readonly ModelCall[]>;
  /** By thread. */
  readonly undivided: ReadonlyMap<AgentKey, readonly Undivided[]>;
}

/**
 * Only for threads whose records show that calls or counts are missing: the totals of all others matter only to
 * `verify`, which reconciles them when it runs.
 */
export function usageFromTotals(gathered: Gathered, totalsOf: TotalsOf): UsageFromTotals {
  const stating = [...gathered.values()].filter(({ totals }) => totals.length > 0).map(({ key }) => threadOf(key));
  const members = stating.length === 0 ? new Map<AgentKey, readonly GatheredAgent[]>() : membersOf(gathered);
  const incomplete = stating.filter((thread) => members.get(thread)?.some(isIncomplete));
  const found = incomplete.map((thread) => ({ thread, all: totalsOf(thread)?.reconciliations ?? [] }));
  const revealed = Map.groupBy(
    found.flatMap(({ all }) => all.flatMap((one) => one.revealed ?? [])),
    ({ agent }) => agent,
  );
  return {
    revealed: new Map([...revealed].map(([agent, list]) => [agent, list.map(({ call }) => call)])),
    undivided: new Map(found.map(({ thread, all }) => [thread, all.flatMap((one) => one.undivided)])),
  };
}

const isIncomplete = ({ unrecorded, calls, totals }: GatheredAgent) =>
  unrecorded.length > 0 || totals.some(isPrinted) || [...calls].some((call) => call.outputOnly);

const isPrinted = (total: StatedTotal) => total.printed !== undefined;

function reconcile(
  thread: AgentKey,
  members: readonly GatheredAgent[],
  gathered: Gathered,
  copiedFrom: Copies,
): ReconciledTotals | null {
  const totals = (gathered.get(thread)?.totals ?? []).filter(isNeeded);
  if (totals.length === 0) return null;
  const isRunning = totals.some((total) => total.running !== undefined);
  const isInTotals = (call: ModelCall) => !call.outsideTotals && !(isRunning && call.unrecorded);
  const inTotals = members.flatMap((agent) => [...agent.calls].filter(isInTotals)).sort(byTime);
  const calls = totals.every(isByModel) ? inTotals : inTotals.map((call) => ({ ...call, model: ALL_MODELS }));
  let placed = 0;
  const reconciliations = totals.map((total, i) => {
    const own = totals.slice(0, i).findLast((earlier) => isSameCount(earlier, total));
    const bases = own === undefined ? inheritedBases(thread, total, gathered, copiedFrom) : [{ thread, total: own }];
    const isBaseUnknown = own === undefined && total.running?.mayContinueFork === true && bases.length === 0;
    const stretch = { thread, members, calls, from: placed, total, previous: totals[i - 1] ?? null, isBaseUnknown };
    const mayBeginAtZero = bases.length === 0 || (own === undefined && total.running !== undefined);
    const { end, ...reconciliation } = bestReading(stretch, mayBeginAtZero ? [...bases, null] : bases);
    placed = end;
    return reconciliation;
  });
  return { reconciliations, since: calls.slice(placed) };
}

const timeOf = (call: { readonly at: number | null } | undefined) => call?.at ?? Number.NEGATIVE_INFINITY;
const byTime = (a: ModelCall, b: ModelCall) =>
  timeOf(a) === timeOf(b) ? (a.response < b.response ? -1 : 1) : timeOf(a) - timeOf(b);

const isByModel = (total: StatedTotal) => total.byModel.every(({ model }) => model !== ALL_MODELS);

/** The last running total includes all others. The first one shows what it continues. */
function isNeeded({ running }: StatedTotal, i: number, all: readonly StatedTotal[]): boolean {
  return running === undefined || i === all.length - 1 || (i === 0 && running.mayContinueFork);
}

/** A process that continues an earlier total keeps its start time. */
const isSameCount = (a: StatedTotal, b: StatedTotal) => a.began === b.began;

/** Totals that a fork may continue: earlier ones of the threads that it copies, newest first. */
function inheritedBases(thread: AgentKey, total: StatedTotal, gathered: Gathered, copiedFrom: Copies): Base[] {
  if (total.running?.mayContinueFork === false) return [];
  const forkedAt = gathered.get(thread)?.firstAt ?? Number.POSITIVE_INFINITY;
  const bases: Base[] = [];
  const seen = new Set([thread]);
  const originOf = (copy: AgentKey) => copiedFrom.get(copy) ?? gathered.get(copy)?.statedFork ?? undefined;
  const mayBeContinued = (one: StatedTotal) =>
    total.running === undefined ? one.began !== null && isSameCount(one, total) : one.running !== undefined;
  for (let from = originOf(thread); from !== undefined; from = originOf(threadOf(from))) {
    const origin = threadOf(from);
    if (seen.has(origin)) break;
    seen.add(origin);
    const stated = gathered.get(origin)?.totals ?? [];
    const fitting = stated.filter((one) => mayBeContinued(one) && (one.after ?? Number.NEGATIVE_INFINITY) <= forkedAt);
    bases.push(...fitting.toReversed().map((one) => ({ thread: origin, total: one })));
  }
  return bases;
}

/** A total, and the calls of its thread; the first `from` were covered by earlier totals. */
interface Stretch {
  readonly thread: AgentKey;
  readonly members: readonly GatheredAgent[];
  readonly calls: readonly ModelCall[];
  readonly from: number;
  readonly total: StatedTotal;
  readonly previous: StatedTotal | null;
  /** It continues the total of another thread that is not known. */
  readonly isBaseUnknown: boolean;
}

/** One interpretation of a total: which calls it includes. */
interface Reading extends Reconciliation {
  readonly end: number;
}

/**
 * Picks the assignment with the fewest unexplained tokens: an exact one, else one that explains everything,
 * else the simplest.
 */
function bestReading(stretch: Stretch, bases: readonly (Base | null)[]): Reading {
  const readings = bases.flatMap((base) => readingsOf(stretch, base));
  const isExact = (reading: Reading) => reading.explained.length === 0 && reading.unexplained.length === 0;
  const best = readings.find(isExact) ?? readings.find((reading) => reading.unexplained.length === 0) ?? readings[0];
  if (best === undefined) throw new Error("a total has no interpretation");
  return best;
}

/** Which incomplete responses a total omits: interrupted ones, none, or all. Products and versions differ. */
const LEAVES_OUT: readonly ((call: ModelCall) => boolean)[] = [
  (call) => call.end === "cut",
  () => false,
  (call) => call.end !== "finished",
];

function readingsOf(stretch: Stretch, base: Base | null): Reading[] {
  const { calls, total } = stretch;
  const bounds = boundsOf(stretch, base);
  const stated = sumByModel(total.byModel, base?.total.byModel ?? []);
  const areAllFinished = calls.slice(bounds.first, bounds.lastEnd).every((call) => call.end === "finished");
  const options = areAllFinished ? LEAVES_OUT.slice(0, 1) : LEAVES_OUT;
  const exact = options.flatMap((leavesOut) =>
    exactRanges(calls, stated, bounds, leavesOut).map((range) => ({ ...range, leavesOut })),
  );
  const ends = [...new Set([bounds.lastEnd, bounds.firstEnd])];
  const plain = options.flatMap((leavesOut) =>
    ends.map((end) => ({ start: bounds.first, end: Math.max(bounds.first, end), leavesOut })),
  );
  const [fewestLeftOut] = exact.sort((a, b) => a.start - b.start);
  return (fewestLeftOut === undefined ? plain : [fewestLeftOut]).map(({ start, end, leavesOut }) => {
    const range = calls.slice(start, end);
    const covered = range.filter((call) => !leavesOut(call));
    const traces = tracesIn(stretch, base);
    const hasAgentWithoutCalls = stretch.members.some((agent) => agent.records > 0 && agent.calls.length === 0);
    const differences = account({
      stated,
      covered,
      traces,
      used: calls,
      isBaseLost: stretch.isBaseUnknown || isBaseLost(total, base),
      isPartial: isPrinted(total),
      hasAgentWithoutCalls,
    });
    const reading = {
      total,
      base,
      stated,
      covered,
      earlier: calls.slice(stretch.from, start),
      cut: range.filter(leavesOut),
      ...differences,
      end,
    };
    return {
      ...reading,
      revealed: isPrinted(total) ? null : reveal(stretch, reading, bounds),
      undivided: isPrinted(total) ? restOf(stretch, reading) : undividedIn(stretch, reading),
    };
  });
}

/** The range of calls in which a total may begin and end, according to the times. */
interface Bounds {
  readonly first: number;
  readonly lastStart: number;
  readonly firstEnd: number;
  readonly lastEnd: number;
}

function boundsOf({ calls, from, total }: Stretch, base: Base | null): Bounds {
  const callsUntil = (isBefore: (at: number) => boolean) => lowerBound(calls, (call) => isBefore(timeOf(call)));
  const { before, after, running, printed } = total;
  const lastCounted = () => {
    if ((running ?? printed) !== undefined && after !== null) return callsUntil((at) => at <= after);
    return before === null ? calls.length : callsUntil((at) => at < before);
  };
  const { earliest, latest } = startOf(total, base);
  const lastEnd = Math.max(from, lastCounted());
  const within = (count: number, least: number) => Math.min(lastEnd, Math.max(least, count));
  const firstEnd =
    after === null
      ? lastEnd
      : within(
          // Lines of output without a time have that of the line before.
          callsUntil((at) => (printed === undefined ? at <= after : at < after)),
          from,
        );
  const first = within(
    callsUntil((at) => at < earliest),
    from,
  );
  const lastStart = within(
    callsUntil((at) => at < latest),
    first,
  );
  return { first, lastStart, firstEnd, lastEnd };
}

/**
 * The range of start times of the process that stated a total: its running time is the difference to its base, and it
 * ended with the total.
 */
function startOf(total: StatedTotal, base: Base | null): { readonly earliest: number; readonly latest: number } {
  const always = { earliest: Number.NEGATIVE_INFINITY, latest: Number.NEGATIVE_INFINITY };
  if (isBaseLost(total, base)) return always;
  if (base === null) return total.began === null ? always : { earliest: total.began, latest: total.began };
  if (total.activeMs === null || base.total.activeMs === null) return always;
  const ran = total.activeMs - base.total.activeMs;
  return {
    earliest: total.after === null ? Number.NEGATIVE_INFINITY : total.after - ran,
    latest: total.before === null ? Number.POSITIVE_INFINITY : total.before - ran,
  };
}

/** Tolerance between clocks. */
const GRACE_MS = 2_000;

/** It was written later than its running time explains: an earlier process ended before a pause, so there is a base. */
function isBaseLost({ began, activeMs, after }: StatedTotal, base: Base | null): boolean {
  return (
    base === null && began !== null && activeMs !== null && after !== null && after - (began + activeMs) > GRACE_MS
  );
}

interface Range {
  readonly start: number;
  readonly end: number;
}

/** Ranges of calls that add up exactly to the total: four or five numbers per model do not match by chance. */
function exactRanges(
  calls: readonly ModelCall[],
  stated: readonly OfModel[],
  bounds: Bounds,
  leavesOut: (call: ModelCall) => boolean,
): Range[] {
  const ranges: Range[] = [];
  for (let end = bounds.lastEnd; end >= Math.max(bounds.first, bounds.firstEnd); end -= 1) {
    const counted = calls.slice(bounds.first, end).filter((call) => !leavesOut(call));
    const left = new Map(sumByModel(stated, counted.map(amountsOf)).map(({ model, amounts }) => [model, amounts]));
    for (let start = bounds.first; start <= Math.min(bounds.lastStart, end); start += 1) {
      if ([...left.values()].every(isNothing)) ranges.push({ start, end });
      const call = calls[start];
      if (call === undefined || leavesOut(call)) continue;
      const { model, amounts } = amountsOf(call);
      left.set(model, addAmounts(left.get(model) ?? NO_AMOUNTS, amounts));
    }
  }
  return ranges;
}

/** Evidence of unrecorded calls in the period of a total. */
function tracesIn({ members, total, previous }: Stretch, base: Base | null): Trace[] {
  const { earliest } = startOf(total, base);
  const isWithin = (trace: UnrecordedCall) => {
    const isLater = previous === null || timeOf(trace) > (previous.after ?? Number.NEGATIVE_INFINITY);
    return (
      isLater && (trace.at === null || trace.at >= earliest) && (total.before === null || timeOf(trace) < total.before)
    );
  };
  return members.flatMap((agent) => agent.unrecorded.filter(isWithin).map((trace) => ({ ...trace, agent })));
}

/**
 * The unrecorded call, if nothing else can be in the difference: there is evidence of exactly one call on that model,
 * all agents of the thread have transcripts, all their responses are final, and the times determine which of them the
 * total includes.
 */
function reveal(
  { members, calls }: Stretch,
  reading: Omit<Reading, "revealed" | "undivided">,
  bounds: Bounds,
): Reconciliation["revealed"] {
  const { base, total, cut, covered, explained, unexplained, end } = reading;
  const [shown, otherShown] = explained.filter((e) => e.why !== "own-behalf");
  const [trace, otherTrace] = shown?.traces ?? [];
  if (shown?.why !== "unrecorded" || otherShown !== undefined) return null;
  if (trace?.record == null || !trace.one || otherTrace !== undefined) return null;
  if (
    unexplained.length > 0 ||
    cut.length > 0 ||
    covered.some((call) => call.end !== "finished") ||
    members.some((agent) => agent.records === 0)
  )
    return null;
  const isStartSure = bounds.first === end || timeOf(calls[bounds.first]) >= startOf(total, base).latest;
  const tokens = tokensOf(shown);
  if (tokens === null || !isStartSure || bounds.firstEnd !== bounds.lastEnd) return null;
  const { record: response, at, agent } = trace;
  const call = { response, rows: null, at, model: shown.model, tokens, counted: true, end: "finished" } as const;
  return { agent: agent.key, call };
}

/**
 * The input of responses that only the total states. Its cost is unknown, because prices depend on the size of each
 * request.
 */
function undividedIn(stretch: Stretch, { explained }: Pick<Reading, "explained">): Undivided[] {
  return explained.flatMap(({ why, model, amounts }) =>
    why === "not-itemized" ? [{ ...usageIn(stretch, model, amounts, "all"), costUsd: null }] : [],
  );
}

function usageIn(
  { thread, from, total }: Stretch,
  model: string,
  amounts: Amounts,
  whose: Undivided["whose"],
): Undivided {
  const name = `${thread}/total/${from}/${total.after ?? ""}/${model}${whose === "thread" ? "/own" : ""}`;
  return {
    response: recordKey(partsOf(thread).provider, name),
    rows: null,
    at: total.after,
    model,
    tokens: { ...NO_TOKENS, ...Object.fromEntries(Object.entries(amounts).map(([kind, n]) => [kind, n ?? 0])) },
    counted: true,
    end: "finished",
    whose,
  };
}

/**
 * The rest of a printed total. The thread's own part is stated, for all models together; it is known by model if the
 * thread used only one. The cost of the last part is the rest of the stated cost.
 */
function restOf(stretch: Stretch, { covered, explained }: Pick<Reading, "covered" | "explained">): Undivided[] {
  const { thread, total, members } = stretch;
  const own = new Set(members.filter(({ key }) => key === thread).flatMap(({ calls }) => [...calls].map(responseOf)));
  const ownCalls = covered.filter((call) => own.has(call.response));
  const ownModels = new Set(ownCalls.map(({ model }) => nameOf(model)));
  const used = new Set(stretch.calls.map(({ model }) => nameOf(model)));
  const ownLeft = ownCalls.reduce(
    (left, { tokens }) => subtractAmounts(left, tokens),
    total.printed?.own ?? NO_AMOUNTS,
  );
  return explained.flatMap(({ model, amounts }) => {
    const left = subtractAmounts(amounts, ownLeft);
    const isKnown = ownModels.size === 1 && ownModels.has(model) && !isNegative(ownLeft) && !isNegative(left);
    const parts = isKnown
      ? [usageIn(stretch, model, ownLeft, "thread"), usageIn(stretch, model, left, "all")]
      : [usageIn(stretch, model, amounts, used.has(model) ? "all" : "internal")];
    const filled = parts.filter(({ tokens }) => totalTokens(tokens) > 0);
    const costUsd = total.byModel
      .filter((of) => nameOf(of.model) === model)
      .reduce((sum, of) => sum + (of.costUsd ?? Number.NaN), 0);
    const calls = [...covered.filter((call) => nameOf(call.model) === model), ...filled.slice(0, -1)];
    return filled.map((part, i) => {
      if (i < filled.length - 1) return part;
      return Number.isNaN(costUsd) ? { ...part, costUsd: null } : { ...part, costOf: { costUsd, calls } };
    });
  });
}

const responseOf = ({ response }: ModelCall) => response;

/** Null if the cache lifetime is unknown, which determines the cost. */
function tokensOf({ amounts }: Explained): ModelCall["tokens"] | null {
  if (amounts.cacheWrite1hTokens === null && amounts.cacheWriteTokens !== 0) return null;
  return {
    inputTokens: amounts.inputTokens ?? 0,
    outputTokens: amounts.outputTokens ?? 0,
    reasoningTokens: 0,
    cacheReadTokens: amounts.cacheReadTokens ?? 0,
    cacheWriteTokens: amounts.cacheWriteTokens ?? 0,
    cacheWrite1hTokens: amounts.cacheWrite1hTokens ?? 0,
  };
}
