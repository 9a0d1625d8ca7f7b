import type { Manifest } from "../../core/ports/manifest.ts";
import type { Redactor } from "../../core/redaction/redaction.ts";
import { isSecretName } from "../../core/redaction/secrets.ts";
import * as products from "../index.ts";

const MANIFESTS: readonly Manifest[] = Object.values(products);

/** Removes secrets from the head and the body of a request before they are stored. */
export interface Sanitizer {
  readonly redactor: Redactor;
  /** A short keyed hash, which only shows whether two values are equal. */
  seal(value: string): string;
}

/** Headers without credentials: of HTTP, of APIs and their clients, and those that products declare. */
const HEADERS = new Set(
  [
    "accept accept-encoding accept-language cache-control connection content-encoding content-length content-type date host server transfer-encoding user-agent vary",
    "expect origin sec-fetch-dest sec-fetch-mode sec-fetch-site traceparent retry-after retry-after-ms",
    "request-id x-request-id x-client-request-id x-correlation-id x-amzn-requestid x-ms-request-id apim-request-id cf-ray x-envoy-upstream-service-time x-should-retry",
    "anthropic-beta anthropic-version anthropic-dangerous-direct-browser-access anthropic-organization-id x-app",
    "openai-beta openai-model openai-organization openai-processing-ms openai-project openai-version",
    "originator version session-id session_id thread-id conversation_id conversation-id x-session-id x-parent-session-id x-session-affinity",
    "http-referer x-title x-initiator",
    ...MANIFESTS.flatMap(({ apiHeaders }) => apiHeaders ?? []),
  ].flatMap((line) => line.split(" ")),
);
/** Prefixes of such headers. */
const PREFIXES = [
  ...["x-stainless-", "anthropic-ratelimit-", "x-ratelimit-"],
  ...MANIFESTS.flatMap(({ apiHeaderPrefixes }) => apiHeaderPrefixes?.split(" ") ?? []),
];
/** Query parameters without credentials. */
const QUERY = new Set(
  "beta alt stream limit order after before after_id before_id page page_size purpose model version api-version api_version client_version format include timeout prettyprint x-id x-amz-algorithm x-amz-date x-amz-expires x-amz-signedheaders".split(
    " ",
  ),
);

const isPermitted = (name: string) =>
  HEADERS.has(name) ||
  (PREFIXES.some((prefix) => name.length > prefix.length && name.startsWith(prefix)) &&
    /^[a-z0-9-]+$/.test(name) &&
    !isSecretName(name));

/** Headers by lower-case name. With `sanitizer` null they are unchanged, because nothing is stored. */
export function safeHeaders(headers: readonly string[], sanitizer: Sanitizer | null): Record<string, string> {
  const safe: Record<string, string> = {};
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = (headers[i] ?? "").toLowerCase();
    const raw = headers[i + 1] ?? "";
    const value = sanitizer === null ? raw : isPermitted(name) ? sanitizer.redactor.text(raw) : sanitizer.seal(raw);
    safe[name] = name in safe ? `${safe[name]}, ${value}` : value;
  }
  return safe;
}

/** A path with its query. The values of unknown parameters are sealed, their names are kept. */
export function safePath(path: string, { redactor, seal }: Sanitizer): string {
  const at = path.indexOf("?");
  if (at < 0) return redactor.text(path);
  const query = path.slice(at + 1).split("&");
  return `${redactor.text(path.slice(0, at))}?${query.map((part) => safeParameter(part, redactor, seal)).join("&")}`;
}

function safeParameter(part: string, redactor: Redactor, seal: Sanitizer["seal"]): string {
  const [name = "", ...value] = part.split("=");
  // A parameter without a name may be a key.
  if (value.length === 0) return name === "" || QUERY.has(name.toLowerCase()) ? name : seal(name);
  return `${redactor.text(name)}=${QUERY.has(name.toLowerCase()) ? redactor.text(value.join("=")) : seal(value.join("="))}`;
}

/** A URL without user, password and query. */
export function safeUpstream(upstream: string, redactor: Redactor): string {
  if (!URL.canParse(upstream)) return "";
  const { origin, pathname } = new URL(upstream);
  return redactor.text(`${origin}${pathname}`);
}

/** The head of a field in a multipart form, from its boundary on. */
const FIELD =
  /^\s{0,20}--[^\r\n]{1,200}\r?\n(?:[\w-]{1,40}:[^\r\n]{0,2000}\r?\n){0,10}?content-disposition:[^\r\n]{0,2000}/i;
const FIELD_NAME = /;\s{0,4}name="([^"\r\n]{0,500})"/i;

/** The names of the fields in a multipart form, with sealed values; null for another text. */
function multipartFields(text: string, { redactor, seal }: Sanitizer): Record<string, string> | null {
  if (!FIELD.test(text)) return null;
  const [boundary = ""] = text.trimStart().split(/\r?\n/, 1);
  const fields = text.split(boundary).flatMap((part) => {
    const head = part.search(/\r?\n\r?\n/);
    const name = FIELD_NAME.exec(part.slice(0, Math.max(0, head)))?.[1];
    return name === undefined ? [] : [[redactor.text(name), seal(part.slice(head).trim())]];
  });
  return Object.fromEntries(fields);
}

/** A body without secrets: redacted JSON, the field names of a form with sealed values, or redacted text. */
export function safeBody(text: string, json: unknown, sanitizer: Sanitizer | null): unknown {
  if (sanitizer === null) return json ?? text;
  if (json !== undefined) return sanitizer.redactor.value(json);
  const isForm = /^[\w.[\]%+-]+=[^\s&]*(?:&[\w.[\]%+-]+=[^\s&]*)*$/.test(text.slice(0, 4_000));
  if (!isForm) return multipartFields(text, sanitizer) ?? sanitizer.redactor.text(text);
  return Object.fromEntries(
    [...new URLSearchParams(text)].map(([name, value]) => [sanitizer.redactor.text(name), sanitizer.seal(value)]),
  );
}
