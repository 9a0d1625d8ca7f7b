import { escapeHidden } from "../../core/tools/visible.ts";

/** The values that frontmatter may contain. */
export type YamlValue = string | number | boolean | null | readonly Readonly<Record<string, YamlScalar>>[];
type YamlScalar = string | number | boolean | null;

/** One `key: value` line per entry; lists contain flat maps. YAML 1.1 and 1.2 parsers read the same values. */
export function yamlOf(map: Readonly<Record<string, YamlValue>>): string {
  const lines = Object.entries(map).flatMap(([key, value]) => {
    if (!isList(value)) return [`${key}: ${scalar(value)}`];
    return value.length === 0 ? [`${key}: []`] : [`${key}:`, ...value.flatMap(item)];
  });
  return lines.map((line) => `${line}\n`).join("");
}

const isList = (value: YamlValue): value is Extract<YamlValue, readonly unknown[]> => Array.isArray(value);

const item = (map: Readonly<Record<string, YamlScalar>>) =>
  Object.entries(map).map(([key, value], i) => `  ${i === 0 ? "-" : " "} ${key}: ${scalar(value)}`);

const scalar = (value: YamlScalar) => (typeof value !== "string" || isPlain(value) ? String(value) : quoted(value));

/** Ids, URIs, paths and names that no YAML version parses as a number, date, boolean or syntax. */
const isPlain = (text: string) => UUID.test(text) || (WORD.test(text) && !RESERVED.test(text));
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const WORD = /^[A-Za-z_/](?:[\w./:@+-]*[\w./@+-])?$/;
/** Booleans and null in any case (YAML 1.1 has more than 1.2), and exponents, which some parsers read as numbers. */
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null|e[-+]?[\d_]+)$/i;

/**
 * A JSON string is a double-quoted YAML scalar if the line breaks and control characters that JSON allows are escaped.
 */
const quoted = (text: string) =>
  escapeHidden(JSON.stringify(text), (code) => `\\U${code.toString(16).padStart(8, "0")}`);
