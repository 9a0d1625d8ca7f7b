import type { IncomingMessage } from "node:http";
import type { Admission } from "../../transports/proxy.ts";
import type { Access } from "../access.ts";
import { isCrossSite, isOwnName, type Listening } from "../own-names.ts";

export interface AdmissionOptions extends Listening {
  readonly access: Access;
  /** Requires the token from every client, including this user's own processes. */
  readonly requiresToken: boolean;
}

/** The token is in the path, because every agent accepts an address, but few accept a header. */
const WITH_TOKEN = /^\/~([^/?]*)(.*)$/;

export const withToken = (url: string, token: string) => `${url}/~${token}`;

/** Accepts requests of this user's processes and of clients with the token, but none from web pages. */
export async function admission(
  { url = "/", headers, socket }: IncomingMessage,
  options: AdmissionOptions,
): Promise<Admission> {
  const { access, requiresToken } = options;
  const { host = "" } = headers;
  if (isCrossSite((name) => headers[name]?.toString()))
    return refused(403, "requests from web pages are not forwarded");
  const [, token, path = ""] = WITH_TOKEN.exec(url) ?? [];
  if (token !== undefined)
    return access.isToken(token) ? { path: path.startsWith("/") ? path : `/${path}` } : refused(401, NO_TOKEN);
  if (!isOwnName(host, options)) return refused(403, `${JSON.stringify(host)} is not a name of this proxy`);
  const whose = requiresToken ? "unknown" : await access.ownerOf(socket);
  if (whose === "own") return { path: url };
  return refused(401, whose === "other" ? "this proxy is another user's" : NO_TOKEN);
}

const NO_TOKEN = "this address lacks the token; use the one that retinue proxy printed";
const refused = (status: number, message: string) => ({ status, message });
