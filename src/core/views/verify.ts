import { type AgentKey, partsOf, threadOf } from "../facts/ids.ts";
import {
  type Amounts,
  addAmounts,
  COMPARED,
  type Compared,
  isNothing,
  NO_AMOUNTS,
  subtractAmounts,
} from "../facts/usage.ts";
import type { Explained, OfModel } from "../link/account.ts";
import { agentOf, type Forest, type LinkedAgent } from "../link/forest.ts";
import type { ModelCall } from "../link/gather.ts";
import type { ReconciledTotals, Reconciliation } from "../link/reconcile.ts";
import type { StatedTotal } from "../link/totals.ts";
import { exactMoney, plural } from "../tools/format.ts";
import type { Price } from "./record.ts";

/** retinue's sum for a thread and all its agents, compared with the product's total. */
export interface Verification {
  readonly schema: "retinue/verification@1";
  readonly uri: string;
  /** `explained`: the sums differ for known reasons. `nothing`: the product states no total. */
  readonly verdict: "agrees" | "explained" | "differs" | "nothing";
  /** The product's last total; null if there is none. */
  readonly stated: Sum | null;
  readonly counted: Sum;
  /** `stated` minus `counted` is the sum of reasons and differences. */
  readonly reasons: readonly Reason[];
  readonly differences: readonly Difference[];
  /** Possible causes of the differences. */
  readonly hints: readonly string[];
}

export type Sum = Amounts & { readonly costUsd: number | null };

interface Reason {
  readonly code: ReasonCode;
  readonly says: string;
  /** What it adds to the stated total; negative for what the total lacks. */
  readonly tokens: Amounts;
}

export type ReasonCode =
  | "no-total"
  | "copied"
  | "carried-over"
  | "base-lost"
  | "restarted"
  | "process-without-total"
  | "since-last-total"
  | "cut-off"
  | "not-final"
  | "own-behalf"
  | "unrecorded"
  | "not-itemized"
  | "from-totals"
  | "not-in-records"
  | "prices";

/** An unexplained difference. */
export interface Difference {
  readonly model: string;
  readonly kind: Compared;
  readonly stated: number;
  readonly counted: number;
}

/** Tolerance for floating-point sums. */
const CENT_FRACTION = 1e-6;

/** All threads, newest activity first. */
export function verifyAll(forest: Forest, price: Price): Verification[] {
  const members = Map.groupBy(forest.agents.values(), (agent) => threadOf(agent.key));
  const threads = [...forest.agents.values()].filter((agent) => partsOf(agent.key).agent === null);
  threads.sort((a, b) => (b.lastActivity ?? 0) - (a.lastActivity ?? 0) || (a.key < b.key ? -1 : 1));
  return threads.map((thread) => verifyOne(forest, thread, members.get(thread.key) ?? [], price));
}

/** The thread of an agent: totals are for all agents of a thread together. */
export function verifyThreadOf(forest: Forest, key: AgentKey, price: Price): Verification {
  const thread = agentOf(forest, threadOf(key));
  return verifyOne(
    forest,
    thread,
    [...forest.agents.values()].filter((agent) => threadOf(agent.key) === thread.key),
    price,
  );
}

function verifyOne(forest: Forest, thread: LinkedAgent, members: readonly LinkedAgent[], price: Price): Verification {
  const { provider } = partsOf(thread.key);
  const calls = members.flatMap((agent) => [...agent.calls, ...agent.ownBehalf.flatMap((g) => [...g.calls])]);
  const totals = forest.totalsOf(thread.key);
  const last = totals?.reconciliations.at(-1);
  const found =
    totals === null
      ? { reasons: [noTotal(thread, calls)], differences: [] }
      : findingsOf(forest, thread, totals, calls, price);
  return {
    schema: "retinue/verification@1",
    uri: thread.uri,
    verdict: verdictOf(totals, found),
    stated: last === undefined ? null : { ...sumOf(last.total.byModel), costUsd: last.total.costUsd },
    counted: { ...sumOfCalls(calls), costUsd: costOf(calls, price, provider) },
    ...found,
    hints: found.differences.length === 0 ? [] : hintsFor(members),
  };
}

type Finding = Pick<Verification, "reasons" | "differences">;

function verdictOf(totals: ReconciledTotals | null, { reasons, differences }: Finding): Verification["verdict"] {
  if (totals === null) return "nothing";
  if (differences.length > 0) return "differs";
  return reasons.some((reason) => reason.code !== "copied") ? "explained" : "agrees";
}

function findingsOf(
  forest: Forest,
  thread: LinkedAgent,
  { reconciliations, since }: ReconciledTotals,
  calls: readonly ModelCall[],
  price: Price,
): Finding {
  const last = reconciliations.at(-1)?.total ?? null;
  const reasons = [
    ...copied(forest, thread),
    ...carriedOver(forest, thread, reconciliations),
    ...restarted(reconciliations, last),
    ...without(
      "process-without-total",
      reconciliations.flatMap((s) => s.earlier),
      (n) => `${n} by a process without a total: it was killed, or its version writes none`,
    ),
    ...without(
      "cut-off",
      reconciliations.flatMap((s) => s.cut),
      (n) => `${n} incomplete, which the product does not count`,
    ),
    ...without(
      "own-behalf",
      calls.filter((call) => call.outsideTotals),
      (n) => `${n} internal, which the product does not count`,
    ),
    ...reconciliations.flatMap(({ explained, revealed }) => explained.map((e) => explanation(e, revealed !== null))),
    ...without(
      "not-in-records",
      reconciliations.some(({ total }) => total.running !== undefined) ? calls.filter((call) => call.unrecorded) : [],
      (n) => `${n} observed by a proxy or telemetry, not recorded or counted by the product`,
    ),
    ...fromTotals(calls),
    ...without("since-last-total", since, (n) =>
      thread.verdict.status === "running"
        ? `${n} since its last total; it is still running`
        : `${n} after its last total: the process ended without stating another`,
    ),
  ];
  const differences = differencesIn(reconciliations);
  return {
    differences,
    reasons: [
      ...reasons,
      ...(differences.length > 0 ? [] : prices(reconciliations, price, partsOf(thread.key).provider)),
    ],
  };
}

const noTotal = ({ verdict }: LinkedAgent, calls: readonly ModelCall[]): Reason => ({
  code: "no-total",
  says: whyNoTotal(verdict.status === "running", calls),
  tokens: NO_AMOUNTS,
});

function whyNoTotal(isRunning: boolean, calls: readonly ModelCall[]): string {
  if (calls.some((call) => call.fromTotals))
    return "its responses are counted from the product's own running totals: there is no independent number to compare";
  if (isRunning) return "it is still running and has no total yet";
  if (calls.length === 0) return "it has no recorded responses and no total";
  return "it has no independent total: its version writes none, or it was killed";
}

/** For part of a thread: the records of these responses are missing, or were written by an older version. */
function fromTotals(calls: readonly ModelCall[]): Reason[] {
  const derived = calls.filter((call) => call.fromTotals).length;
  if (derived === 0) return [];
  const says = `${plural(derived, "response")} ${derived === 1 ? "is" : "are"} counted from the product's own running totals: there is no independent number for these`;
  return [{ code: "from-totals", says, tokens: NO_AMOUNTS }];
}

function copied(forest: Forest, { forkedFrom }: LinkedAgent): Reason[] {
  const origin = forkedFrom === null ? undefined : forest.agents.get(forkedFrom);
  return origin === undefined
    ? []
    : [
        {
          code: "copied",
          says: `it began as a copy of ${origin.uri}: the copied part counts there`,
          tokens: NO_AMOUNTS,
        },
      ];
}

function carriedOver(forest: Forest, thread: LinkedAgent, reconciliations: readonly Reconciliation[]): Reason[] {
  const began = reconciliations.at(-1)?.total.began;
  return reconciliations.flatMap(({ base, total }) => {
    if (base === null || base.thread === thread.key || total.began !== began) return [];
    const tokens = sumOf(base.total.byModel);
    const whose = forest.agents.get(base.thread)?.uri ?? base.thread;
    return [
      {
        code: "carried-over",
        says: `its total continues that of ${whose}, which used ${amountsText(tokens)}`,
        tokens,
      } as const,
    ];
  });
}

/** Counting restarted: the last total omits earlier usage. */
function restarted(reconciliations: readonly Reconciliation[], last: StatedTotal | null): Reason[] {
  const past = reconciliations.filter(({ total }) => total.began !== last?.began);
  const tokens = past.map(({ stated }) => sumOf(stated)).reduce(addAmounts, NO_AMOUNTS);
  return isNothing(tokens)
    ? []
    : [{ code: "restarted", says: `its counting restarted after ${amountsText(tokens)}`, tokens: negative(tokens) }];
}

function without(code: ReasonCode, calls: readonly ModelCall[], says: (responses: string) => string): Reason[] {
  if (calls.length === 0) return [];
  const tokens = sumOfCalls(calls);
  return [
    { code, says: `${says(plural(calls.length, "response"))} (${amountsText(tokens)})`, tokens: negative(tokens) },
  ];
}

function explanation({ why, model, amounts, traces, responses }: Explained, isRevealed: boolean): Reason {
  const reason = (says: string): Reason => ({ code: why, says, tokens: amounts });
  switch (why) {
    case "base-lost":
      return reason(`its total continues that of an unknown thread: ${amountsText(amounts)} on ${model}`);
    case "not-final":
      return reason(
        `${plural(responses, "response")} on ${model} recorded before completion: ${amountsText(amounts)} missing`,
      );
    case "own-behalf":
      return reason(
        `no agent used ${model}: ${amountsText(amounts)} are internal${traces.length === 0 ? "" : ` (${tracesIn(traces)})`}`,
      );
    case "unrecorded":
      return reason(
        `${tracesIn(traces)}: ${amountsText(amounts)} on ${model} without a record${isRevealed ? "; counted as internal" : ""}`,
      );
    case "not-itemized":
      if (responses === 0)
        return reason(
          `its output has only the counts with which responses on ${model} began, and not every response: ${amountsText(amounts)} known from the total alone`,
        );
      return reason(
        `${plural(responses, "response")} on ${model} recorded with output tokens only: ${amountsText(amounts)} known from the total alone`,
      );
    default:
      return why satisfies never;
  }
}

function tracesIn(traces: Explained["traces"]): string {
  return [...Map.groupBy(traces, (trace) => trace.what)]
    .map(([what, list]) => (list.length === 1 ? what : `${list.length} × ${what}`))
    .join(", ");
}

function differencesIn(reconciliations: readonly Reconciliation[]): Difference[] {
  const models = [...new Set(reconciliations.flatMap((s) => s.unexplained.map((u) => u.model)))];
  return models.flatMap((model) => {
    const of = (pick: (s: Reconciliation) => readonly OfModel[]) =>
      reconciliations
        .flatMap((s) => pick(s).filter((m) => m.model === model))
        .reduce((sum, m) => addAmounts(sum, m.amounts), NO_AMOUNTS);
    const stated = of((s) => s.stated);
    const by = of((s) => s.unexplained);
    // Explained amounts count as known, so that only open differences are shown.
    return COMPARED.flatMap((kind) => {
      const [says, off] = [stated[kind], by[kind]];
      return says === null || off === null || off === 0 ? [] : [{ model, kind, stated: says, counted: says - off }];
    });
  });
}

/** Prices are compared only if the tokens agree. */
function prices(reconciliations: readonly Reconciliation[], price: Price, provider: string): Reason[] {
  let [stated, counted] = [0, 0];
  for (const { total, base, covered, explained, revealed } of reconciliations) {
    const before = base === null ? 0 : base.total.costUsd;
    const cost = costOf([...covered, ...(revealed === null ? [] : [revealed.call])], price, provider);
    if (total.costUsd === null || before === null || cost === null || explained.length > (revealed === null ? 0 : 1))
      return [];
    stated += total.costUsd - before;
    counted += cost;
  }
  if (Math.abs(stated - counted) <= CENT_FRACTION) return [];
  return [
    {
      code: "prices",
      says: `the tokens agree, but the product's prices differ from the public lists: ${exactMoney(stated)} instead of ${exactMoney(counted)}`,
      tokens: NO_AMOUNTS,
    },
  ];
}

function hintsFor(members: readonly LinkedAgent[]): string[] {
  const missing = members.filter((agent) => agent.records === 0 && agent.agentId !== null).length;
  return [
    ...(missing === 0
      ? []
      : [
          `${plural(missing, "agent")} of this thread ${missing === 1 ? "has" : "have"} no transcript: their usage cannot be counted`,
        ]),
    "retinue doctor lists what could not be read",
  ];
}

const sumOf = (models: readonly OfModel[]): Amounts =>
  models.reduce((sum, m) => addAmounts(sum, m.amounts), NO_AMOUNTS);
const sumOfCalls = (calls: readonly ModelCall[]): Amounts =>
  calls.reduce((sum, call) => addAmounts(sum, call.tokens), NO_AMOUNTS);
const negative = (amounts: Amounts) => subtractAmounts(NO_AMOUNTS, amounts);

function costOf(calls: readonly ModelCall[], price: Price, provider: string): number | null {
  return calls.reduce<number | null>((sum, call) => {
    const cost = price(call, provider);
    return sum === null || cost === null ? null : sum + cost;
  }, 0);
}

export const KIND_WORDS: Readonly<Record<Compared, string>> = {
  inputTokens: "input",
  outputTokens: "output",
  cacheReadTokens: "cache read",
  cacheWriteTokens: "cache write",
  cacheWrite1hTokens: "1-hour cache write",
};

function amountsText(amounts: Amounts): string {
  const parts = COMPARED.filter((kind) => (amounts[kind] ?? 0) !== 0).map(
    (kind) => `${amounts[kind]} ${KIND_WORDS[kind]}`,
  );
  return parts.length === 0 ? "nothing" : parts.join(", ");
}
