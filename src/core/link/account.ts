import {
  type Amounts,
  addAmounts,
  COMPARED,
  isNegative,
  isNothing,
  NO_AMOUNTS,
  subtractAmounts,
} from "../facts/usage.ts";
import type { GatheredAgent, ModelCall } from "./gather.ts";
import type { UnrecordedCall } from "./totals.ts";

export interface OfModel {
  readonly model: string;
  readonly amounts: Amounts;
}

/** Evidence of a model call without a record, and the agent whose records contain it. */
export type Trace = UnrecordedCall & { readonly agent: Pick<GatheredAgent, "key" | "calls"> };

/** The difference between a stated total and the known model calls: the explained and the unexplained part. */
export interface Account {
  readonly explained: readonly Explained[];
  readonly unexplained: readonly OfModel[];
}

export interface Explained extends OfModel {
  /**
   * `base-lost`: the total continues one that is not available. `not-final`: output that was never recorded.
   * `own-behalf`: no agent used this model. `unrecorded`: the records show model calls that they do not contain.
   * `not-itemized`: responses whose records have only output tokens, or output that states the rest as a total alone.
   */
  readonly why: "base-lost" | "not-final" | "own-behalf" | "unrecorded" | "not-itemized";
  readonly traces: readonly Trace[];
  /** Number of responses without final counts. */
  readonly responses: number;
}

interface Known {
  readonly stated: readonly OfModel[];
  /** The model calls that the total includes. */
  readonly covered: readonly ModelCall[];
  /** All model calls of the thread. */
  readonly used: readonly ModelCall[];
  readonly traces: readonly Trace[];
  readonly isBaseLost: boolean;
  /** The records contain only a part of the usage: of some responses the beginning, of others nothing. */
  readonly isPartial: boolean;
  /** An agent of the thread worked, but none of its responses is known. */
  readonly hasAgentWithoutCalls: boolean;
}

/** Explains why the total exceeds the known calls. The opposite is never explained. */
export function account({
  stated,
  covered,
  used,
  traces,
  isBaseLost,
  isPartial,
  hasAgentWithoutCalls,
}: Known): Account {
  const differences = sumByModel(stated, covered.map(amountsOf)).filter(({ amounts }) => !isNothing(amounts));
  const because = (of: OfModel, why: Explained["why"], more: Partial<Explained> = {}): Explained => ({
    ...of,
    why,
    traces: [],
    responses: 0,
    ...more,
  });
  if (isBaseLost && !differences.some(({ amounts }) => isNegative(amounts)))
    return { explained: differences.map((of) => because(of, "base-lost")), unexplained: [] };
  if (isPartial)
    return {
      explained: differences.filter(({ amounts }) => !isNegative(amounts)).map((of) => because(of, "not-itemized")),
      unexplained: differences.filter(({ amounts }) => isNegative(amounts)),
    };

  const models = new Set(used.map((call) => nameOf(call.model)));
  // If responses of an agent are missing, no model can be ruled out.
  const isUnused = (model: string) => models.size > 0 && !models.has(model) && !hasAgentWithoutCalls;
  const onAny = traces.filter((trace) => trace.on === "any");
  const [explained, left]: [Explained[], OfModel[]] = [[], []];
  for (const difference of differences) {
    const withoutInput = covered.filter((call) => call.outputOnly && nameOf(call.model) === difference.model).length;
    const input: OfModel = { ...difference, amounts: { ...difference.amounts, outputTokens: 0 } };
    const isItemized = withoutInput === 0 || isNothing(input.amounts) || isNegative(input.amounts);
    if (!isItemized) explained.push(because(input, "not-itemized", { responses: withoutInput }));
    const of = isItemized
      ? difference
      : { ...difference, amounts: { ...NO_AMOUNTS, outputTokens: difference.amounts.outputTokens } };
    if (isNothing(of.amounts)) continue;
    const responses = covered.filter((call) => call.end !== "finished" && nameOf(call.model) === of.model).length;
    const onOwn = traces.filter((trace) => trace.on === "own" && worksOn(trace.agent, of.model));
    if (isNegative(of.amounts)) left.push(of);
    else if (responses > 0 && isOutputAlone(of.amounts)) explained.push(because(of, "not-final", { responses }));
    else if (isUnused(of.model)) explained.push(because(of, "own-behalf", { traces: onAny }));
    else if (onOwn.length > 0) explained.push(because(of, "unrecorded", { traces: onOwn }));
    else left.push(of);
  }
  // Internal calls use one model. If one model shows calls that no agent made, they explain no other model.
  const [only] = left;
  const isInternal = onAny.length > 0 && left.length === 1 && !explained.some((e) => e.why === "own-behalf");
  if (only === undefined || !isInternal || isNegative(only.amounts)) return { explained, unexplained: left };
  return { explained: [...explained, because(only, "unrecorded", { traces: onAny })], unexplained: [] };
}

export const amountsOf = (call: ModelCall): OfModel => ({ model: call.model, amounts: call.tokens });

/** A model and its dated version are the same model. */
export const nameOf = (model: string) => model.replace(/[-@]\d{8}$/, "");

/** The sums of `plus` minus those of `minus`, by model. */
export function sumByModel(plus: readonly OfModel[], minus: readonly OfModel[]): OfModel[] {
  const sums = new Map<string, Amounts>();
  const take = (how: typeof addAmounts) => (of: OfModel) =>
    sums.set(nameOf(of.model), how(sums.get(nameOf(of.model)) ?? NO_AMOUNTS, of.amounts));
  plus.forEach(take(addAmounts));
  minus.forEach(take(subtractAmounts));
  return [...sums].map(([model, amounts]) => ({ model, amounts }));
}

const isOutputAlone = (amounts: Amounts) =>
  COMPARED.every((kind) => kind === "outputTokens" || (amounts[kind] ?? 0) === 0);

/** For an agent without a known model, no model can be ruled out. */
const worksOn = (agent: Trace["agent"], model: string) =>
  agent.calls.length === 0 || Iterator.from(agent.calls).some((call) => nameOf(call.model) === model);
