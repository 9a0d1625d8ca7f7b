/** What a person may write to name a thread or an agent, before anybody looks whether it exists. */
export type Target =
  | { readonly is: "latest"; readonly provider: string | null; readonly agent: string | null }
  | { readonly is: "named"; readonly provider: string | null; readonly thread: string; readonly agent: string | null };

/** Says what is wrong in one line and what would be right in another. */
export interface UriFault {
  readonly wrong: string;
  readonly right: string;
}

export interface KnownScheme {
  readonly name: string;
  readonly idForm: string;
  isThreadId(id: string): boolean;
  isAgentId(id: string): boolean;
}

const MIN_PREFIX = 6;
const RIGHT = "write <provider>://<thread>, <provider>://<thread>/<agent>, a thread id, or latest";

/** `schemes` are the providers'; ids that a record already uses are always possible, which `exists` tells. */
export function parseTarget(input: string, schemes: readonly KnownScheme[], exists: (id: string) => boolean): Target | UriFault {
  const fault = (wrong: string, right = RIGHT): UriFault => ({ wrong: `${JSON.stringify(input)}: ${wrong}`, right });
  if (/[\u0000-\u001f\u007f]/.test(input)) return fault("control characters are not part of a URI");
  if (/\s/.test(input)) return fault("blanks are not part of a URI", "one URI at a time, without blanks");
  if (/[?#]/.test(input)) return fault("a URI has no query and no fragment");
  const [scheme, path] = splitScheme(input);
  const isAgents = scheme === "agents";
  const parts = path.split("/");
  const provider = isAgents ? (parts.shift() ?? "") : scheme;
  if (provider !== null && provider !== "unassigned" && !schemes.some((s) => s.name === provider))
    return fault(
      `unknown scheme ${provider === "" ? "(empty)" : provider}`,
      `known schemes: ${schemes.map((s) => `${s.name}://`).join(", ")}, agents://<provider>/`,
    );
  // The desktop app writes codex://threads/<id>; the word is no id of anybody's.
  if (parts[0] === "threads" && parts.length > 1) parts.shift();
  if (parts.some((part) => part === "")) return fault("a part is empty");
  if (parts.some((part) => part === "." || part === "..")) return fault("a URI is not a path: no . and ..");
  if (parts.length > 2) return fault("more than two parts");
  const [thread = "", agent = null] = parts.map(decode);
  if (thread === "latest") return { is: "latest", provider, agent };
  if (provider === "unassigned") return { is: "named", provider, thread, agent };
  const able = schemes.filter((s) => provider === null || s.name === provider);
  const form = able.map((s) => s.idForm).join("; ");
  if (!exists(thread)) {
    if (!able.some((s) => s.isThreadId(thread))) return fault(`${JSON.stringify(thread)} cannot be a thread id`, form);
    if (thread.length < MIN_PREFIX) return fault(`a prefix needs ${MIN_PREFIX} characters or more`, form);
  }
  if (agent !== null && !exists(agent) && !able.some((s) => s.isAgentId(agent))) return fault(`${JSON.stringify(agent)} cannot be an agent id`);
  return { is: "named", provider, thread, agent };
}

function splitScheme(input: string): [string | null, string] {
  const at = input.indexOf("://");
  return at < 0 ? [null, input] : [input.slice(0, at), input.slice(at + 3)];
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A lone % is an ordinary character here.
    return part;
  }
}
