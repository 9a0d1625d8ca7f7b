import type { Explained, OfModel } from "./account.ts";
import { exactMoney, plural } from "./format.ts";
import type { ModelCall } from "./gather.ts";
import { type AgentKey, partsOf, threadOf } from "./ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "./link.ts";
import type { Price } from "./record.ts";
import type { Settled, Settlement } from "./settle.ts";
import type { StatedTotal } from "./totals.ts";
import { type Amounts, addAmounts, COMPARED, type Compared, isNothing, NO_AMOUNTS, subtractAmounts } from "./usage.ts";

/** What was counted for a thread and all its agents, against what the product itself says it used. */
export interface Verification {
  readonly schema: "retinue/verification@1";
  readonly uri: string;
  /** `explained`: the sums differ, and it is known why. `nothing`: the product states no total to compare with. */
  readonly verdict: "agrees" | "explained" | "differs" | "nothing";
  /** The product's last total; null where it states none. */
  readonly stated: Sum | null;
  readonly counted: Sum;
  /** `stated` minus `counted` is what the reasons and the differences say together. */
  readonly reasons: readonly Reason[];
  readonly differences: readonly Difference[];
  /** What may be behind the differences. */
  readonly hints: readonly string[];
}

export type Sum = Amounts & { readonly costUsd: number | null };

export interface Reason {
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

/** A difference nothing explains. */
export interface Difference {
  readonly model: string;
  readonly kind: Compared;
  readonly stated: number;
  readonly counted: number;
}

/** Below this two sums of the same numbers may differ by how they were added. */
const CENT_FRACTION = 1e-6;

/** Every thread there is, newest activity first. */
export function verifyAll(forest: Forest, price: Price): Verification[] {
  const members = Map.groupBy(forest.agents.values(), (agent) => threadOf(agent.key));
  const threads = [...forest.agents.values()].filter((agent) => partsOf(agent.key).agent === null);
  threads.sort((a, b) => (b.lastActivity ?? 0) - (a.lastActivity ?? 0) || (a.key < b.key ? -1 : 1));
  return threads.map((thread) => verifyOne(forest, thread, members.get(thread.key) ?? [], price));
}

/** The thread of an agent: a product's totals are for all agents of a thread together. */
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
  const { settled } = thread;
  const last = settled?.settlements.at(-1);
  const found = settled === null ? { reasons: [noTotal(thread, calls)], differences: [] } : findingsOf(forest, thread, settled, calls, price);
  return {
    schema: "retinue/verification@1",
    uri: thread.uri,
    verdict: verdictOf(settled, found),
    stated: last === undefined ? null : { ...sumOf(last.total.byModel), costUsd: last.total.costUsd },
    counted: { ...sumOfCalls(calls), costUsd: costOf(calls, price, provider) },
    ...found,
    hints: found.differences.length === 0 ? [] : hintsFor(members),
  };
}

type Finding = Pick<Verification, "reasons" | "differences">;

function verdictOf(settled: Settled | null, { reasons, differences }: Finding): Verification["verdict"] {
  if (settled === null) return "nothing";
  if (differences.length > 0) return "differs";
  return reasons.some((reason) => reason.code !== "copied") ? "explained" : "agrees";
}

function findingsOf(forest: Forest, thread: LinkedAgent, { settlements, since }: Settled, calls: readonly ModelCall[], price: Price): Finding {
  const last = settlements.at(-1)?.total ?? null;
  const reasons = [
    ...copied(forest, thread),
    ...carriedOver(forest, thread, settlements),
    ...restarted(settlements, last),
    ...without(
      "process-without-total",
      settlements.flatMap((s) => s.earlier),
      (n) => `${n} by a process that left no total: it was killed, or its version writes none`,
    ),
    ...without(
      "cut-off",
      settlements.flatMap((s) => s.cut),
      (n) => `${n} never finished, which the product leaves out`,
    ),
    ...without(
      "own-behalf",
      calls.filter((call) => call.outsideTotals),
      (n) => `${n} on the product's own behalf, which it leaves out`,
    ),
    ...settlements.flatMap(({ explained, revealed }) => explained.map((e) => explanation(e, revealed !== null))),
    ...without(
      "not-in-records",
      settlements.some(({ total }) => total.running !== undefined) ? calls.filter((call) => call.unrecorded) : [],
      (n) => `${n} observed by a proxy or by telemetry, which the product neither recorded nor counted`,
    ),
    ...fromTotals(calls),
    ...without("since-last-total", since, (n) =>
      thread.verdict.status === "running" ? `${n} since its last total; it still runs` : `${n} after its last total: the process ended without stating another`,
    ),
  ];
  const differences = differencesIn(settlements);
  return { differences, reasons: [...reasons, ...(differences.length > 0 ? [] : prices(settlements, price, partsOf(thread.key).provider))] };
}

const noTotal = ({ verdict }: LinkedAgent, calls: readonly ModelCall[]): Reason => ({
  code: "no-total",
  says: whyNoTotal(verdict.status === "running", calls),
  tokens: NO_AMOUNTS,
});

function whyNoTotal(isRunning: boolean, calls: readonly ModelCall[]): string {
  if (calls.some((call) => call.fromTotals))
    return "its answers are counted from the product's own running totals: there is no second number to compare them with";
  if (isRunning) return "it still runs, and has stated no total so far";
  if (calls.length === 0) return "no answer of a model is recorded for it, and no total of the product's";
  return "no total of the product's that is independent of the count is known for it: its version writes none, or it was killed";
}

/** Part of a thread only: records of these answers are lost, or an older version of the product made them. */
function fromTotals(calls: readonly ModelCall[]): Reason[] {
  const derived = calls.filter((call) => call.fromTotals).length;
  if (derived === 0) return [];
  const says = `${plural(derived, "answer")} ${derived === 1 ? "is" : "are"} counted from the product's own running totals: for these there is no second number`;
  return [{ code: "from-totals", says, tokens: NO_AMOUNTS }];
}

function copied(forest: Forest, { forkedFrom }: LinkedAgent): Reason[] {
  const origin = forkedFrom === null ? undefined : forest.agents.get(forkedFrom);
  return origin === undefined ? [] : [{ code: "copied", says: `it began as a copy of ${origin.uri}: what was copied counts there`, tokens: NO_AMOUNTS }];
}

function carriedOver(forest: Forest, thread: LinkedAgent, settlements: readonly Settlement[]): Reason[] {
  const began = settlements.at(-1)?.total.began;
  return settlements.flatMap(({ base, total }) => {
    if (base === null || base.thread === thread.key || total.began !== began) return [];
    const tokens = sumOf(base.total.byModel);
    const whose = forest.agents.get(base.thread)?.uri ?? base.thread;
    return [{ code: "carried-over", says: `its total goes on from that of ${whose}: ${words(tokens)} were used there`, tokens } as const];
  });
}

/** A thread whose counting began anew: its last total says nothing of what came before. */
function restarted(settlements: readonly Settlement[], last: StatedTotal | null): Reason[] {
  const past = settlements.filter(({ total }) => total.began !== last?.began);
  const tokens = past.map(({ stated }) => sumOf(stated)).reduce(addAmounts, NO_AMOUNTS);
  return isNothing(tokens) ? [] : [{ code: "restarted", says: `its counting began anew after ${words(tokens)}`, tokens: negative(tokens) }];
}

function without(code: ReasonCode, calls: readonly ModelCall[], says: (answers: string) => string): Reason[] {
  if (calls.length === 0) return [];
  const tokens = sumOfCalls(calls);
  return [{ code, says: `${says(plural(calls.length, "answer"))} (${words(tokens)})`, tokens: negative(tokens) }];
}

function explanation({ why, model, amounts, traces, answers }: Explained, isRevealed: boolean): Reason {
  const reason = (says: string): Reason => ({ code: why, says, tokens: amounts });
  switch (why) {
    case "base-lost":
      return reason(`its total goes on from that of a thread whose totals are not known here: ${words(amounts)} on ${model}`);
    case "not-final":
      return reason(`${plural(answers, "answer")} on ${model} were written down before they were finished: ${words(amounts)} are missing`);
    case "own-behalf":
      return reason(`no agent used ${model}: ${words(amounts)} are the product's own${traces.length === 0 ? "" : ` (${tracesIn(traces)})`}`);
    case "unrecorded":
      return reason(`${tracesIn(traces)}: ${words(amounts)} on ${model} of which there is no record${isRevealed ? "; counted as internal" : ""}`);
    case "not-itemized":
      return reason(
        `${plural(answers, "answer")} on ${model} ${answers === 1 ? "tells" : "tell"} only what came out: ${words(amounts)} are known from the total alone`,
      );
    default:
      return why satisfies never;
  }
}

function tracesIn(traces: Explained["traces"]): string {
  return [...Map.groupBy(traces, (trace) => trace.what)].map(([what, list]) => (list.length === 1 ? what : `${list.length} × ${what}`)).join(", ");
}

function differencesIn(settlements: readonly Settlement[]): Difference[] {
  const models = [...new Set(settlements.flatMap((s) => s.unexplained.map((u) => u.model)))];
  return models.flatMap((model) => {
    const of = (pick: (s: Settlement) => readonly OfModel[]) =>
      settlements.flatMap((s) => pick(s).filter((m) => m.model === model)).reduce((sum, m) => addAmounts(sum, m.amounts), NO_AMOUNTS);
    const stated = of((s) => s.stated);
    const by = of((s) => s.unexplained);
    // What is explained for this model is taken as counted, so that only what is open is shown.
    return COMPARED.flatMap((kind) => {
      const [says, off] = [stated[kind], by[kind]];
      return says === null || off === null || off === 0 ? [] : [{ model, kind, stated: says, counted: says - off }];
    });
  });
}

/** Only where the tokens agree can the prices be told to differ. */
function prices(settlements: readonly Settlement[], price: Price, provider: string): Reason[] {
  let [stated, ours] = [0, 0];
  for (const { total, base, covered, explained, revealed } of settlements) {
    const before = base === null ? 0 : base.total.costUsd;
    const cost = costOf([...covered, ...(revealed === null ? [] : [revealed.call])], price, provider);
    if (total.costUsd === null || before === null || cost === null || explained.length > (revealed === null ? 0 : 1)) return [];
    stated += total.costUsd - before;
    ours += cost;
  }
  if (Math.abs(stated - ours) <= CENT_FRACTION) return [];
  return [
    {
      code: "prices",
      says: `the tokens agree, but the product has other prices than the public lists: ${exactMoney(stated)} there, ${exactMoney(ours)} here`,
      tokens: NO_AMOUNTS,
    },
  ];
}

function hintsFor(members: readonly LinkedAgent[]): string[] {
  const missing = members.filter((agent) => agent.records === 0 && agent.agentId !== null).length;
  return [
    ...(missing === 0 ? [] : [`${plural(missing, "agent")} of this thread ${missing === 1 ? "has" : "have"} no transcript: what they used cannot be counted`]),
    "retinue doctor tells what could not be read",
  ];
}

const sumOf = (models: readonly OfModel[]): Amounts => models.reduce((sum, m) => addAmounts(sum, m.amounts), NO_AMOUNTS);
const sumOfCalls = (calls: readonly ModelCall[]): Amounts => calls.reduce((sum, call) => addAmounts(sum, call.tokens), NO_AMOUNTS);
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

function words(amounts: Amounts): string {
  const told = COMPARED.filter((kind) => (amounts[kind] ?? 0) !== 0).map((kind) => `${amounts[kind]} ${KIND_WORDS[kind]}`);
  return told.length === 0 ? "nothing" : told.join(", ");
}
