import { asAmount, asCount, asNumber, asObject, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import type { ModelCalled, TotalStated } from "../../core/observation.ts";
import { type Amounts, NO_TOKENS, type Tokens } from "../../core/usage.ts";
import type { CopilotEvent } from "./event.ts";
import * as key from "./keys.ts";

/** Conversations; everything else is asked for by the product itself, such as the summary of a compaction. */
const ASKED_BY_AGENTS = new Set(["conversation-agent", "conversation-subagent"]);

export interface UsageRecord {
  readonly call: ModelCalled;
  readonly isOwnBehalf: boolean;
}

/** `session.usage_record`: one finished answer of a model. Its input counts cached tokens too. */
export function readUsage({ data, id }: CopilotEvent, session: string): UsageRecord | null {
  const usage = asObject(data.usage);
  const response = asWords(usage?.apiCallId) ?? asWords(asObject(usage?.accounting)?.usageId) ?? id;
  if (usage === null || response === null) return null;
  const kind = asWords(usage.interactionType);
  // The user's own account with a vendor; of models behind the product's own service only the name is known.
  const vendor = usage.isByok === true ? asWords(usage.providerType) : null;
  const call: ModelCalled = {
    type: "model-call",
    response: key.response(session, response),
    model: asText(usage.model) ?? "",
    ...(vendor === null ? {} : { vendor }),
    tokens: tokensIn(usage),
    chars: 0,
    ended: true,
  };
  return { call, isOwnBehalf: kind !== null && !ASKED_BY_AGENTS.has(kind) };
}

/** `session.compaction_complete`: the summary that replaces a conversation. The product does not count it. */
export function compactionIn({ data, id }: CopilotEvent, session: string): readonly ModelCalled[] {
  const used = asObject(data.compactionTokensUsed);
  const attempt = asWords(data.compactionAttemptId) ?? id;
  if (used === null || attempt === null) return [];
  // All requests together: the first one stands for what they used.
  return Array.from({ length: Math.min(MAX_REQUESTS, Math.max(1, Math.round(asCount(used.requestCount)))) }, (_, i) => ({
    type: "model-call",
    response: key.response(session, `${attempt}/${i}`),
    model: asText(used.model) ?? "",
    outsideTotals: true,
    tokens: i === 0 ? tokensIn(used) : NO_TOKENS,
    chars: 0,
    ended: true,
  }));
}

const MAX_REQUESTS = 100;

/**
 * Up to 1.0.64, and somewhat later, an answer tells what it put out and nothing else; up to 1.0.40 it does not name its response either, and some versions
 * tell no numbers at all. `isAll`: no other record tells more. `model` is the one at work, for versions whose answers do not name it.
 */
export function outputIn(event: CopilotEvent, session: string, isAll: boolean, model: string): ModelCalled | null {
  const { data } = event;
  const [response, output] = [responseIn(event, isAll), asAmount(data.outputTokens)];
  if (response === null || (output === null && !isAll)) return null;
  const tokens = { ...NO_TOKENS, outputTokens: Math.max(0, output ?? 0) };
  const only = isAll ? ({ costUsd: null, outputOnly: true } as const) : {};
  return { type: "model-call", response: key.response(session, response), model: asText(data.model) ?? model, ...only, tokens, chars: 0, ended: true };
}

/** What the answer is known by. Where other records tell what it used, only the name that they know it by will do. */
function responseIn({ data, id }: CopilotEvent, isAll: boolean): string | null {
  return asWords(data.apiCallId) ?? (isAll ? (asWords(data.messageId) ?? id) : null);
}

function tokensIn(usage: JsonObject): Tokens {
  const [read, written] = [asCount(usage.cacheReadTokens), asCount(usage.cacheWriteTokens)];
  return {
    inputTokens: Math.max(0, asCount(usage.inputTokens) - read - written),
    outputTokens: asCount(usage.outputTokens),
    reasoningTokens: asCount(usage.reasoningTokens),
    cacheReadTokens: read,
    cacheWriteTokens: written,
    cacheWrite1hTokens: 0,
  };
}

/** `session.shutdown`: what all agents used since the session began, over all processes that went on with it. */
export function totalIn({ data }: CopilotEvent): TotalStated | null {
  const models = asObject(asObject(data.accountingSnapshot)?.modelMetrics) ?? asObject(data.modelMetrics);
  if (models === null) return null;
  return {
    type: "total-stated",
    byModel: Object.entries(models).map(([model, metrics]) => ({ model, amounts: amountsIn(asObject(asObject(metrics)?.usage)) })),
    costUsd: null,
    began: asNumber(data.sessionStartTime) === null ? asTime(asObject(data.accountingSnapshot)?.sessionStartTime) : asTime(data.sessionStartTime),
    activeMs: null,
  };
}

/** How long cache writes live is not told. */
function amountsIn(usage: JsonObject | null): Amounts {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokensIn(usage ?? {});
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens: null };
}
