import { asAmount, asCount, asObject, asTime, type JsonObject } from "../../core/json.ts";
import type { CallUnrecorded, TotalStated } from "../../core/observation.ts";
import type { Amounts } from "../../core/usage.ts";
import type { Row } from "./rows.ts";

/**
 * `cost-state`, since 2.1.280: what the session has used so far, its agents included. Written when a process ends, twice by the interactive one, and
 * when `/clear` begins another session. A resumed or forked session goes on from the last one of the session it continues.
 */
export function totalStated({ json }: Row): TotalStated | null {
  const models = asObject(json.modelUsage);
  if (models === null) return null;
  const used = Object.entries(models).map(([model, usage]) => ({ model: plainName(model), usage: asObject(usage) ?? {} }));
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
    // Not told apart before 2.1.325.
    cacheWrite1hTokens: asAmount(usage.cacheCreationEphemeral1hInputTokens),
  };
}

/** 2.1.280 writes `claude-opus-5-5[1m]` where its answers say `claude-opus-5-5`. */
const plainName = (model: string) => model.replace(/\[[^\]]*\]$/, "");

/** Its summary is one call on the model of whoever was compacted; no record holds it (2.1.325). */
export const COMPACTION: CallUnrecorded = { type: "call-unrecorded", what: "compaction", on: "own", one: true };
/** Made by a small model when a person types the first prompt. */
export const TITLE: CallUnrecorded = { type: "call-unrecorded", what: "title", on: "any", one: false };

/** Tools that ask a model of their own for what they return. The search was measured (2.1.325: on the agent's own model); of the fetch it is reported. */
export const MODEL_TOOLS: ReadonlyMap<string, CallUnrecorded> = new Map([
  ["WebSearch", { type: "call-unrecorded", what: "web search", on: "own", one: false }],
  ["WebFetch", { type: "call-unrecorded", what: "web page", on: "any", one: false }],
]);
