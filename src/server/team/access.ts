import type { Context, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { isOtherOrigin } from "../../app/own-names.ts";
import type { Grant, Tokens } from "../../app/team/store.ts";
import type { Scope } from "../../core/ports/team.ts";
import { refusal } from "../failures.ts";

/** Who may call a route. `open`: everybody. */
export interface Rule {
  readonly method: "GET" | "POST" | "DELETE";
  /** `:name` is one part, a final `*` any rest. */
  readonly path: string;
  readonly scopes: readonly Scope[] | "open";
  /** What the audit log calls a visit; omitted if it is not logged. */
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
  { method: "GET", path: "/api/threads", scopes: READERS },
  { method: "GET", path: "/api/agents", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri", scopes: READERS, audit: "tree" },
  { method: "GET", path: "/api/agents/:uri/events", scopes: READERS, audit: "events" },
  { method: "GET", path: "/api/agents/:uri/events/:id", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri/spans", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri/messages", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri/why", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri/explain", scopes: READERS },
  { method: "GET", path: "/api/agents/:uri/files", scopes: READERS },
  { method: "GET", path: "/api/live", scopes: READERS },
  { method: "GET", path: "/api/search", scopes: READERS, audit: "search" },
  { method: "GET", path: "/api/stats", scopes: READERS },
  { method: "GET", path: "/api/stats/threads", scopes: READERS },
  { method: "GET", path: "/api/team/now", scopes: READERS },
  { method: "GET", path: "/api/team/costs", scopes: READERS },
  { method: "GET", path: "/api/team/failures", scopes: READERS },
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
  readonly Variables: { viewer: Viewer | null };
  readonly Bindings: { readonly owner?: string };
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

/** Applies the table to every request below `/api` and to `/metrics`. The rest are the files of the dashboard. */
export function authorise(tokens: Tokens, onError: (error: unknown) => void): MiddlewareHandler<TeamEnv> {
  return async (c, next) => {
    const { method, path } = c.req;
    c.set("viewer", null);
    if (path !== "/metrics" && path !== "/api" && !path.startsWith("/api/")) return next();
    const rule = ruleFor(method, path);
    if (rule?.scopes === "open") return next();
    const bearer = bearerOf(c);
    const cookie = getCookie(c, COOKIE);
    const isReading = method === "GET" || method === "HEAD";
    const grant =
      bearer !== undefined
        ? await tokens.grantOf(bearer)
        : cookie !== undefined && isReading && !isOtherOrigin(c.req.header("origin"), c.req.header("host") ?? "")
          ? await tokens.grantOfSession(cookie)
          : null;
    if (grant === null)
      return refusal(
        c,
        "unauthorized",
        bearer === undefined && cookie === undefined
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
    if (rule.audit !== undefined)
      tokens
        .audit({
          token: grant.id,
          owner: grant.owner,
          action: rule.audit,
          subject: c.req.query("q") ?? decoded(path.split("/")[3] ?? ""),
        })
        .catch(onError);
    return next();
  };
}

/** The viewer of a request that the table lets in with a token. */
export function viewerOf(c: Context<TeamEnv>): Viewer {
  const viewer = c.get("viewer");
  if (viewer === null) throw new Error(`no viewer for ${c.req.path}`);
  return viewer;
}

export const bearerOf = (c: Context) => /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
