import { asCount, asObject, type JsonObject } from "../../core/json.ts";
import type { Api } from "../../core/traffic.ts";
import type { Tokens } from "../../core/usage.ts";

/** What an answer used, as its API counts it. */
export const tokensOf = (api: Api, usage: JsonObject): Tokens => (api === "responses" ? fromResponses(usage) : fromMessages(usage));

function fromMessages(usage: JsonObject): Tokens {
  const byAge = asObject(usage.cache_creation);
  const oneHour = asCount(byAge?.ephemeral_1h_input_tokens);
  const written = usage.cache_creation_input_tokens;
  return {
    inputTokens: asCount(usage.input_tokens),
    outputTokens: asCount(usage.output_tokens),
    reasoningTokens: asCount(asObject(usage.output_tokens_details)?.thinking_tokens),
    cacheReadTokens: asCount(usage.cache_read_input_tokens),
    cacheWriteTokens: written == null ? asCount(byAge?.ephemeral_5m_input_tokens) + oneHour : asCount(written),
    cacheWrite1hTokens: oneHour,
  };
}

/** Here the input is all of it. */
function fromResponses(usage: JsonObject): Tokens {
  const details = asObject(usage.input_tokens_details);
  const [read, written] = [asCount(details?.cached_tokens), asCount(details?.cache_write_tokens)];
  return {
    inputTokens: Math.max(0, asCount(usage.input_tokens) - read - written),
    outputTokens: asCount(usage.output_tokens),
    reasoningTokens: asCount(asObject(usage.output_tokens_details)?.reasoning_tokens),
    cacheReadTokens: read,
    cacheWriteTokens: written,
    cacheWrite1hTokens: 0,
  };
}
