/** A parsed name of a thread or agent, which may not exist. */
export type Target =
  | { readonly is: "latest"; readonly provider: string | null; readonly agent: string | null }
  | { readonly is: "named"; readonly provider: string | null; readonly thread: string; readonly agent: string | null };

/** The error, then how to write it correctly; one line each. */
interface UriFault {
  readonly wrong: string;
  readonly right: string;
}

export interface KnownScheme {
  readonly name: string;
  readonly idForm: string;
  isThreadId(id: string): boolean;
  isAgentId(id: string): boolean;
  /** Whether this may be the path of an agent, such as `/root/alpha`. Omitted if agents have no paths. */
  isAgentPath?(path: string): boolean;
}

/** Characters that would end a part or be misread, and control characters: ids are untrusted. */
const UNSAFE = /[\s%/?#\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const RESERVED = new Set(["latest", "threads"]);

/** The URI of a thread or of an agent in it; `parseTarget` parses it again, for any ids. */
export function formatUri(provider: string, thread: string, agent: string | null): string {
  const part = (id: string, isReserved: boolean) => {
    const safe = id.replace(UNSAFE, encodeURIComponent);
    return isReserved || /^\.{1,2}$/.test(safe) ? safe.replace(/^./, percent) : safe;
  };
  const path = part(thread, RESERVED.has(thread));
  return agent === null ? `${provider}://${path}` : `${provider}://${path}/${part(agent, false)}`;
}

/** Whether `formatUri` made this, so that it can be parsed again. */
export function isCanonicalUri(uri: string): boolean {
  const [, provider = "", path = ""] = /^([a-z][a-z0-9-]*):\/\/(.+)$/s.exec(uri) ?? [];
  const [thread = "", agent, ...more] = path.split("/").map(decode);
  if (thread === "" || agent === "" || more.length > 0) return false;
  return formatUri(provider, thread, agent ?? null) === uri;
}

const percent = (char: string) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`;

const MIN_PREFIX = 6;
const RIGHT = "write <provider>://<thread>, <provider>://<thread>/<agent>, a thread id, or latest";

/** `schemes` are the providers'. Ids in the index are always accepted; `exists` checks that. */
export function parseTarget(
  input: string,
  schemes: readonly KnownScheme[],
  exists: (id: string) => boolean,
): Target | UriFault {
  const fault = (wrong: string, right = RIGHT): UriFault => ({ wrong: `${quoted(input)}: ${wrong}`, right });
  if (/\p{Cc}/u.test(input)) return fault("control characters are not part of a URI");
  if (/\s/.test(input)) return fault("spaces are not allowed in a URI", "use one URI, without spaces");
  if (/[?#]/.test(input)) return fault("a URI cannot have a query or fragment");
  const [scheme, rest] = splitScheme(input);
  const isAgents = scheme === "agents";
  const parts = rest.split("/");
  const provider = isAgents ? (parts.shift() ?? "") : scheme;
  if (provider !== null && provider !== "unassigned" && !schemes.some((s) => s.name === provider))
    return fault(
      `unknown scheme ${provider === "" ? "(empty)" : quoted(provider).slice(1, -1)}`,
      `known schemes: ${schemes.map((s) => `${s.name}://`).join(", ")}, agents://<provider>/`,
    );
  // A product may write its links as <provider>://threads/<id>.
  if (parts[0] === "threads" && parts.length > 1) parts.shift();
  if (parts.length === 0 || parts.includes("")) return fault("empty part in URI");
  if (parts.some((part) => part === "." || part === "..")) return fault("a URI cannot contain . or ..");
  const possible = schemes.filter((s) => provider === null || s.name === provider);
  const [thread = "", ...below] = parts.map(decode);
  const path = `/${below.join("/")}`;
  const agentPath = below.length > 0 && possible.some((s) => s.isAgentPath?.(path)) ? path : null;
  if (parts.length > 2 && agentPath === null) return fault("more than two parts");
  const agent = agentPath ?? below[0] ?? null;
  if (parts[0] === "latest") return { is: "latest", provider, agent };
  if (provider === "unassigned") return { is: "named", provider, thread, agent };
  const form = possible.map((s) => s.idForm).join("; ");
  if (!exists(thread)) {
    if (!possible.some((s) => s.isThreadId(thread))) return fault(`${quoted(thread)} cannot be a thread id`, form);
    if (thread.length < MIN_PREFIX) return fault(`a prefix needs ${MIN_PREFIX} characters or more`, form);
  }
  if (agent !== null && agentPath === null && !exists(agent) && !possible.some((s) => s.isAgentId(agent)))
    return fault(`${quoted(agent)} cannot be an agent id`);
  return { is: "named", provider, thread, agent };
}

/** As JSON, with control characters escaped. */
const quoted = (text: string) =>
  JSON.stringify(text).replace(
    /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );

function splitScheme(input: string): [string | null, string] {
  const at = input.indexOf("://");
  return at < 0 ? [null, input] : [input.slice(0, at), input.slice(at + 3)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // Not percent-encoded.
    return part;
  }
}
