import type { GatheredAgent, ModelCall } from "./gather.ts";
import type { UnrecordedCall } from "./totals.ts";
import { type Amounts, addAmounts, COMPARED, isNegative, isNothing, NO_AMOUNTS, subtractAmounts } from "./usage.ts";

export interface OfModel {
  readonly model: string;
  readonly amounts: Amounts;
}

/** A trace of a call without a record, and the agent in whose records it is. */
export type Trace = UnrecordedCall & { readonly agent: Pick<GatheredAgent, "key" | "calls"> };

/** What a total states beyond what is known: where there is a reason for it, and where not. */
export interface Account {
  readonly explained: readonly Explained[];
  readonly unexplained: readonly OfModel[];
}

export interface Explained extends OfModel {
  /**
   * `base-lost`: the total goes on from one that is not here. `not-final`: output that the records never got. `own-behalf`: no agent used this model.
   * `unrecorded`: the records show calls that they do not hold. `not-itemized`: answers whose records tell only their output.
   */
  readonly why: "base-lost" | "not-final" | "own-behalf" | "unrecorded" | "not-itemized";
  readonly traces: readonly Trace[];
  /** How many answers are not final. */
  readonly answers: number;
}

interface Known {
  readonly stated: readonly OfModel[];
  /** The calls that the total counts. */
  readonly covered: readonly ModelCall[];
  /** All calls of the thread, at any time. */
  readonly used: readonly ModelCall[];
  readonly traces: readonly Trace[];
  readonly isBaseLost: boolean;
  /** Somebody in the thread worked, and no answer is known that it got. */
  readonly isAnyoneSilent: boolean;
}

/** Looks for reasons why more is stated than known. That more is known than stated has none. */
export function account({ stated, covered, used, traces, isBaseLost, isAnyoneSilent }: Known): Account {
  const counted = covered.map((call) => ({ model: call.model, amounts: call.tokens }));
  const differences = sumByModel(stated, counted).filter(({ amounts }) => !isNothing(amounts));
  const because = (of: OfModel, why: Explained["why"], more: Partial<Explained> = {}): Explained => ({ ...of, why, traces: [], answers: 0, ...more });
  if (isBaseLost && !differences.some(({ amounts }) => isNegative(amounts)))
    return { explained: differences.map((of) => because(of, "base-lost")), unexplained: [] };

  const models = new Set(used.map((call) => nameOf(call.model)));
  // Of somebody whose answers are lost, no model can be ruled out.
  const isNobodys = (model: string) => models.size > 0 && !models.has(model) && !isAnyoneSilent;
  const onAny = traces.filter((trace) => trace.on === "any");
  const [explained, left]: [Explained[], OfModel[]] = [[], []];
  for (const difference of differences) {
    const withoutInput = covered.filter((call) => call.outputOnly && nameOf(call.model) === difference.model).length;
    const input: OfModel = { ...difference, amounts: { ...difference.amounts, outputTokens: 0 } };
    const isItemized = withoutInput === 0 || isNothing(input.amounts) || isNegative(input.amounts);
    if (!isItemized) explained.push(because(input, "not-itemized", { answers: withoutInput }));
    const of = isItemized ? difference : { ...difference, amounts: { ...NO_AMOUNTS, outputTokens: difference.amounts.outputTokens } };
    if (isNothing(of.amounts)) continue;
    const answers = covered.filter((call) => call.end !== "finished" && nameOf(call.model) === of.model).length;
    const onOwn = traces.filter((trace) => trace.on === "own" && worksOn(trace.agent, of.model));
    if (isNegative(of.amounts)) left.push(of);
    else if (answers > 0 && isOutputAlone(of.amounts)) explained.push(because(of, "not-final", { answers }));
    else if (isNobodys(of.model)) explained.push(because(of, "own-behalf", { traces: onAny }));
    else if (onOwn.length > 0) explained.push(because(of, "unrecorded", { traces: onOwn }));
    else left.push(of);
  }
  // Calls of the product's own go to one model. Where one shows calls that no agent made, they went there, and explain no other.
  const [only] = left;
  const isTheirs = onAny.length > 0 && left.length === 1 && !explained.some((e) => e.why === "own-behalf");
  if (only === undefined || !isTheirs || isNegative(only.amounts)) return { explained, unexplained: left };
  return { explained: [...explained, because(only, "unrecorded", { traces: onAny })], unexplained: [] };
}

/** An alias and the dated model behind it are one model. */
const nameOf = (model: string) => model.replace(/[-@]\d{8}$/, "");

/** The sums of the first less those of the second, model by model. */
export function sumByModel(plus: readonly OfModel[], minus: readonly OfModel[]): OfModel[] {
  const sums = new Map<string, Amounts>();
  const take = (how: typeof addAmounts) => (of: OfModel) => sums.set(nameOf(of.model), how(sums.get(nameOf(of.model)) ?? NO_AMOUNTS, of.amounts));
  plus.forEach(take(addAmounts));
  minus.forEach(take(subtractAmounts));
  return [...sums].map(([model, amounts]) => ({ model, amounts }));
}

const isOutputAlone = (amounts: Amounts) => COMPARED.every((kind) => kind === "outputTokens" || (amounts[kind] ?? 0) === 0);

/** Of an agent that was never seen to use any model, nothing can be ruled out. */
const worksOn = (agent: Trace["agent"], model: string) => agent.calls.length === 0 || Iterator.from(agent.calls).some((call) => nameOf(call.model) === model);
