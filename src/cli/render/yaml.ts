import { escapeHidden } from "../../core/visible.ts";

/** What frontmatter is made of. */
export type YamlValue = string | number | boolean | null | readonly Readonly<Record<string, YamlScalar>>[];
type YamlScalar = string | number | boolean | null;

/** One `key: value` line per entry; lists hold flat maps. YAML 1.1 and 1.2 readers get the same values from it. */
export function yamlOf(map: Readonly<Record<string, YamlValue>>): string {
  const lines = Object.entries(map).flatMap(([key, value]) => {
    if (!isList(value)) return [`${key}: ${scalar(value)}`];
    return value.length === 0 ? [`${key}: []`] : [`${key}:`, ...value.flatMap(item)];
  });
  return lines.map((line) => `${line}\n`).join("");
}

const isList = (value: YamlValue): value is Extract<YamlValue, readonly unknown[]> => Array.isArray(value);

const item = (map: Readonly<Record<string, YamlScalar>>) => Object.entries(map).map(([key, value], i) => `  ${i === 0 ? "-" : " "} ${key}: ${scalar(value)}`);

const scalar = (value: YamlScalar) => (typeof value !== "string" || isPlain(value) ? String(value) : quoted(value));

/** Ids, URIs, paths and names that no YAML version takes for a number, a date, a boolean or syntax. */
const isPlain = (text: string) => UUID.test(text) || (WORD.test(text) && !RESERVED.test(text));
const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;
const WORD = /^[A-Za-z_/](?:[\w./:@+-]*[\w./@+-])?$/;
/** Booleans and null, in any case, of which YAML 1.1 has more than 1.2; and exponents, which some readers take for a number without its digits. */
const RESERVED = /^(?:y|n|yes|no|on|off|true|false|null|e[-+]?[\d_]+)$/i;

/** A JSON string is a double-quoted YAML scalar, once the line breaks and control characters are escaped that JSON leaves as they are. */
const quoted = (text: string) => escapeHidden(JSON.stringify(text), (code) => `\\U${code.toString(16).padStart(8, "0")}`);
