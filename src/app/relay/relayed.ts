import type { Credentials, Provider } from "../../core/ports/provider.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { Failure } from "../failure.ts";

/** Products whose servers can be followed. */
export const RELAYED_NAMES: readonly string[] = PROVIDERS.filter(({ relay }) => relay !== undefined).map(
  ({ name }) => name,
);

export function relayedProvider(name: string): Provider {
  const provider = PROVIDERS.find((one) => one.name === name);
  if (provider?.relay === undefined)
    throw new Failure("usage", `servers of ${JSON.stringify(name)} cannot be followed`, [
      `write one of: ${RELAYED_NAMES.join(", ")}`,
    ]);
  return provider;
}

/** The URL as a folder name. */
export const slugOf = (url: URL) =>
  `${url.hostname}_${url.port || (url.protocol === "https:" ? "443" : "80")}${url.pathname}`
    .replace(/[^\w.-]+/g, "_")
    .replace(/_$/, "");

/** The same for the same server. */
export const relayId = (provider: string, url: URL) => `${provider}-${slugOf(url)}`;

/** Parses the server URL and removes the password from it, so that it is never shown or stored. */
export function serverAddress(given: string): { readonly url: URL; readonly credentials: Credentials | null } {
  const text = given.trim();
  const url = URL.parse(/^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  if (url === null || text === "" || (url.protocol !== "http:" && url.protocol !== "https:") || url.hostname === "")
    throw new Failure("usage", "not a server URL", ["write it as http://127.0.0.1:4096"]);
  const credentials =
    url.password === "" ? null : { user: decoded(url.username) || null, password: decoded(url.password) };
  url.username = "";
  url.password = "";
  url.search = "";
  url.hash = "";
  return { url, credentials };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not percent-encoded.
    return text;
  }
}
