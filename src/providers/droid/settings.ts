import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import { asCount, asNonBlank, asObject, asText, asTime } from "../../core/tools/json.ts";
import { JsonRecords } from "../kit/json-records.ts";
import * as key from "./keys.ts";

/**
 * `<session>.settings.json`, rewritten after every response: the session's own usage so far. Totals that include
 * children are not used: they leave out failed children and those in the background.
 */
export const sessionSettings = (session: string, file: SourceFile): Parser =>
  new JsonRecords(file, {
    speaker: () => key.session(session),
    at: (json) => asTime(json.providerLockTimestamp),
    read(json, out) {
      const usage = asObject(json.tokenUsage);
      const tokens = {
        inputTokens: asCount(usage?.inputTokens),
        outputTokens: asCount(usage?.outputTokens),
        reasoningTokens: asCount(usage?.thinkingTokens),
        cacheReadTokens: asCount(usage?.cacheReadTokens),
        cacheWriteTokens: asCount(usage?.cacheCreationTokens),
        cacheWrite1hTokens: 0,
      };
      if (Object.values(tokens).every((count) => count === 0)) return;
      out.add({
        type: "model-call",
        response: key.usage(session),
        model: asNonBlank(json.model) ?? asText(json.modelId) ?? "",
        tokens,
        chars: 0,
        ended: true,
        fromTotals: true,
      });
    },
  });
