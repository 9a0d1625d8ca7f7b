import { isIP } from "node:net";

/** Where a server of ours listens. */
export interface Listening {
  readonly host: string;
  /** Known once it listens. */
  readonly port: () => number;
}

const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);
export const isLoopback = (host: string) => LOOPBACK.has(host) || /^127\.\d+\.\d+\.\d+$/.test(host);

/** Whether a `Host` header names us: a page whose name was made to point at this machine (DNS rebinding) has another one. */
export function isOwnName(header: string, { host: bound, port }: Listening): boolean {
  const [, name = "", digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(header.toLowerCase()) ?? [];
  if (Number(digits ?? 80) !== port()) return false;
  if (isLoopback(name) || name === bound.toLowerCase()) return true;
  // An address cannot be made to point elsewhere; only for servers that other machines are meant to reach.
  return !isLoopback(bound) && isIP(name.replace(/^\[|\]$/g, "")) !== 0;
}

/** Whether a browser says, by `Origin`, that a page of another site sends the request. Programs say nothing. */
export const isOtherOrigin = (origin: string | undefined, host: string) => origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`;

/** The same by `Sec-Fetch-Site`. */
export const isOtherSite = (site: string | undefined) => site !== undefined && site !== "same-origin" && site !== "none";
