import type { ModelCalled } from "../../core/facts/observation.ts";
import type { TotalStated } from "../../core/facts/totals.ts";
import { type Amounts, NO_TOKENS, type Tokens } from "../../core/facts/usage.ts";
import {
  asAmount,
  asCount,
  asNonBlank,
  asNumber,
  asObject,
  asText,
  asTime,
  type JsonObject,
} from "../../core/tools/json.ts";
import type { CopilotEvent } from "./event.ts";
import * as key from "./keys.ts";

/** Initiators of agents' model calls; all others are internal, such as the summary of a compaction. */
const AGENT_INITIATORS = new Set(["conversation-agent", "conversation-subagent"]);

export interface UsageRecord {
  readonly call: ModelCalled;
  readonly isInternal: boolean;
}

/** `session.usage_record`: one complete model response. Its input includes cached tokens. */
export function readUsage({ data, id }: CopilotEvent, session: string): UsageRecord | null {
  const usage = asObject(data.usage);
  const response = asNonBlank(usage?.apiCallId) ?? asNonBlank(asObject(usage?.accounting)?.usageId) ?? id;
  if (usage === null || response === null) return null;
  const kind = asNonBlank(usage.interactionType);
  // The user's own account with a vendor; for the product's own service the vendor is unknown.
  const vendor = usage.isByok === true ? asNonBlank(usage.providerType) : null;
  const call: ModelCalled = {
    type: "model-call",
    response: key.response(session, response),
    model: asText(usage.model) ?? "",
    ...(vendor === null ? {} : { vendor }),
    tokens: tokensIn(usage),
    chars: 0,
    ended: true,
  };
  return { call, isInternal: kind !== null && !AGENT_INITIATORS.has(kind) };
}

/** `session.compaction_complete`: the summary that replaces a conversation. The product does not count it. */
export function compactionIn({ data, id }: CopilotEvent, session: string): readonly ModelCalled[] {
  const used = asObject(data.compactionTokensUsed);
  const attempt = asNonBlank(data.compactionAttemptId) ?? id;
  if (used === null || attempt === null) return [];
  // Usage of all requests together is assigned to the first one.
  return Array.from(
    { length: Math.min(MAX_REQUESTS, Math.max(1, Math.round(asCount(used.requestCount)))) },
    (_, i) => ({
      type: "model-call",
      response: key.response(session, `${attempt}/${i}`),
      model: asText(used.model) ?? "",
      outsideTotals: true,
      tokens: i === 0 ? tokensIn(used) : NO_TOKENS,
      chars: 0,
      ended: true,
    }),
  );
}

const MAX_REQUESTS = 100;

/**
 * Up to 1.0.64, and in some later versions, a response has only output tokens; up to 1.0.40 it does not name its
 * response either, and some versions have no numbers. `isAll`: no other record has more. `model` is the current one,
 * for versions whose responses do not name it.
 */
export function outputIn(event: CopilotEvent, session: string, isAll: boolean, model: string): ModelCalled | null {
  const { data } = event;
  const [response, output] = [responseIn(event, isAll), asAmount(data.outputTokens)];
  if (response === null || (output === null && !isAll)) return null;
  const tokens = { ...NO_TOKENS, outputTokens: Math.max(0, output ?? 0) };
  const only = isAll ? ({ costUsd: null, outputOnly: true } as const) : {};
  return {
    type: "model-call",
    response: key.response(session, response),
    model: asText(data.model) ?? model,
    ...only,
    tokens,
    chars: 0,
    ended: true,
  };
}

/** The id of the response. If other records contain its usage, it must be the id that they use. */
function responseIn({ data, id }: CopilotEvent, isAll: boolean): string | null {
  return asNonBlank(data.apiCallId) ?? (isAll ? (asNonBlank(data.messageId) ?? id) : null);
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

/** `session.shutdown`: usage of all agents since the session began, over all its processes. */
export function totalIn({ data }: CopilotEvent): TotalStated | null {
  const models = asObject(asObject(data.accountingSnapshot)?.modelMetrics) ?? asObject(data.modelMetrics);
  if (models === null) return null;
  return {
    type: "total-stated",
    byModel: Object.entries(models).map(([model, metrics]) => ({
      model,
      amounts: amountsIn(asObject(asObject(metrics)?.usage)),
    })),
    costUsd: null,
    began:
      asNumber(data.sessionStartTime) === null
        ? asTime(asObject(data.accountingSnapshot)?.sessionStartTime)
        : asTime(data.sessionStartTime),
    activeMs: null,
  };
}

/** The cache lifetime is not recorded. */
function amountsIn(usage: JsonObject | null): Amounts {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = tokensIn(usage ?? {});
  return { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, cacheWrite1hTokens: null };
}
