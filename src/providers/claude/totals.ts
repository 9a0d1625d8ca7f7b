import type { ModelCallMissing, ModelTotal, TotalStated } from "../../core/facts/totals.ts";
import {
  type Amounts,
  addAmounts,
  isNegative,
  isNothing,
  NO_AMOUNTS,
  subtractAmounts,
} from "../../core/facts/usage.ts";
import { sumOfModels } from "../../core/link/totals.ts";
import { asAmount, asCount, asNonBlank, asObject, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { Row } from "./rows.ts";
import { tokensIn } from "./rows.ts";

/**
 * `cost-state`, since 2.1.280: what the session has used so far, including its agents. Written when a process ends
 * (twice by the interactive one) and when `/clear` starts another session. A resumed or forked session continues from
 * the last value of the session before.
 */
export function totalStated({ json }: Row): TotalStated | null {
  const models = asObject(json.modelUsage);
  if (models === null) return null;
  return {
    type: "total-stated",
    byModel: usedIn(models).map(({ model, amounts }) => ({ model, amounts })),
    costUsd: json.hasUnknownModelCost === true ? null : asAmount(json.totalCostUSD),
    began: asTime(json.startTime),
    activeMs: asAmount(json.totalDuration),
  };
}

const usedIn = (models: JsonObject): ModelTotal[] =>
  Object.entries(models).map(([model, value]) => {
    const usage = asObject(value) ?? {};
    const costUsd = asAmount(usage.costUSD);
    return { model: plainName(model), amounts: amountsOf(usage), ...(costUsd === null ? {} : { costUsd }) };
  });

/** What a process has used so far, according to its `result` lines. */
export interface PrintedUsage {
  readonly process: string;
  readonly byModel: readonly ModelTotal[];
  readonly own: Amounts;
}

/**
 * `usage` is that of the thread itself, for one turn. `modelUsage` includes its agents: it begins at zero in each
 * process up to 2.1.220, and continues the total of a resumed session in 2.1.325, which therefore also prints
 * `model_usage_since_last_result`.
 */
export function printedUsage(line: JsonObject, before: PrintedUsage): PrintedUsage {
  const [since, all] = [asObject(line.model_usage_since_last_result), asObject(line.modelUsage)];
  const own = addAmounts(before.own, tokensIn(asObject(line.usage)));
  if (since !== null) return { ...before, byModel: sumOfModels([...before.byModel, ...usedIn(since)]), own };
  // A turn that failed before any response may state nothing.
  const byModel = sumOfModels(usedIn(all ?? {}));
  if (byModel.length === 0) return { ...before, own };
  // Output of several processes in one file.
  const isNext = before.byModel.some(({ model, amounts }) =>
    isNegative(subtractAmounts(byModel.find((of) => of.model === model)?.amounts ?? NO_AMOUNTS, amounts)),
  );
  return isNext
    ? { process: asNonBlank(line.uuid) ?? `${before.process}+`, byModel, own: subtractAmounts(own, before.own) }
    : { ...before, byModel, own };
}

/** Null if nothing is stated: programs that imitate the output print zeros. */
export function printedTotal({ process, byModel, own }: PrintedUsage): TotalStated | null {
  if (byModel.every(({ amounts }) => isNothing(amounts))) return null;
  const costs = byModel.map(({ costUsd }) => costUsd);
  const costUsd = costs.reduce<number | null>(
    (sum, cost) => (sum === null || cost === undefined ? null : sum + cost),
    0,
  );
  return { type: "total-stated", byModel, costUsd, began: null, activeMs: null, printed: { process, own } };
}

function amountsOf(usage: JsonObject): Amounts {
  return {
    inputTokens: asCount(usage.inputTokens),
    outputTokens: asCount(usage.outputTokens),
    cacheReadTokens: asCount(usage.cacheReadInputTokens),
    cacheWriteTokens: asCount(usage.cacheCreationInputTokens),
    // The lifetime of cache writes is not reported before 2.1.325.
    cacheWrite1hTokens: asAmount(usage.cacheCreationEphemeral1hInputTokens),
  };
}

/** 2.1.280 writes `claude-opus-5-5[1m]`, while responses have `claude-opus-5-5`. */
const plainName = (model: string) => model.replace(/\[[^\]]*\]$/, "");

/** The summary is one model call on the model of the compacted agent; no record contains it (2.1.325). */
export const COMPACTION: ModelCallMissing = { type: "model-call-missing", what: "compaction", on: "own", one: true };
/** Made by a small model when a user types the first prompt. */
export const TITLE: ModelCallMissing = { type: "model-call-missing", what: "title", on: "any", one: false };

/**
 * Tools that call a model themselves. Measured for the search (2.1.325: on the agent's own model); reported for the
 * fetch.
 */
export const MODEL_TOOLS: ReadonlyMap<string, ModelCallMissing> = new Map([
  ["WebSearch", { type: "model-call-missing", what: "web search", on: "own", one: false }],
  ["WebFetch", { type: "model-call-missing", what: "web page", on: "any", one: false }],
]);
