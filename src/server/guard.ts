import { createHash } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { getCookie, setCookie } from "hono/cookie";
import { type Access, isSame, type OneTimeCodes } from "../app/access.ts";
import { isCrossSite, isLoopback, type Listening } from "../app/own-names.ts";
import { refusal } from "./failures.ts";

export interface GuardOptions extends Listening {
  readonly access: Access;
  /** Codes in printed URLs, used on loopback addresses instead of the token. */
  readonly codes: OneTimeCodes;
}

/** No external resources, no inline code, no frames, because pages show untrusted text. */
const CONTENT_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export const safeHeaders: MiddlewareHandler = async (c, next) => {
  await next();
  const { headers } = c.res;
  headers.set("Content-Security-Policy", CONTENT_POLICY);
  headers.set("X-Content-Type-Options", "nosniff");
  headers.set("X-Frame-Options", "DENY");
  headers.set("Referrer-Policy", "no-referrer");
  headers.set("Cross-Origin-Opener-Policy", "same-origin");
  headers.set("Cross-Origin-Resource-Policy", "same-origin");
  if (!headers.has("Cache-Control")) headers.set("Cache-Control", "no-store");
};

/** Maximum request body of routes that receive no data. */
const MAX_BODY = 64 * 1024;

export const smallBody = bodyLimit({
  maxSize: MAX_BODY,
  onError: (c) => refusal(c, "too_large", `the request body exceeds ${MAX_BODY} bytes`, null),
});

const isPage = (c: Context) => c.req.method === "GET" && !c.req.path.startsWith("/api");

/** Whether a page of another site sent the request. It may link to the pages of the dashboard. */
const isOfOtherSite = (c: Context) =>
  !(isPage(c) && c.req.header("sec-fetch-mode") === "navigate") && isCrossSite((name) => c.req.header(name));

/** Refuses requests that pages of other sites sent. */
export const refuseOtherSites: MiddlewareHandler = async (c, next) =>
  isOfOtherSite(c) ? refusal(c, "forbidden", "cross-site requests are not allowed", null) : next();

/** Refuses requests for another host than this server. */
export const refuseOtherHosts =
  (isOwn: (host: string) => boolean, hint: string): MiddlewareHandler =>
  async (c, next) => {
    const host = c.req.header("host") ?? "";
    return isOwn(host) ? next() : refusal(c, "forbidden", `${JSON.stringify(host)} is not a name of this server`, hint);
  };

/** Accepts requests by this user or with the token. */
export function guard(options: GuardOptions): MiddlewareHandler<{ Bindings: HttpBindings }> {
  const { access, codes } = options;
  const cookie = accessCookie(options);
  const isLocal = isLoopback(options.host);
  const isValidCode = (code: string) => codes.redeem(code) || (!isLocal && access.isToken(code));
  return async (c, next) => {
    const code = isPage(c) ? c.req.query("token") : undefined;
    if (code !== undefined && isValidCode(code)) cookie.set(c);
    else if (!isKnown(c, access, cookie)) {
      // On non-loopback addresses only the token counts.
      const owner = isLocal ? await access.ownerOf(c.env.incoming.socket) : "unknown";
      if (owner === "other") return refusal(c, "unauthorized", "this server belongs to another user", null);
      if (owner === "unknown") return refusal(c, "unauthorized", "this server requires a token", TOKEN_HINT);
      // The browser of this user, which needs the cookie to control agents.
      if (isPage(c)) cookie.set(c);
    }
    // A path that begins with two slashes would redirect to another host.
    return code === undefined ? next() : c.redirect(c.req.path.replace(/^[/\\]+/, "/"), 303);
  };
}

/** For requests that change what an agent does: they need the token or its cookie, and a server on loopback. */
export function mayControl(options: GuardOptions): MiddlewareHandler {
  const cookie = accessCookie(options);
  return async (c, next) => {
    if (!isLoopback(options.host))
      return refusal(
        c,
        "forbidden",
        "agents can be controlled only through a server on a loopback address",
        "run retinue serve without --host on the machine of the agent",
      );
    if (!isKnown(c, options.access, cookie))
      return refusal(c, "unauthorized", "controlling agents requires the token", TOKEN_HINT);
    return next();
  };
}

const TOKEN_HINT =
  "run retinue to open the dashboard, or send Authorization: Bearer with the output of retinue token show";

function isKnown(c: Context, access: Access, cookie: AccessCookie): boolean {
  const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
  return bearer === undefined ? cookie.isIn(c) : access.isToken(bearer);
}

interface AccessCookie {
  set(c: Context): void;
  isIn(c: Context): boolean;
}

const COOKIE_SECONDS = 30 * 86_400;

/**
 * Keeps a browser logged in. HttpOnly, so no script can read it. Cookies are shared by all ports of a host: the port is
 * part of the name, and the value is not the token, because other local servers receive it.
 */
function accessCookie({ access, port }: GuardOptions): AccessCookie {
  const name = () => `retinue_${port()}`;
  const value = createHash("sha256").update(`cookie ${access.token}`).digest("base64url");
  return {
    set: (c) => setCookie(c, name(), value, { httpOnly: true, sameSite: "Strict", path: "/", maxAge: COOKIE_SECONDS }),
    isIn: (c) => isSame(getCookie(c, name()) ?? "", value),
  };
}
