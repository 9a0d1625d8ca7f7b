import { KEY_BEGINS, KNOWN_KEY, MARKED_KEYS } from "./secret-keys.ts";
import { isRandom, isSecretValue, type SecretKind, secretKind } from "./secret-names.ts";
import { percentDecoded, type Span, unescaped, type View, without } from "./text-view.ts";

/** Finds secrets in texts, in linear time, because texts are untrusted. Detection rates are in docs/redaction.md. */

export const SECRET = "[redacted]";

/** Whether a key, header or variable has the name of a secret. */
export function isSecretName(name: string): boolean {
  const kind = secretKind(name);
  return kind !== null && kind !== "weak";
}

/** Whether such a name and value are a secret. */
export function isSecretPair(name: string, value: string): boolean {
  return isSecretName(name) || (secretKind(name) === "weak" && isRandom(value));
}

/** Replaces everything that looks like a secret. */
export function withoutSecrets(text: string): string {
  let rest = text;
  // Text next to a secret may look like one after that is removed.
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const next = cutOut(rest, secretsIn(rest));
    if (next === rest) break;
    rest = next;
  }
  return rest;
}

const MAX_ROUNDS = 5;

/** Consecutive texts: a key may be split over them. */
export function withoutSplitSecrets(texts: readonly string[]): string[] {
  const spans = knownKeys(texts.join(""));
  let at = 0;
  return texts.map((text) => {
    const [begin, end] = [at, at + text.length];
    at = end;
    const own = spans.flatMap((span) =>
      span.end > begin && span.start < end ? [{ start: Math.max(0, span.start - begin), end: span.end - begin }] : [],
    );
    return withoutSecrets(cutOut(text, own));
  });
}

function cutOut(text: string, spans: readonly Span[]): string {
  if (spans.length === 0) return text;
  let kept = "";
  let at = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    // Overlapping and adjacent secrets are merged.
    if (start > at || at === 0) kept += text.slice(at, Math.max(at, start)) + SECRET;
    at = end;
  }
  return kept + text.slice(at);
}

const INVISIBLE = /[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]/g;
const PERCENT = /%[2-7][0-9A-Fa-f]/g;
/** Escapes in a JSON string inside a text; in a nested one they are escaped again. */
const ESCAPE = /\\(?:[nrt"'/\\]|u[0-9a-fA-F]{4})/g;
/** Between two parts of one text: a string concatenation, or a line continuation. */
const JOINT = /\\{0,3}["'`]\s{0,20}[+,.]?\s{0,20}\\{0,3}["'`]|\\\r?\n\s{0,20}/g;
const MAX_DEPTH = 2;
/** Minimum length of a name, sign and value. */
const MIN_LENGTH = 5;

function secretsIn(text: string, depth = 0): Span[] {
  const spans: Span[] = [];
  if (text.length < MIN_LENGTH) return spans;
  const mayHoldKey = KEY_BEGINS.test(text);
  if (mayHoldKey) found(text, KNOWN_KEY, spans, PLAIN);
  otherKeys(text, spans);
  privateKeys(text, spans);
  if (PHRASE.test(text))
    for (const { mark, pattern } of PHRASES) if (mark.test(text)) found(text, pattern, spans, STANDS_IN);
  assignments(text, spans);
  encoded(text, depth, spans);
  if (depth < MAX_DEPTH) {
    if (text.search(INVISIBLE) >= 0) through(without(text, INVISIBLE), (plain) => secretsIn(plain, depth + 1), spans);
    for (const line of linesWith(text, ESCAPE))
      through(unescaped(line.text, ESCAPE), (plain) => secretsIn(plain, depth + 1), spans, line.start);
    for (const line of linesWith(text, PERCENT))
      through(percentDecoded(line.text, PERCENT), (plain) => secretsIn(plain, MAX_DEPTH), spans, line.start);
    if (mayHoldKey) through(without(text, JOINT), knownKeys, spans);
  }
  return spans;
}

function through(view: View, find: (text: string) => readonly Span[], spans: Span[], offset = 0): void {
  for (const { start, end } of find(view.text))
    spans.push({ start: offset + view.at(start), end: offset + view.at(end) });
}

/** Lines with a match of a global pattern; others need not be searched again. */
function* linesWith(text: string, pattern: RegExp): Generator<{ readonly text: string; readonly start: number }> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const start = text.lastIndexOf("\n", match.index) + 1;
    const stop = text.indexOf("\n", match.index);
    const end = stop < 0 ? text.length : stop;
    yield { text: text.slice(start, end), start };
    pattern.lastIndex = end;
  }
}

/** Adds group 2 of every match, after its group 1; the whole match if there are no groups. */
function found(text: string, pattern: RegExp, spans: Span[], isNone: RegExp): void {
  for (const match of matches(text, pattern)) {
    const [whole, before = "", secret = whole] = match;
    const start = match.index + before.length;
    if (secret !== "" && !isNone.test(secret)) spans.push({ start, end: start + secret.length });
  }
}

/** Like `matchAll`, which copies the pattern each time: most texts are short. */
function* matches(text: string, pattern: RegExp): Generator<RegExpExecArray> {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const next = pattern.lastIndex;
    yield match;
    // The pattern may have been used on another text since.
    pattern.lastIndex = next;
  }
}

/** Plain words are not keys. */
const PLAIN = /^(?:[a-z_-]+|[A-Z]+[_-][A-Z_-]+)$/;
/** A variable or placeholder instead of a secret. */
const STANDS_IN = /^(?:["'\\]?\$|[<{%]|\*+$|\.+$|x{3,}$|\[redacted\]|(?:pass(?:word)?|token|secret|your[\w-]*)["']?$)/i;
/** A signed or encrypted token. Text with the same prefix is consumed and dropped, so that it is not scanned twice. */
const SIGNED = /(?<![A-Za-z0-9])eyJ[\w-]{10,}(?:\.[\w-]+){0,4}/g;

function knownKeys(text: string): Span[] {
  const spans: Span[] = [];
  found(text, KNOWN_KEY, spans, PLAIN);
  otherKeys(text, spans);
  return spans;
}

/** Keys without a prefix, and tokens. */
function otherKeys(text: string, spans: Span[]): void {
  for (const { mark, pattern } of MARKED_KEYS) if (mark.test(text)) found(text, pattern, spans, PLAIN);
  if (!text.includes("eyJ")) return;
  for (const { 0: token, index } of matches(text, SIGNED))
    if (/\.[\w-]{10}/.test(token)) spans.push({ start: index, end: index + token.length });
}

/** Followed by a line break, literal or escaped: a program that only mentions the first line contains no key. */
const BEGIN = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?=\s|\\{1,3}[nr])/g;
const MAX_BLOCK = 20_000;
/** A truncated block is secret up to where it cannot be one. */
const REST_OF_BLOCK = /[^"'`<>{}]*/y;

function privateKeys(text: string, spans: Span[]): void {
  if (!text.includes("PRIVATE KEY")) return;
  let [end, done] = [-1, 0];
  for (const { 0: begin, index } of matches(text, BEGIN)) {
    if (index < done) continue;
    const from = index + begin.length;
    // Searched once, not for every beginning.
    if (end < from) end = (text.indexOf("-----END ", from) + 1 || text.length + 1) - 1;
    REST_OF_BLOCK.lastIndex = from;
    const close = text.indexOf("-----", end + 9);
    done =
      end - from <= MAX_BLOCK && end < text.length
        ? close < 0
          ? text.length
          : close + 5
        : from + (REST_OF_BLOCK.exec(text)?.[0].length ?? 0);
    spans.push({ start: index, end: done });
  }
}

/** Secrets recognised by what precedes them. Group 1 is kept, group 2 is the secret. */
export const PHRASES: readonly { readonly mark: RegExp; readonly pattern: RegExp }[] = [
  {
    mark: /:\/\//,
    pattern:
      /(hooks\.slack\.com\/(?:services|workflows|triggers)\/|discord(?:app)?\.com\/api\/webhooks\/|\.webhook\.office\.com\/webhookb2\/|hooks\.zapier\.com\/hooks\/catch\/|maker\.ifttt\.com\/trigger\/[\w-]{1,64}\/with\/key\/)([\w/@-]+)/g,
  },
  { mark: /:\/\//, pattern: /(:\/\/[^\s:@/"'<>`]{0,256}:)([^\s@/"'<>`]{1,256})(?=@)/g },
  { mark: /:\/\//, pattern: /(:\/\/)((?=[^\s:@/]{0,60}\d)[^\s:@/"'<>`]{16,256})(?=@)/g },
  {
    mark: /earer |asic |EARER |ASIC /,
    pattern: /(\b(?:bearer|basic)\s{1,8})((?=[\w+/=.~-]{0,200}[\d=])[\w+/=.~-]{8,})/gi,
  },
  { mark: /oken /, pattern: /(\bauthorization\W{1,8}token\s{1,4})([\w-]{8,})/gi },
  {
    mark: /ccountKey=|AccessKey=|AccessSignature=/,
    pattern: /(\b(?:AccountKey|SharedAccessKey|SharedAccessSignature)=)([^;\s"']+)/g,
  },
  {
    mark: /curl|wget|http/,
    pattern:
      /(\b(?:curl|https?|wget)\b[^\n]{0,400}?\s(?:-u|-U|--user|--proxy-user|-a|--auth)[ =]{0,3}["']?[^\s:"'$]{1,80}:)([^\s"']+)/g,
  },
  {
    mark: / login/,
    pattern:
      /(\b(?:docker|podman|nerdctl|buildah|skopeo|crane|helm|oras|az|oc|cf|ibmcloud)\b[^\n]{0,60}? login\b[^\n]{0,200}?\s-p[ =]{0,3}["']?)([^\s"']+)/g,
  },
  { mark: /vault login/, pattern: /(\bvault login\s{1,4}(?:-\S{1,60}\s{1,4}){0,3})([\w.-]{8,})/g },
  {
    mark: /sshpass|7z|zip|rar/,
    pattern:
      /(\b(?:sshpass\s{1,4}-p|7za?\b[^\n]{0,80}?\s-p|(?:un)?zip\b[^\n]{0,80}?\s-P|(?:un)?rar\b[^\n]{0,80}?\s-h?p)\s?["']?)([^\s"']+)/g,
  },
  {
    mark: /mysql|mariadb/,
    pattern: /(\b(?:mysql(?:dump|admin|import|show)?|mariadb(?:-\w{1,12})?)\b[^\n]{0,200}?\s-p)([^\s"']+)/g,
  },
  {
    mark: /redis-cli|ldap|snmp/,
    pattern:
      /(\b(?:redis-cli\b[^\n]{0,120}?\s-a|ldap(?:search|modify|add|delete|whoami|passwd)\b[^\n]{0,200}?\s-w|snmp\w{2,10}\b[^\n]{0,120}?\s-[AX])\s{1,4}["']?)([^\s"']+)/g,
  },
  {
    mark: /smbclient|wmic/,
    pattern: /(\b(?:smbclient|rpcclient|wmic)\b[^\n]{0,120}?\s-U\s{0,4}["']?[^\s%"']{1,80}%)([^\s"']+)/g,
  },
  { mark: /pass:/, pattern: /(\s(?:-pass(?:in|out)?|-k)\s{1,4}["']?pass:)([^\s"']+)/g },
  { mark: /htpasswd/, pattern: /(\bhtpasswd\s{1,4}-\w{0,6}b\w{0,6}\s{1,4}(?:\S{1,200}\s{1,4}){1,2})([^\s"']+)/g },
  { mark: /machine /, pattern: /(\bmachine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,200}\s{1,8}password\s{1,8})(\S+)/g },
  { mark: /IDENTIFIED BY|identified by/, pattern: /(\bidentified by\s{1,8}["'])([^"'\n]+)/gi },
  {
    mark: /chpasswd/,
    pattern: /(\becho\s{1,4}["']?[\w.-]{1,40}:)([^\s"']{1,200})(?=["']?\s{0,4}\|\s{0,4}(?:sudo\s{1,4})?chpasswd)/g,
  },
  { mark: /\?code=|&code=/, pattern: /([?&]code=)((?=[\w%./~-]{0,60}\d)[\w%./~-]{16,})/g },
];

/** Whether a text contains any of the markers. */
const PHRASE = new RegExp([...new Set(PHRASES.map(({ mark }) => mark.source))].join("|"));

/** Where the name of a secret may be. */
const KEYWORD =
  /pass|pwd|psw|secret|token|key|cred|auth|sig|sas|dsn|cookie|jwt|bearer|psk|connectionstring|otp|csrf|xsrf/gi;
const NAME_CHAR = /[\w.$-]/;
const MAX_NAME = 80;
const NAME_END = /[\w$-]{0,40}/y;
/** `config set name value`, and variables of a Dockerfile. */
const SETS = /\b(?:setx?|ENV)\s/;
/** Between a name and its value. */
const ASSIGNS = /\\{0,3}["'`]?\]?[ \t]{0,8}(?:=>|:=|\?=|[:=])[ \t]{0,8}(?![:=])/y;
const COMPARES = /\\{0,3}["'`]?\]?[ \t]{0,8}[!=]={1,2}[ \t]{0,8}(?=["'`])/y;
/** `"name": "PASSWORD", "value": …`, as in lists of variables and headers. */
const PAIRED = /\\{0,3}["']?[ \t]{0,8},?\s{0,40}\\{0,3}["']?value\\{0,3}["']?[ \t]{0,8}[:=][ \t]{0,8}/iy;
const LISTED = /\\{0,3}["'],\s{0,20}(?=\\{0,3}["'])/y;
const SPACED = /[ \t]{1,8}(?![-=|>])/y;
const STATED = /[ \t](?:is|was)[ \t]{1,3}:?/y;
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

/** Values next to a name: in variables, settings, JSON, flags, query strings, headers and sentences. */
function assignments(text: string, spans: Span[]): void {
  KEYWORD.lastIndex = 0;
  let done = 0;
  for (let hit = KEYWORD.exec(text); hit !== null; hit = KEYWORD.exec(text)) {
    const stop = KEYWORD.lastIndex + (matchAt(NAME_END, text, KEYWORD.lastIndex)?.length ?? 0);
    let start = hit.index;
    while (start > done && hit.index - start < MAX_NAME && NAME_CHAR.test(text[start - 1] ?? "")) start--;
    const name = text.slice(start, stop);
    const kind = secretKind(name);
    KEYWORD.lastIndex = stop;
    if (kind === null) continue;
    const span = valueAfter(text, stop, kind, {
      name,
      before: text[start - 1] ?? "",
      isSet: SETS.test(text.slice(Math.max(0, start - 60), start)),
    });
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

type Sign = "assigned" | "tagged" | "listed" | "spaced" | "stated";

/** In a sentence, a word with a digit is not a plain word. */
const isMixed = (value: string) => value.length >= 6 && /\d/.test(value) && /[A-Za-z]/.test(value);

function valueAfter(text: string, stop: number, kind: SecretKind, named: Named): Span | null {
  const { name, before } = named;
  const [sign, length] = signAt(text, stop, kind, named);
  if (sign === null) return null;
  const at = stop + length;
  if (kind === "header") return headerAt(text, at, sign);
  const open = matchAt(OPENS, text, at);
  if (open !== null) {
    const from = at + open.length;
    const value = quotedAt(text, from, open);
    const isVariable = name === name.toUpperCase();
    if (
      value === null ||
      sign === "tagged" ||
      (sign === "listed" && !isRandom(value)) ||
      (sign === "stated" && !isMixed(value))
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
  const value = sign === "stated" || sign === "spaced" ? bare.replace(/[.:!?]+$/, "") : bare;
  if (sign === "spaced" && PROSE.test(value)) return null;
  if (sign === "stated" && !isMixed(value)) return null;
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

function signAt(
  text: string,
  at: number,
  kind: SecretKind,
  { name, before, isSet }: Named,
): readonly [Sign, number] | readonly [null, 0] {
  const assigned = matchAt(ASSIGNS, text, at) ?? matchAt(PAIRED, text, at);
  if (assigned !== null) return ["assigned", assigned.length];
  const tagged = before === "<" ? matchAt(TAGGED, text, at) : null;
  if (tagged !== null) return ["tagged", tagged.length];
  const listed = matchAt(COMPARES, text, at) ?? matchAt(LISTED, text, at);
  if (listed !== null) return ["listed", listed.length];
  if (kind === "header") return [null, 0];
  const isSpaced = kind !== "weak" && (name.startsWith("-") || isSet || name === "requirepass");
  const spaced = isSpaced ? matchAt(SPACED, text, at) : null;
  if (spaced !== null) return ["spaced", spaced.length];
  const stated = matchAt(STATED, text, at);
  return stated === null ? [null, 0] : ["stated", stated.length];
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

const BASE64 = /(?<![A-Za-z0-9+/_=-])[A-Za-z0-9+/_-]{24,}(?:\r?\n[A-Za-z0-9+/_-]{20,}){0,2000}={0,2}/g;
const PRINTABLE = /^[\t\n\r\x20-\x7e]*$/;

/** Base64 of a text that contains a secret. */
function encoded(text: string, depth: number, spans: Span[]): void {
  if (depth >= MAX_DEPTH) return;
  for (const { 0: run, index } of matches(text, BASE64)) {
    if (!PRINTABLE.test(fromBase64(run.slice(0, 32)))) continue;
    const plain = fromBase64(run);
    if (PRINTABLE.test(plain) && secretsIn(plain, depth + 1).length > 0)
      spans.push({ start: index, end: index + run.length });
  }
}

function fromBase64(run: string): string {
  const plain = run
    .replace(/[\r\n=]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  // A last character alone holds no whole byte.
  return atob(plain.length % 4 === 1 ? plain.slice(0, -1) : plain);
}
