import { isIP } from "node:net";

/** Where our server listens. */
export interface Listening {
  readonly host: string;
  /** Known once it listens. */
  readonly port: () => number;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);
export const isLoopback = (host: string) => LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Whether a `Host` header names this server. Prevents DNS rebinding. */
export function isOwnName(header: string, { host: bound, port }: Listening): boolean {
  const [, name = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(header.toLowerCase()) ?? [];
  if (Number(digits ?? 80) !== port()) return false;
  if (isLoopback(name) || name === bound.toLowerCase()) return true;
  // An IP address cannot be rebound; accepted only if the server listens on more than loopback.
  return !isLoopback(bound) && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}

/** Whether the `Origin` header names another site. Programs other than browsers send none. */
export const isOtherOrigin = (origin: string | undefined, host: string) =>
  origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;

/** The same for `Sec-Fetch-Site`. */
export const isOtherSite = (site: string | undefined) =>
  site !== undefined && site !== "same-origin" && site !== "none";
