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
  const { name, digits } = partsOf(header);
  if (Number(digits ?? 80) !== port()) return false;
  if (isLoopback(name) || name === bound.toLowerCase()) return true;
  // An IP address cannot be rebound; accepted only if the server listens on more than loopback.
  return !isLoopback(bound) && isAddress(name);
}

/** The same for a server that is reached by these names through a proxy, which may listen on any port. */
export function isOneOf(names: readonly string[], header: string): boolean {
  const { name } = partsOf(header);
  return isLoopback(name) || isAddress(name) || names.some((one) => one.toLowerCase() === name);
}

/** The host name and the port in a `Host` header. */
function partsOf(header: string): { readonly name: string; readonly digits: string | undefined } {
  const [, name = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(header.toLowerCase()) ?? [];
  return { name, digits };
}

const isAddress = (name: string) => isIP(name.replace(/^\[|\]$/g, "")) !== 0;

/** Whether a page of another site sent the request, according to the browser. Other programs do not send these headers. */
export function isCrossSite(header: (name: "host" | "origin" | "sec-fetch-site") => string | undefined): boolean {
  const host = header("host") ?? "";
  const origin = header("origin");
  const site = header("sec-fetch-site");
  const isOtherOrigin = origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;
  return isOtherOrigin || (site !== undefined && site !== "same-origin" && site !== "none");
}
