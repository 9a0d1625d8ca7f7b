import type { RequestRow, TrafficRow } from "../../core/facts/traffic.ts";
import type { Redactor } from "../../core/redaction/redaction.ts";
import { asList, asObject, type JsonObject } from "../../core/tools/json.ts";

/**
 * A row without secrets. Requests are parsed without them (`providers/proxy/sanitize.ts`); responses are redacted by block.
 */
export function withoutSecretsIn(row: TrafficRow, redactor: Redactor): TrafficRow {
  if (row.is === "block") return { ...row, block: asObject(redactor.value(row.block)) ?? {} };
  return row.is === "ended" && row.error !== null ? { ...row, error: redactor.text(row.error) } : row;
}

/** A row redacted according to the settings. Names and counts are kept. */
export function redactedRow(row: TrafficRow, redactor: Redactor): TrafficRow {
  switch (row.is) {
    case "piece":
      return { ...row, json: redactedValue(row.json, redactor) };
    case "asked":
      return redactedAsked(row, redactor);
    case "block":
      return { ...row, block: redactedBlock(row.block, redactor) };
    case "ended":
      return { ...row, error: redactor.message(row.error) };
    case "answered":
    case "opened":
      return row;
    default:
      return row satisfies never;
  }
}

function redactedAsked(row: RequestRow, redactor: Redactor): RequestRow {
  const words = (texts: readonly string[]) => texts.flatMap((text) => redactor.message(text) ?? []);
  return {
    ...row,
    first: words(row.first),
    opening: redactor.message(row.opening) ?? "",
    tail: row.tail.map(({ texts, results }) => ({
      texts: words(texts),
      results: results.map((result) => ({ ...result, text: redactor.toolOutput(result.text, false) ?? "" })),
    })),
  };
}

function redactedValue(value: unknown, redactor: Redactor): unknown {
  if (redactor.level === "metadata") return null;
  const message = asObject(value);
  const hasOutput = redactor.level === "no-tool-output" && message !== null;
  return hasOutput ? withoutOutput(message) : value;
}

/** Tool results are blocks of a message, or items of their own. */
function withoutOutput(message: JsonObject): JsonObject {
  if ("output" in message) return { ...message, output: "[left out]" };
  if (!Array.isArray(message.content)) return message;
  return {
    ...message,
    content: asList(message.content).map((item) =>
      asObject(item)?.type === "tool_result" ? { ...asObject(item), content: "[left out]" } : item,
    ),
  };
}

function redactedBlock(block: JsonObject, redactor: Redactor): JsonObject {
  if (redactor.level === "metadata")
    return { type: block.type, id: block.id, call_id: block.call_id, name: block.name };
  return (
    asObject(redactor.value("input" in block ? { ...block, input: redactor.toolInput(block.input) } : block)) ?? {}
  );
}
