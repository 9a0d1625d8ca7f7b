import type { ModelCallMissing, TotalStated } from "../../core/facts/observation.ts";
import type { Amounts } from "../../core/facts/usage.ts";
import { asAmount, asCount, asObject, asTime, type JsonObject } from "../../core/tools/json.ts";
import type { Row } from "./rows.ts";

/**
 * `cost-state`, since 2.1.280: what the session has used so far, including its agents. Written when a process ends
 * (twice by the interactive one) and when `/clear` starts another session. A resumed or forked session continues from
 * the last value of the session before.
 */
export function totalStated({ json }: Row): TotalStated | null {
  const models = asObject(json.modelUsage);
  if (models === null) return null;
  const used = Object.entries(models).map(([model, usage]) => ({
    model: plainName(model),
    usage: asObject(usage) ?? {},
  }));
  return {
    type: "total-stated",
    byModel: used.map(({ model, usage }) => ({ model, amounts: amountsOf(usage) })),
    costUsd: json.hasUnknownModelCost === true ? null : asAmount(json.totalCostUSD),
    began: asTime(json.startTime),
    activeMs: asAmount(json.totalDuration),
  };
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
