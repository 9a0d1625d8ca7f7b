import {
  asList,
  asNonBlank,
  asNumber,
  asObject,
  asText,
  asTime,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";

/** One line of a rollout. */
export interface Row {
  /** `response_item`, `event_msg`, `session_meta`, …; for the first two followed by a slash and the payload's type. */
  readonly type: string;
  readonly at: number | null;
  /** The number of the line in a paginated file; null in a legacy one. */
  readonly ordinal: number | null;
  readonly payload: JsonObject;
}

export function readRow(json: JsonObject): Row | null {
  const [type, payload] = [asNonBlank(json.type), asObject(json.payload)];
  if (type === null || payload === null) return null;
  const names = NAMES.get(type);
  const kind = names === undefined ? type : nameOf(names, type, asText(payload.type) ?? "");
  return { type: kind, at: asTime(json.timestamp), ordinal: asNumber(json.ordinal), payload };
}

/** The names of lines whose payload has a type: they are compared with many others, faster if not created again. */
const NAMES = new Map(["response_item", "event_msg"].map((type) => [type, new Map<string, string>()]));
/** Files may contain any text as a type. */
const MAX_NAMES = 200;

function nameOf(names: Map<string, string>, type: string, payload: string): string {
  const known = names.get(payload);
  if (known !== undefined) return known;
  const name = `${type}/${payload}`;
  if (names.size < MAX_NAMES) names.set(payload, name);
  return name;
}

/** The item of an `item_completed`, which replaces many event types in paginated files. */
export interface Item {
  readonly type: string;
  readonly id: string | null;
  readonly json: JsonObject;
}

export function itemOf({ type, payload }: Row): Item | null {
  const item = type === "event_msg/item_completed" ? asObject(payload.item) : null;
  const kind = asNonBlank(item?.type);
  return item === null || kind === null ? null : { type: kind, id: asNonBlank(item.id), json: item };
}

/** The text of a content: a string, or a list of parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return asList(content)
    .map((part) => asText(asObject(part)?.text) ?? "")
    .filter((text) => text !== "")
    .join("\n");
}

/** A tool result: a string, a list of parts, or an object around either. */
export const outputText = (output: unknown): string =>
  textOf(asObject(output)?.content ?? asObject(output)?.output ?? output);

/** Arguments are JSON in a string; other strings are returned unchanged. */
export function argumentsOf(value: unknown): unknown {
  const text = asText(value);
  return text === null ? value : (parseJson(text)?.value ?? text);
}

/** Since 0.138 the service returns task texts as ciphertext (Fernet tokens). */
export const isCiphertext = (text: string) => /^gAAAA[\w-]{16,}={0,2}$/.test(text.trim());

/** The text; null if it is blank or encrypted. */
export function readable(value: unknown): string | null {
  const text = asNonBlank(value);
  return text === null || isCiphertext(text) ? null : text;
}

/** Creation time of a version 7 UUID; null for other ids. */
export function timeInId(id: string | null): number | null {
  return id !== null && /^[0-9a-f]{8}-[0-9a-f]{4}-7/i.test(id)
    ? Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
    : null;
}
