import { createHash, timingSafeEqual } from "node:crypto";
import { isIP } from "node:net";
import type { MiddlewareHandler } from "hono";
import { getCookie, setCookie } from "hono/cookie";
import { refusal } from "./failures.ts";

export interface GuardOptions {
  /** The address it listens at. */
  readonly host: string;
  /** Known once it listens. */
  readonly port: () => number;
  /** Asked of everybody; null where only this machine can reach us. */
  readonly token: string | null;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);
export const isLoopback = (host: string) => LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);

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

/** Lets in those who asked for us by a name of ours, from a page of ours or from no page at all, and who know the token where there is one. */
export function guard(options: GuardOptions): MiddlewareHandler {
  const isOurs = (host: string) => isOwnName(host, options);
  return async (c, next) => {
    const host = c.req.header("host") ?? "";
    if (!isOurs(host)) return refusal(c, "forbidden", `${JSON.stringify(host)} is not a name of this server`, "open the address that retinue printed");
    const origin = c.req.header("origin");
    // A browser says where a request comes from; what is no browser has no reason to be sent by somebody else's page.
    if (origin !== undefined && !(origin === `http://${host}` || origin === `https://${host}`))
      return refusal(c, "forbidden", "requests from other sites are not answered", null);
    const site = c.req.header("sec-fetch-site");
    const isPage = c.req.method === "GET" && c.req.header("sec-fetch-mode") === "navigate" && !c.req.path.startsWith("/api");
    if (site !== undefined && site !== "same-origin" && site !== "none" && !isPage)
      return refusal(c, "forbidden", "requests from other sites are not answered", null);
    if (options.token === null) return next();
    return withToken(options.token, options.port())(c, next);
  };
}

function isOwnName(host: string, { host: bound, port }: GuardOptions): boolean {
  const [, name = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(host.toLowerCase()) ?? [];
  if (Number(digits ?? 80) !== port()) return false;
  if (LOOPBACK.has(name) || isLoopback(name) || name === bound.toLowerCase()) return true;
  // No name can be made to point here by somebody else where it is an address; only for servers that others are meant to reach.
  return !isLoopback(bound) && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}

/** The printed address carries it once; from then on the browser keeps it where no script can read it. */
function withToken(token: string, port: number): MiddlewareHandler {
  // Cookies do not know ports: two servers must not take each other's away.
  const cookie = `retinue_${port}`;
  return async (c, next) => {
    const asked = c.req.query("token");
    if (asked !== undefined && c.req.method === "GET" && !c.req.path.startsWith("/api")) {
      if (!isSame(asked, token)) return refusal(c, "unauthorized", "this token is not the server's", "open the address that retinue printed");
      setCookie(c, cookie, token, { httpOnly: true, sameSite: "Strict", path: "/" });
      // A path that begins with two slashes would be read as another host.
      return c.redirect(c.req.path.replace(/^[/\\]+/, "/"), 303);
    }
    const bearer = /^Bearer (.+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
    const given = bearer ?? getCookie(c, cookie);
    if (given === undefined || !isSame(given, token))
      return refusal(c, "unauthorized", "this server wants a token", "open the address that retinue printed, or send it as Authorization: Bearer <token>");
    return next();
  };
}

/** Takes as long for a near miss as for a far one. */
function isSame(given: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(token));
}
