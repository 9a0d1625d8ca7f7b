import type { IncomingMessage } from "node:http";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import type { Grant, Tokens } from "../../app/team/store.ts";
import type { Scope } from "../../core/ports/team.ts";
import { refusal } from "../failures.ts";
import type { Identify } from "./proxy-identity.ts";
import type { Seen, Visit, Visits } from "./visits.ts";

/** Who may call a route. `open`: everybody. */
export interface Rule {
  readonly method: "GET" | "POST" | "DELETE";
  /** `:name` is one part, a final `*` any rest. */
  readonly path: string;
  readonly scopes: readonly Scope[] | "open";
  /** What the audit log calls a visit: every route that shows texts of threads has a name. */
  readonly audit?: string;
}

const READERS = ["read", "admin"] as const;

/** Every route of a team server. What is not listed does not exist. */
export const RULES: readonly Rule[] = [
  { method: "GET", path: "/api/health", scopes: "open" },
  { method: "GET", path: "/api/openapi.json", scopes: READERS },
  { method: "POST", path: "/api/ingest", scopes: ["ship"] },
  { method: "POST", path: "/api/session", scopes: "open" },
  { method: "DELETE", path: "/api/session", scopes: "open" },
  { method: "GET", path: "/api/session", scopes: READERS },
  { method: "GET", path: "/api/threads", scopes: READERS, audit: "threads" },
  { method: "GET", path: "/api/agents", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri", scopes: READERS, audit: "tree" },
  { method: "GET", path: "/api/agents/:uri/events", scopes: READERS, audit: "events" },
  { method: "GET", path: "/api/agents/:uri/events/:id", scopes: READERS, audit: "event" },
  { method: "GET", path: "/api/agents/:uri/spans", scopes: READERS, audit: "spans" },
  { method: "GET", path: "/api/agents/:uri/messages", scopes: READERS, audit: "messages" },
  { method: "GET", path: "/api/agents/:uri/why", scopes: READERS, audit: "why" },
  { method: "GET", path: "/api/agents/:uri/explain", scopes: READERS, audit: "explain" },
  { method: "GET", path: "/api/agents/:uri/files", scopes: READERS, audit: "files" },
  { method: "GET", path: "/api/live", scopes: READERS, audit: "live" },
  { method: "GET", path: "/api/search", scopes: READERS, audit: "search" },
  { method: "GET", path: "/api/stats", scopes: READERS, audit: "stats" },
  { method: "GET", path: "/api/stats/threads", scopes: READERS, audit: "stats" },
  { method: "GET", path: "/api/team/now", scopes: READERS, audit: "now" },
  { method: "GET", path: "/api/team/costs", scopes: READERS },
  { method: "GET", path: "/api/team/failures", scopes: READERS, audit: "failures" },
  { method: "GET", path: "/api/team/people", scopes: READERS },
  { method: "GET", path: "/api/team/audit", scopes: ["admin"] },
  { method: "GET", path: "/metrics", scopes: ["admin"] },
];

/** The cookie of a browser's session. */
export const COOKIE = "retinue_team";

/** What a request may see. */
export interface Viewer {
  readonly grant: Grant;
  /** Owners that it may read, narrowed to the requested one. */
  readonly owners: readonly string[];
  /** Whether one was requested. */
  readonly isNarrowed: boolean;
}

export interface TeamEnv {
  /** `seen`: the threads that the response shows. */
  readonly Variables: { viewer: Viewer | null; seen: Seen[] };
  readonly Bindings: { readonly owner?: string; readonly incoming?: IncomingMessage };
}

export function ruleFor(method: string, path: string): Rule | undefined {
  const asked = method === "HEAD" ? "GET" : method;
  const parts = path.split("/");
  return RULES.find((rule) => {
    const own = rule.path.split("/");
    return (
      rule.method === asked &&
      own.length === parts.length &&
      own.every((part, i) => (part.startsWith(":") ? parts[i] !== "" : part === parts[i]))
    );
  });
}

export interface Authority {
  readonly tokens: Tokens;
  /** People whom a trusted proxy names; null without such a proxy. */
  readonly identify: Identify | null;
  readonly visits: Visits;
}

/**
 * What a request is allowed to do: by its token, by the proxy that it came through, or by the session of a browser. The
 * latter two only read. Null if it is not allowed anything.
 */
export async function grantOf(
  c: Context<TeamEnv>,
  { tokens, identify }: Omit<Authority, "visits">,
): Promise<Grant | null> {
  const bearer = bearerOf(c);
  if (bearer !== undefined) return tokens.grantOf(bearer);
  if (c.req.method !== "GET" && c.req.method !== "HEAD") return null;
  const named = identify?.(c.env.incoming?.socket.remoteAddress, (name) => c.req.header(name)) ?? null;
  if (named !== null) return named === "refused" ? null : named;
  const cookie = getCookie(c, COOKIE);
  return cookie === undefined ? null : tokens.grantOfSession(cookie);
}

/** Applies the table to every request below `/api` and to `/metrics`. The rest are the files of the dashboard. */
export function authorise(authority: Authority): MiddlewareHandler<TeamEnv> {
  const { tokens, visits } = authority;
  return async (c, next) => {
    const { method, path } = c.req;
    c.set("viewer", null);
    c.set("seen", []);
    if (path !== "/metrics" && path !== "/api" && !path.startsWith("/api/")) return next();
    const rule = ruleFor(method, path);
    if (rule?.scopes === "open") return next();
    const grant = await grantOf(c, authority);
    if (grant === null)
      return refusal(
        c,
        "unauthorized",
        bearerOf(c) === undefined && getCookie(c, COOKIE) === undefined
          ? "this server requires a token"
          : "the token is unknown, expired or revoked",
        "send Authorization: Bearer with a token of retinue token create",
      );
    if (rule === undefined) return next();
    if (!rule.scopes.includes(grant.scope))
      return refusal(
        c,
        "forbidden",
        `a token with scope ${grant.scope} cannot be used here`,
        `create one with retinue token create --scope ${rule.scopes.join(" or ")}`,
      );
    const readable = await tokens.readable(grant);
    const { owner } = c.env;
    const isNarrowed = owner !== undefined;
    c.set("viewer", { grant, owners: isNarrowed ? readable.filter((one) => one === owner) : readable, isNarrowed });
    await next();
    // What was refused or not found was not seen.
    if (rule.audit !== undefined && c.res.ok)
      for (const subject of subjectsOf(c, rule.audit))
        visits.note({ token: grant.id, owner: grant.owner, action: rule.audit, ...subject });
  };
}

/** Longer queries are cut in the audit log. */
const MAX_QUERY = 1_000;

/** What a visit was about: the words of a search, or the threads that it showed, each once. */
function subjectsOf(c: Context<TeamEnv>, action: string): Pick<Visit, "subject" | "threadOwner">[] {
  if (action === "search") return [{ subject: c.req.query("q")?.slice(0, MAX_QUERY) ?? null, threadOwner: null }];
  return c.get("seen").map((seen) => ({ subject: seen?.thread ?? null, threadOwner: seen?.owner ?? null }));
}

/** Whether a viewer may still see the same owners: the token may have been revoked, or a team may have changed. */
export async function isStillAllowed(
  c: Context<TeamEnv>,
  authority: Authority,
  viewer: Viewer | null,
): Promise<boolean> {
  const grant = await grantOf(c, authority);
  if (grant === null || viewer === null || grant.scope !== viewer.grant.scope) return false;
  const readable = new Set(await authority.tokens.readable(grant));
  return (
    viewer.owners.every((owner) => readable.has(owner)) && (viewer.isNarrowed || readable.size === viewer.owners.length)
  );
}

/** The viewer of a request that the table lets in with a token. */
export function viewerOf(c: Context<TeamEnv>): Viewer {
  const viewer = c.get("viewer");
  if (viewer === null) throw new Error(`no viewer for ${c.req.path}`);
  return viewer;
}

export const bearerOf = (c: Context) => /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
