/** What secrets look like. Every pattern takes time in proportion to the text: texts come from strangers. */

export const SECRET = "[redacted]";

/** A key of somebody's is recognised by how its maker begins it. */
const KNOWN_KEYS = [
  // Model vendors and those who trace them.
  "sk-ant-[\\w-]{16,}",
  "(?:sk|pk)-lf-[\\w-]{16,}",
  "sk-[A-Za-z0-9][\\w-]{18,}",
  "lsv2_(?:pt|sk)_[0-9a-f]{16,}(?:_[0-9a-f]+)?",
  "AIza[\\w-]{30,}",
  "ya29\\.[\\w.-]{20,}",
  "hf_[A-Za-z0-9]{20,}",
  "gsk_[A-Za-z0-9]{20,}",
  "xai-[A-Za-z0-9]{20,}",
  "pplx-[A-Za-z0-9]{20,}",
  "r8_[A-Za-z0-9]{30,}",
  "tvly-[\\w-]{16,}",
  // Code and packages.
  "gh[pousr]_[A-Za-z0-9]{20,}",
  "github_pat_\\w{20,}",
  "gl(?:pat|ptt|dt|rt|soat)-[\\w-]{16,}",
  "npm_[A-Za-z0-9]{30,}",
  "pypi-[\\w-]{16,}",
  "dckr_pat_[\\w-]{20,}",
  "ATATT3[\\w=-]{20,}",
  // Clouds, payment, mail, chat.
  "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
  "do[opr]_v1_[a-f0-9]{32,}",
  "dapi[0-9a-f]{32}",
  "hv[sbr]\\.[\\w-]{20,}",
  "(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{20,}",
  "SG\\.[\\w-]{16,}\\.[\\w-]{16,}",
  "xox[abeprs]-[\\w-]{10,}",
  "xapp-\\d-[\\w-]{10,}",
  "\\d{8,10}:AA[\\w-]{32,}",
  "AGE-SECRET-KEY-1[A-Z0-9]{20,}",
  // A signed token of any kind.
  "eyJ[\\w-]{10,}\\.eyJ[\\w-]{10,}(?:\\.[\\w-]*)?",
];

const KNOWN_KEY = new RegExp(`(?<![A-Za-z0-9])(?:${KNOWN_KEYS.join("|")})`, "g");
/** A block that was cut off is secret to its end. */
const PRIVATE_KEY = /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g;
const WEBHOOK = /(https:\/\/hooks\.slack\.com\/services\/|https:\/\/discord(?:app)?\.com\/api\/webhooks\/)[\w/-]+/g;
const URL_PASSWORD = /([a-z][a-z0-9+.-]{0,20}:\/\/[^\s:@/"'<>]{0,256}:)[^\s@/"'<>]{1,256}(?=@)/gi;
const SCHEME_AND_KEY = /\b(bearer|basic)(\s+)(?=[\w+/=.~-]*[\d=.~_-])[\w+/=.~-]{12,}/gi;
const HEADER_LINE =
  /((?:^|[\s"'`{,])(?:proxy-)?(?:authorization|(?:set-)?cookie|x-api-key|x-goog-api-key|api-key|x-auth-token|x-amz-security-token)\\?["']?\s{0,3}:\s{0,3}\\?["']?)(?!\s)[^"'`\r\n\\]+/gi;
const ACCOUNT_KEY = /\b((?:AccountKey|SharedAccessKey|SharedAccessSignature)=)[^;\s"']+/g;

const PASSWORD = "pass(?:word|wd|phrase|code)?|pwd";
const NAMES = `(?:api|access|auth|secret|private|signing|encryption|account|service)[_-]?keys?|(?:access[_-]?key[_-]?id)|secret|token|credentials?|${PASSWORD}`;
/** `NAME=value` as shells, `.env` files and configurations have it, quoted or not. */
const ASSIGNED = new RegExp(
  `(?<![A-Za-z0-9_.-])((?:[A-Za-z0-9]{1,40}[_.-]){0,8}[A-Za-z0-9]{0,40}?(?:${NAMES})(?:[_-](?:id|value|base64|b64|json))?)(\\\\?["']?\\s{0,3}(?:=>|[:=])\\s{0,3})(\\\\?"[^"\\r\\n]*"|'[^'\\r\\n]*'|[^\\s"'\`,;&|<>(){}[\\]]+)`,
  "gi",
);
const SECRET_NAME = new RegExp(`(?:^|[_.\\s-]|[a-z])(?:${NAMES})(?:[_-](?:id|value|base64|b64|json))?$`, "i");
const SECRET_HEADER = /^(?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?(?:goog-)?api-key|x-auth-token|x-amz-security-token|x-csrf-token)$/i;
const IS_PASSWORD = new RegExp(`(?:^|[_.-]|[a-z])(?:${PASSWORD})$`, "i");
/** What stands where a secret would in code that only speaks of one. */
const PLACEHOLDER =
  /^(?:\$.*|<.*|\{.*|%.*%?|\*+|x{3,}|string|str|number|bool(?:ean)?|null|none|nil|undefined|true|false|unknown|optional|required|process\.env.*|os\.environ.*|env\..*)$/i;

/** Whether a key of an object, a header or a variable is called as secrets are. */
export const isSecretName = (name: string) => SECRET_HEADER.test(name) || SECRET_NAME.test(name);

/** The text with a mark in place of everything in it that looks like a secret. */
export function withoutSecrets(text: string): string {
  return text
    .replace(PRIVATE_KEY, SECRET)
    .replace(KNOWN_KEY, SECRET)
    .replace(WEBHOOK, `$1${SECRET}`)
    .replace(URL_PASSWORD, `$1${SECRET}`)
    .replace(HEADER_LINE, `$1${SECRET}`)
    .replace(SCHEME_AND_KEY, `$1$2${SECRET}`)
    .replace(ACCOUNT_KEY, `$1${SECRET}`)
    .replace(ASSIGNED, (whole, name: string, sign: string, value: string) => (isGiven(name, sign, value) ? `${name}${sign}${quoted(value)}` : whole));
}

/** A quotation keeps its quotes, so that what was JSON or code still is. */
function quoted(value: string): string {
  const quote = /^\\?["']/.exec(value)?.[0] ?? "";
  return `${quote}${SECRET}${quote}`;
}

/** Code speaks of secrets all day (`token: string`, `maxToken = limit`): only what can be one is taken for one. */
function isGiven(name: string, sign: string, value: string): boolean {
  const bare = value.replace(/^\\?["']|\\?["']$/g, "");
  if (bare === "" || bare.startsWith(SECRET) || PLACEHOLDER.test(bare)) return false;
  if (bare !== value || IS_PASSWORD.test(name)) return true;
  const isVariable = sign.trim() === "=" && name === name.toUpperCase();
  return isVariable || /\d/.test(bare) || bare.length >= 24;
}
