import { createHash } from "node:crypto";
import type { HttpBindings } from "@hono/node-server";
import type { Context, MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { type Access, isSame, type OneTimeCodes } from "../app/access.ts";
import { isLoopback, isOtherOrigin, isOtherSite, isOwnName, type Listening } from "../app/own-names.ts";
import { refusal } from "./failures.ts";

export interface GuardOptions extends Listening {
  readonly access: Access;
  /** What printed addresses carry where only this machine can reach us. */
  readonly codes: OneTimeCodes;
}

/** Nothing from elsewhere, nothing inline, nobody's frame: transcripts are other people's words. */
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

/** Lets in who asks for us by a name of ours, from a page of ours or from no page at all, and is this user or knows the token. */
export function guard(options: GuardOptions): MiddlewareHandler<{ Bindings: HttpBindings }> {
  const { access, codes } = options;
  const cookie = accessCookie(options);
  const isLocal = isLoopback(options.host);
  const opens = (code: string) => codes.redeem(code) || (!isLocal && access.isToken(code));
  return async (c, next) => {
    const host = c.req.header("host") ?? "";
    if (!isOwnName(host, options))
      return refusal(c, "forbidden", `${JSON.stringify(host)} is not a name of this server`, "open the address that retinue printed");
    const isPage = c.req.method === "GET" && !c.req.path.startsWith("/api");
    const isVisit = isPage && c.req.header("sec-fetch-mode") === "navigate";
    if (isOtherOrigin(c.req.header("origin"), host) || (isOtherSite(c.req.header("sec-fetch-site")) && !isVisit))
      return refusal(c, "forbidden", "requests from other sites are not answered", null);
    const code = isPage ? c.req.query("token") : undefined;
    if (code !== undefined && opens(code)) cookie.give(c);
    else if (!isKnown(c, access, cookie)) {
      // Beyond this machine the token alone counts.
      const whose = isLocal ? await access.whose(c.env.incoming.socket) : "unknown";
      if (whose === "other") return refusal(c, "unauthorized", "this server is another user's", null);
      if (whose === "unknown") return refusal(c, "unauthorized", "this server wants a token", WANTED);
    }
    // A path that begins with two slashes would be read as another host.
    return code === undefined ? next() : c.redirect(c.req.path.replace(/^[/\\]+/, "/"), 303);
  };
}

const WANTED = "run retinue, which opens the dashboard, or send Authorization: Bearer with what retinue token show prints";

function isKnown(c: Context, access: Access, cookie: AccessCookie): boolean {
  const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
  return bearer === undefined ? cookie.isIn(c) : access.isToken(bearer);
}

interface AccessCookie {
  give(c: Context): void;
  isIn(c: Context): boolean;
}

const COOKIE_SECONDS = 30 * 86_400;

/**
 * What a browser keeps once an address has let it in, where no script can read it. Cookies do not know ports: its name tells two servers apart,
 * and its value is not the token, since other servers of this machine may get to see it.
 */
function accessCookie({ access, port }: GuardOptions): AccessCookie {
  const name = () => `retinue_${port()}`;
  const value = createHash("sha256").update(`cookie ${access.token}`).digest("base64url");
  return {
    give: (c) => setCookie(c, name(), value, { httpOnly: true, sameSite: "Strict", path: "/", maxAge: COOKIE_SECONDS }),
    isIn: (c) => isSame(getCookie(c, name()) ?? "", value),
  };
}
