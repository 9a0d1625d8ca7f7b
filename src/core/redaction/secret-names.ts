import { cached } from "../tools/collections.ts";

/** Which names denote secrets, and which values next to such a name are secrets. */

/**
 * `password`: any value is one. `secret`: the same, unless it is code. `word`: a name such as `token`, which parsers
 * use too; no plain words. `header`: an HTTP header with credentials. `weak`: a name such as `signature`, which usually
 * means something else; only random-looking values.
 */
export type SecretKind = "password" | "secret" | "word" | "header" | "weak";

const HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie2?)$/i;
const PASSWORD =
  /(?:password|passwd|passphrase|passcode|passwort|kennwort|contrase[nñ]a|senha|mnemonic)$|^(?:pwd|psw|pw|psk|passe|storepass|keypass|requirepass)$|^(?:db|user|my|root|admin|sql|smtp|mail|ftp|ssh|http|proxy|redis|pg|mysql)(?:pass|pwd|pw)$/;
const SECRET_WORD = /(?:token|secret|apikey|accesskey|secretkey|privatekey|authkey)$|^(?:credentials?|creds)$/;
const KEY_OF =
  /^(?:api|access|auth|secret|private|signing|encryption|account|service|master|deploy|subscription|shared|storage|license|admin|client|app|application|consumer|session|webhook|ssh|rsa|jwt|functions?|host)$/;
const WEAK_WORD = /^(?:key|auth|sig|sas|dsn|jwt|pat|salt|credential|bearer|csrf|xsrf|otp)$/;
/** Words that may follow the significant one: `AWS_ACCESS_KEY_ID`, `TOKEN_BASE64`. */
const SUFFIX =
  /^(?:id|value|base64|b64|json|string|plain|raw|text|data|base|prod|production|dev|staging|test|live|new|old|\d+)$/;
/** Names of limits, counters and parser tokens. */
const NO_SECRET =
  /(?:max|min|num|total|count|next|prev|page|cursor|pagination|continuation|sync|input|output|eos|bos|pad|unk|mask|start|stop|end|first|last|current|cancel|cancellation|lex|lexer|syntax|reserved|public|primary|foreign|sort|partition|cache|hash|lookup|object|row|column|translation|idempotency)$/;

/** `xAuthToken`, `X_AUTH-TOKEN` and `x.auth.token` have the same words. */
const wordsOf = (name: string): string[] =>
  name
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");

const KINDS = new Map<string, SecretKind | null>();
const MAX_KNOWN = 5_000;

/** The kind of secret in a variable, object key, flag or header of this name; null: none. */
export function secretKind(name: string): SecretKind | null {
  if (KINDS.size > MAX_KNOWN) KINDS.clear();
  return cached(KINDS, name, () => (name.length > 200 ? null : kindOf(name)));
}

function kindOf(name: string): SecretKind | null {
  if (HEADER.test(name)) return "header";
  const words = wordsOf(name);
  while (words.length > 1 && SUFFIX.test(words.at(-1) ?? "")) words.pop();
  const last = words.at(-1) ?? "";
  const before = words.at(-2) ?? "";
  if (PASSWORD.test(last) || (last === "pass" && words.length > 1 && !name.includes("-"))) return "password";
  if (last === "pass") return "word";
  if (last === "tok" && words.length > 1) return NO_SECRET.test(before) ? null : "word";
  if (last === "key" && KEY_OF.test(before)) return "secret";
  if (SECRET_WORD.test(last))
    return NO_SECRET.test(before)
      ? null
      : words.length > 1 || (last.length > 6 && !last.startsWith("cred"))
        ? "secret"
        : "word";
  // Several of them, or of something; `tokens: 12` is a number.
  if (/^(?:keys|tokens|secrets|passwords|appid)$/.test(last)) return NO_SECRET.test(before) ? null : "weak";
  // Signatures of blocks are not keys; those of requests are.
  if (last === "signature" && words.length > 1) return "weak";
  if (before === "connection" && last === "string") return "weak";
  return WEAK_WORD.test(last) && !NO_SECRET.test(before) ? "weak" : null;
}

/** Placeholders for secrets in code, templates and documentation. */
const PLACEHOLDER =
  /^(?:\$|\$[A-Za-z_{(].*|<.*|\{.*|%[^%]*%|%[sdvq@]|\*+|\.{2,}|x{3,}|-+|\?+|\/\/.*|(?:your|insert|enter|replace|change|example|sample|dummy|fake|mock)[\w .-]*|(?:string|str|number|int|bool(?:ean)?|null|none|nil|undefined|true|false|yes|no|on|off|unknown|optional|required|object|bytes|buffer|function|void|never|text|hidden|redacted|withheld|empty|missing|invalid|default|self|this|new|await|async|return|typeof|not|is|has|and|or|fail(?:ed)?|skip(?:ped)?|passed|0[xbo])|process\.env.*|os\.environ.*|env[.(].*|import\.meta.*|secrets\..*|vars\..*|var\..*|config\..*|settings\..*|options\..*|opts\..*|params\..*|props\..*|args\..*|this\..*|self\..*|req\..*|request\..*|ctx\..*)$/i;
const SECRET_WORDS =
  /^[_ -]?(?:(?:pass(?:word|wd|phrase|code)?|pwd|secrets?|tokens?|(?:api|access|private)(?=[_ -]?key)|keys?|credentials?|auth(?:orization)?|bearer|basic|cookie)[\s:._*-]*)+$/i;
const IDENTIFIER = /^[A-Za-z_$][\w$]*(?:(?:\?\.|\.|::|->)[A-Za-z_$][\w$]*)*$/;
const SENTENCE = /\s/;
/** A scheme with credentials, or cookies. */
const CREDENTIALS =
  /^(?:bearer|basic|digest|token|apikey|api-key|key|aws4-hmac-sha256|negotiate|ntlm|hawk|dpop|signature|sharedkey)\s+[^\s${<([]|^[a-z][\w-]{1,24}\s(?=[\w.=+/~-]{0,40}\d)[\w.=+/~-]{12,}$|^[\w.-]{1,80}=[^\s;=(]/i;

interface CandidateValue {
  readonly value: string;
  readonly isQuoted: boolean;
  /** A shell variable, `NAME=value`. */
  readonly isVariable: boolean;
  /** Some characters after the value. */
  readonly next: string;
}

/**
 * Whether a value next to a name of this kind is a secret. Code often mentions secrets (`token: string`, `password ===
 * ''`), so only plausible values count.
 */
export function isSecretValue(kind: SecretKind, { value, isQuoted, isVariable, next }: CandidateValue): boolean {
  if (value === "" || value.includes("[redacted]") || PLACEHOLDER.test(value) || SECRET_WORDS.test(value)) return false;
  if (!isQuoted && next.startsWith("(")) return false;
  if (kind === "weak") return isRandom(value);
  if (kind === "header") return CREDENTIALS.test(value) || isRandom(value) || (isQuoted && !/\s/.test(value));
  if (SENTENCE.test(value))
    return (
      kind === "password" &&
      (RECOVERY_WORDS.test(value) || (value.length < 40 && /\d/.test(value) && !/[.:!?,]\s/.test(value)))
    );
  if (/^[./~]|^\d{1,4}$|^-?\d*\.\d+$/.test(value)) return false;
  if (isVariable) return true;
  if (isQuoted) return kind !== "word" || !isPlain(value);
  if (/^[#@!&]/.test(value)) return false;
  const isCode =
    IDENTIFIER.test(value) &&
    (/[.>]/.test(value) || /^\s*[,;()[\]{}|?=+!<>.`]|^\s+&/.test(next)) &&
    !isRandom(value) &&
    !(kind === "password" && /\d/.test(value));
  return !isCode && (kind === "password" || (/\d/.test(value) && !isPlain(value)));
}

/** In a sentence, a word with a digit is not a plain word. */
export const isMixed = (value: string) => value.length >= 6 && /\d/.test(value) && /[A-Za-z]/.test(value);

/** A value that is unlikely in prose or code: random, or with the characters that passwords must have. */
export const isStrong = (value: string) =>
  (isRandom(value) && !isPlain(value)) ||
  (value.length >= 8 &&
    isMixed(value) &&
    (/[!#%^*+?~]/.test(value) ||
      (value.length >= 12 && /[a-z]/.test(value) && /[A-Z]/.test(value) && !isPlain(value))));

/** The recovery phrase of a wallet: 12 to 24 words. */
const RECOVERY_WORDS = /^[a-z]{3,8}(?: [a-z]{3,8}){11,23}$/;

/**
 * Words of a language or a program: `userToken`, `application/json`, `x-api-key`, `Bearer`, `v1`. Unambiguous, so that
 * matching takes linear time.
 */
export const isPlain = (value: string) =>
  /^[A-Z]?[a-z]+(?:[ _./:-](?![A-Z])[a-z]*\d{0,2}|[ _./:-]?[A-Z][a-z]*\d{0,2})*$|^[A-Z]+(?:[_-][A-Z]+)*$|^\d{1,4}$/.test(
    value,
  ) &&
  value.length > 3 &&
  // Words are longer than two letters on average.
  (value.length < 12 || (value.match(/[A-Z]/g)?.length ?? 0) < value.length * 0.35 || value === value.toUpperCase());

const MIN_RANDOM = 14;
const MAX_RANDOM = 512;
const MIN_RUN = 20;

/** Whether the text looks random: letters and digits alternate often, and no character prevails. */
export function isRandom(value: string): boolean {
  const sample = value.slice(0, MAX_RANDOM).replace(/^(?:v\d+|[A-Za-z]{1,12})[:=_.-](?=\S{14})/, "");
  if (
    sample.length < MIN_RANDOM ||
    !/^[\w+/=.~:%|*!@#^-]+$/.test(sample) ||
    !/\d/.test(sample) ||
    !/[A-Za-z]/.test(sample)
  )
    return false;
  // UUIDs, dates, paths and URLs are names.
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|^\d{4}-\d\d-\d\d|^(?:\.{0,2}|~|[A-Za-z]:)\/|:\/\/|^0x/i.test(sample))
    return false;
  let [changes, digitChanges] = [0, 0];
  for (let i = 1; i < sample.length; i++) {
    const [one, two] = [classOf(sample.charCodeAt(i - 1)), classOf(sample.charCodeAt(i))];
    if (one === two) continue;
    changes++;
    if (one === 1 || two === 1) digitChanges++;
  }
  // Lower case letters and digits change less often, but words do not contain digits again and again.
  const isOneRun = sample.length >= MIN_RUN && digitChanges >= 5 && /^[A-Za-z0-9]+$/.test(sample);
  return (changes >= sample.length * 0.3 || isOneRun) && entropy(sample) >= 3.2;
}

/** 0: other, 1: digit, 2: upper case, 3: lower case. */
const classOf = (code: number) =>
  code >= 97 && code <= 122 ? 3 : code >= 65 && code <= 90 ? 2 : code >= 48 && code <= 57 ? 1 : 0;

/** Bits per character. */
function entropy(text: string): number {
  const counts = new Map<string, number>();
  for (const char of text) counts.set(char, (counts.get(char) ?? 0) + 1);
  let bits = 0;
  for (const count of counts.values()) bits -= (count / text.length) * Math.log2(count / text.length);
  return bits;
}
