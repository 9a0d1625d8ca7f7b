import type { Api } from "../../core/facts/traffic.ts";
import type { Tokens } from "../../core/facts/usage.ts";
import { asCount, asObject, type JsonObject } from "../../core/tools/json.ts";

/** The usage of a response, by API. */
export function tokensOf(api: Api, usage: JsonObject): Tokens {
  if (api === "chat") return fromChat(usage);
  return api === "responses" ? fromResponses(usage) : fromMessages(usage);
}

/** Whether a response was served in the vendor's fast mode, as the Messages API reports. */
export const speedOf = (api: Api, usage: JsonObject | null): { readonly fast?: true } =>
  api === "messages" && usage?.speed === "fast" ? { fast: true } : {};

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

/** `input_tokens` includes caches. */
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

/**
 * `prompt_tokens` is all of the input. Vendors report cached tokens under different names: OpenAI, xAI, OpenRouter
 * `prompt_tokens_details`, DeepSeek `prompt_cache_hit_tokens`, Moonshot `cached_tokens`, LiteLLM Anthropic's names.
 */
function fromChat(usage: JsonObject): Tokens {
  const [input, output] = [asObject(usage.prompt_tokens_details), asObject(usage.completion_tokens_details)];
  const read = asCount(
    input?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? usage.cache_read_input_tokens,
  );
  const written = asCount(
    input?.cache_write_tokens ?? input?.cache_creation_tokens ?? usage.cache_creation_input_tokens,
  );
  const [prompt, completion, total] = [
    asCount(usage.prompt_tokens),
    asCount(usage.completion_tokens),
    asCount(usage.total_tokens),
  ];
  const reasoning = asCount(output?.reasoning_tokens ?? usage.reasoning_tokens);
  // xAI counts reasoning separately from the completion; only the total shows it.
  const isReasoningSeparate = reasoning > 0 && total === prompt + completion + reasoning;
  return {
    inputTokens: Math.max(0, prompt - read - written),
    outputTokens: completion + (isReasoningSeparate ? reasoning : 0),
    reasoningTokens: reasoning,
    cacheReadTokens: read,
    cacheWriteTokens: written,
    cacheWrite1hTokens: 0,
  };
}
