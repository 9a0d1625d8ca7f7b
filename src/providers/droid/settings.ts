import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asCount, asNonBlank, asObject, asText, asTime, decodeText, parseJson } from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/**
 * `<session>.settings.json`, rewritten after every response: the session's own usage so far. Totals that include
 * children are not used: they leave out failed children and those in the background.
 */
export class Settings implements Parser {
  readonly #session: string;
  readonly #file: SourceFile;

  constructor(session: string, file: SourceFile) {
    this.#session = session;
    this.#file = file;
  }

  push(record: Uint8Array): Findings {
    const json = asObject(parseJson(decodeText(record).text)?.value);
    if (json === null) return problemAt(this.#file.path, 0, "line-not-json", `${record.length} bytes`);
    const at = asTime(json.providerLockTimestamp);
    const speaker = key.session(this.#session);
    const out = new FindingsOf({ path: this.#file.path, line: 0, at, speaker, keys: [] });
    const usage = asObject(json.tokenUsage);
    const tokens = {
      inputTokens: asCount(usage?.inputTokens),
      outputTokens: asCount(usage?.outputTokens),
      reasoningTokens: asCount(usage?.thinkingTokens),
      cacheReadTokens: asCount(usage?.cacheReadTokens),
      cacheWriteTokens: asCount(usage?.cacheCreationTokens),
      cacheWrite1hTokens: 0,
    };
    if (Object.values(tokens).every((count) => count === 0)) return out;
    out.add({
      type: "model-call",
      response: key.usage(this.#session),
      model: asNonBlank(json.model) ?? asText(json.modelId) ?? "",
      tokens,
      chars: 0,
      ended: true,
      fromTotals: true,
    });
    return out;
  }

  events = () => [];
  save = () => null;
}
