import { isMixed, isPlain, isRandom, isSecretValue, isStrong, type SecretKind, secretKind } from "./secret-names.ts";
import type { Span } from "./text-view.ts";

/** Every name of a secret contains one of these. */
const KEYWORD =
  /pass|pwd|psw|secret|token|key|cred|auth|sig|sas|dsn|cookie|jwt|bearer|psk|connectionstring|otp|csrf|xsrf|salt|appid|pw(?![a-z])|tok(?![a-z])|mnemonic|kennwort|contrase|senha/gi;
const NAME_CHAR = /[\w.$-]/;
const MAX_NAME = 80;
const NAME_END = /[\w$-]{0,40}/y;
/** `config set name value`, and variables of a Dockerfile. */
const SETS = /\b(?:setx?|ENV|define)\s/;
/** Between a name and its value. */
const ASSIGNS =
  /\\{0,3}["'`]?\]?[*_]{0,3}[ \t]{0,8}(?:=>|:=|\?\??=|\|\|=|[:=])[*_]{0,3}[ \t]{0,8}(?:&\w{1,20}[ \t]{1,4})?(?![:=])/y;
const COMPARES = /\\{0,3}["'`]?\]?[ \t]{0,8}[!=]={1,2}[ \t]{0,8}(?=["'`])/y;
/** A value inside an object that has the name: `"password": {"type": "string", "value": …}`. */
const NESTED =
  /\\{0,3}["']?[ \t]{0,4}[:=]?[ \t]{0,4}\{[^{}]{0,200}?\b(?:value|default)\\{0,3}["']?[ \t]{0,8}[:=][ \t]{0,8}/iy;
/** A default value. */
const ELSE = /\)?[ \t]{0,4}(?:\|\||\?\?|or\b)[ \t]{0,4}(?=\\{0,3}["'`])/y;
/** `"name": "PASSWORD", "value": …`, as in lists of variables and headers. */
const PAIRED = /\\{0,3}["']?[ \t]{0,8},?\s{0,40}\\{0,3}["']?value\\{0,3}["']?[ \t]{0,8}[:=][ \t]{0,8}/iy;
const LISTED = /\\{0,3}["'],\s{0,20}(?=\\{0,3}["'])/y;
const SPACED = /[ \t]{1,8}(?![-=|>])/y;
/** `password is …`, `password for the database: …`. */
const STATED = /(?:[ \t](?:for|of|to|on)[ \t]\S{1,80}?)?(?:[ \t](?:is|was|ist|lautet|es|est):?|:)[ \t]{1,3}:?/y;
/** Columns of a listing. */
const LOOSE = /[ \t]{1,40}(?![-=|>])/y;
/** `--name password --value …`. */
const FLAG_VALUE = /["']?[^\n]{0,60}?\s--(?:value|body|data)[ =]/y;
/** `PASSWORD '…'` of SQL, and other quoted values after the name. */
const QUOTED_NEXT = /[ \t]{1,4}(?=\\{0,3}["'`])/y;
/** The next cell of a table. */
const CELL = /[ \t`*]{0,4}\|[ \t`*]{1,8}(?![|-])/y;
/** A call around a value: `Some("…")`. */
const WRAPS = /&?[\w.:]{1,40}\((?=\\{0,3}["'`])/y;
const TAGGED = />[ \t]{0,8}/y;
const OPENS = /\\{0,3}["'`]/y;
const BARE = /[^\s\\"'`,;&|<>(){}[\]]{1,512}/y;
const BARE_REST = /[^\s\\"'`,;&|<>(){}[\]]*/y;
/** In files of variables only the end of the line ends a value. */
const LINE_REST = /[^\s\\"'`]*/y;
const HEADER_REST = /[^"'`\r\n\\]{1,2000}/y;
const MAX_QUOTED = 4_096;
const PROSE =
  /^(?:flags?|options?|arguments?|args?|parameters?|params?|and|or|is|to|for|the|with|when|values?|if|in|as|on|from|of|a|an|must|can|should|will|via|field|file|instead|here|that|which|are|was|be|by|at)$/i;

const matchAt = (pattern: RegExp, text: string, at: number): string | null => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0] ?? null;
};

/** Between two words of a name: `API key`. */
const KEY_OF_WORDS = /(?:^|[^A-Za-z])(?:api|access|secret|private|auth|signing|encryption|licen[cs]e|account)[ \t]$/i;
const NEAR = 60;
const TOKEN = /[A-Za-z0-9][A-Za-z0-9_+/=.~-]{19,}/g;
/** Words of checksums. */
const CHECKSUM = /commit|sha|hash|digest|integrity|checksum|md5|etag|uuid|revision/i;

/** After a name and a colon: a line of its own, possibly in a code block. */
const NEXT_LINE =
  /(?:[^\r\n]{0,60}?(?::|>-?|\|-?))?[ \t]{0,4}(?:\r?\n[ \t]{0,8}(?:```\w{0,10})?){1,3}[ \t]{0,8}(?=\S)/y;

/**
 * A random text on the same line after a name, whatever is between them: `token (read only) …`, `API key …`. Only the
 * first one, and no checksum.
 */
function randomNear(text: string, stop: number): Span | null {
  const line = text.slice(stop, stop + NEAR + MAX_NAME).split(/[\r\n]/, 1)[0] ?? "";
  TOKEN.lastIndex = 0;
  const match = TOKEN.exec(line);
  if (match === null) return randomBelow(text, stop);
  if (match.index > NEAR || CHECKSUM.test(line.slice(0, match.index))) return null;
  const [token] = match;
  const isMixedCase = /[a-z]/.test(token) && /[A-Z]/.test(token) && !/[/.]/.test(token);
  if (!isRandom(token) || isPlain(token) || !(isMixedCase || /^[0-9a-f]{32,}$/.test(token))) return null;
  const start = stop + match.index;
  return { start, end: start + token.length + (matchAt(BARE_REST, text, start + token.length)?.length ?? 0) };
}

function randomBelow(text: string, stop: number): Span | null {
  const before = matchAt(NEXT_LINE, text, stop);
  if (before === null || CHECKSUM.test(before)) return null;
  const start = stop + before.length;
  const value = matchAt(BARE, text, start) ?? "";
  const end = start + value.length;
  return value.length >= 20 && isRandom(value) && /^[ \t`]*(?:[\r\n]|$)/.test(text.slice(end, end + 12))
    ? { start, end }
    : null;
}

const MAX_LIST = 4_000;
const ITEM = /["']([\w+/=~-]{16,512})["']/g;

/** The random texts of a list with a name of secrets. */
function listAfter(text: string, stop: number): Span[] {
  const sign = matchAt(ASSIGNS, text, stop);
  if (sign === null || text[stop + sign.length] !== "[") return [];
  const from = stop + sign.length;
  const list = text.slice(from, from + MAX_LIST).split("]", 1)[0] ?? "";
  return [...list.matchAll(ITEM)].flatMap(({ 1: value = "", index }) =>
    isRandom(value) ? [{ start: from + index + 1, end: from + index + 1 + value.length }] : [],
  );
}

const TAG = /^<[A-Za-z][\w.:-]{0,60}\s(?:[^<>]|=>)*$/;
const MAX_TAG = 300;

/** The attribute `key` of an element identifies it among its siblings: `<li key="…">`. */
function isKeyOfElement(text: string, start: number, stop: number): boolean {
  if (text[stop] !== "=" || stop - start !== 3 || !text.startsWith("key", start)) return false;
  const before = text.slice(Math.max(0, start - MAX_TAG), start);
  return TAG.test(before.slice(before.lastIndexOf("<")));
}

/** The rest of the head of a field in a multipart form, after its name. */
const FIELD_HEAD = /\\{0,3}"(?:;[^\r\n]{0,200})?(?:\r?\n[\w-]{1,40}:[^\r\n]{0,200}){0,4}(?:\r?\n){2}/y;
const FIELD_END = /\r?\n--/;

/** The value of a field in a multipart form: `…; name="password"`, an empty line, the value, a boundary. */
function fieldAfter(text: string, start: number, stop: number, kind: SecretKind): Span | null {
  if (!text.startsWith('name="', start - 6)) return null;
  const head = matchAt(FIELD_HEAD, text, stop);
  if (head === null) return null;
  const from = stop + head.length;
  const rest = text.slice(from, from + MAX_QUOTED);
  const end = rest.search(FIELD_END);
  const value = end < 0 ? rest : rest.slice(0, end);
  return value === "" || value.includes("[redacted]") || (kind === "weak" && !isRandom(value))
    ? null
    : { start: from, end: from + value.length };
}

/** Values next to a name: in variables, settings, JSON, flags, query strings, headers and sentences. */
export function assignments(text: string, spans: Span[]): void {
  KEYWORD.lastIndex = 0;
  let done = 0;
  for (let hit = KEYWORD.exec(text); hit !== null; hit = KEYWORD.exec(text)) {
    const stop = KEYWORD.lastIndex + (matchAt(NAME_END, text, KEYWORD.lastIndex)?.length ?? 0);
    let start = hit.index;
    while (start > done && hit.index - start < MAX_NAME && NAME_CHAR.test(text[start - 1] ?? "")) start--;
    const name = text.slice(start, stop);
    // The signature of a request, not that of a function.
    const isQuery = /[?&]/.test(text[start - 1] ?? "") && name.toLowerCase() === "signature";
    const named = isQuery ? "weak" : secretKind(name);
    const kind = named === "weak" && KEY_OF_WORDS.test(text.slice(Math.max(0, start - 12), start)) ? "secret" : named;
    KEYWORD.lastIndex = stop;
    if (kind === null || (kind === "weak" && isKeyOfElement(text, start, stop))) continue;
    const items = listAfter(text, stop);
    if (items.length > 0) {
      spans.push(...items);
      done = items.at(-1)?.end ?? stop;
      KEYWORD.lastIndex = done;
      continue;
    }
    const own =
      fieldAfter(text, start, stop, kind) ??
      valueAfter(text, stop, kind, {
        name,
        before: text[start - 1] ?? "",
        isSet: SETS.test(text.slice(Math.max(0, start - 60), start)),
      });
    const span = own ?? (kind === "weak" || kind === "header" ? null : randomNear(text, stop));
    if (span === null) continue;
    spans.push(span);
    done = span.end;
    KEYWORD.lastIndex = span.end;
  }
}

interface Named {
  readonly name: string;
  readonly before: string;
  /** `config set name value`. */
  readonly isSet: boolean;
}

type Sign = "assigned" | "tagged" | "listed" | "spaced" | "stated" | "quoted" | "loose";

function valueAfter(text: string, stop: number, kind: SecretKind, named: Named): Span | null {
  const { name, before } = named;
  const [sign, length] = signAt(text, stop, kind, named);
  if (sign === null) return null;
  const at = stop + length;
  if (kind === "header") return headerAt(text, at, sign);
  const wrap = sign === "assigned" ? (matchAt(WRAPS, text, at) ?? "") : "";
  const open = matchAt(OPENS, text, at + wrap.length);
  if (open !== null) {
    const from = at + wrap.length + open.length;
    const value = quotedAt(text, from, open);
    const isVariable = name === name.toUpperCase();
    if (
      value === null ||
      sign === "tagged" ||
      (wrap !== "" && !(isRandom(value) && /^[\w+=-]+$/.test(value))) ||
      (sign === "listed" && !isRandom(value) && !isListedSecret(kind, value)) ||
      (sign === "stated" && !isMixed(value)) ||
      ((sign === "quoted" || sign === "loose") && !(isVariable ? isMixed(value) : isStrong(value)))
    )
      return null;
    return isSecretValue(kind, { value, isQuoted: true, isVariable, next: "" })
      ? { start: from, end: from + value.length }
      : null;
  }
  const bare = matchAt(BARE, text, at);
  if (bare === null || sign === "listed") return null;
  const isVariable = sign === "assigned" && text[at - 1] === "=" && name === name.toUpperCase() && /[A-Z]/.test(name);
  // A value ends before the full stop of a sentence.
  const value = sign === "stated" || sign === "spaced" || sign === "loose" ? bare.replace(/[.:!?]+$/, "") : bare;
  if (sign === "spaced" && PROSE.test(value)) return null;
  if (sign === "stated" && !isMixed(value)) return null;
  if (sign === "quoted" || (sign === "loose" && !isStrong(value))) return null;
  if (sign === "tagged" && !text.startsWith("</", at + value.length)) return null;
  // Whole arguments and headers are values, like quoted texts.
  const isQuoted = (sign === "spaced" && kind === "password") || (text[stop] === ":" && name.includes("-"));
  const next = sign === "tagged" ? "" : text.slice(at + bare.length, at + bare.length + 8);
  if (!isSecretValue(kind, { value, isQuoted, isVariable, next })) return null;
  const isLine = isVariable && (before === "" || /\s/.test(before));
  const rest =
    value.length < bare.length ? 0 : (matchAt(isLine ? LINE_REST : BARE_REST, text, at + value.length)?.length ?? 0);
  return { start: at, end: at + value.length + rest };
}

/** In a list, the text after a name may be another name: `["password", "token2"]`. */
const isListedSecret = (kind: SecretKind, value: string) =>
  kind !== "word" && kind !== "weak" && isMixed(value) && !isPlain(value) && secretKind(value) === null;

function signAt(
  text: string,
  at: number,
  kind: SecretKind,
  { name, before, isSet }: Named,
): readonly [Sign, number] | readonly [null, 0] {
  const assigned =
    matchAt(NESTED, text, at) ??
    matchAt(ASSIGNS, text, at) ??
    matchAt(PAIRED, text, at) ??
    (kind === "weak" ? null : matchAt(FLAG_VALUE, text, at));
  if (assigned !== null) return ["assigned", assigned.length];
  const tagged = before === "<" ? matchAt(TAGGED, text, at) : null;
  if (tagged !== null) return ["tagged", tagged.length];
  const listed = matchAt(COMPARES, text, at) ?? matchAt(LISTED, text, at) ?? matchAt(ELSE, text, at);
  if (listed !== null) return ["listed", listed.length];
  if (kind === "header") return [null, 0];
  const isSpaced =
    name.startsWith("--") || (kind !== "weak" && (name.startsWith("-") || isSet || name === "requirepass"));
  const spaced = isSpaced ? matchAt(SPACED, text, at) : null;
  if (spaced !== null) return ["spaced", spaced.length];
  const stated = matchAt(STATED, text, at);
  if (stated !== null) return ["stated", stated.length];
  if (kind === "weak") return [null, 0];
  const cell = matchAt(CELL, text, at);
  if (cell !== null) return ["loose", cell.length];
  if (kind !== "password") return [null, 0];
  const quoted = matchAt(QUOTED_NEXT, text, at);
  if (quoted !== null) return ["quoted", quoted.length];
  const loose = matchAt(LOOSE, text, at);
  return loose === null ? [null, 0] : ["loose", loose.length];
}

/** Up to the closing quote, the end of the line, or the maximum length. */
function quotedAt(text: string, from: number, open: string): string | null {
  const line = text.slice(from, from + MAX_QUOTED);
  const close = line.indexOf(open);
  const end = line.search(/[\r\n]/);
  const stop = close < 0 ? end : end < 0 ? close : Math.min(close, end);
  return stop < 0 ? line : line.slice(0, stop);
}

function headerAt(text: string, at: number, sign: Sign): Span | null {
  const quote = matchAt(OPENS, text, at) ?? "";
  const from = at + quote.length;
  const value = matchAt(HEADER_REST, text, from)?.trimEnd() ?? "";
  return isSecretValue("header", { value, isQuoted: quote !== "" && sign === "assigned", isVariable: false, next: "" })
    ? { start: from, end: from + value.length }
    : null;
}
