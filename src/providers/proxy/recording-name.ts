import type { RequestRow } from "../../core/facts/traffic.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { dialectsOf, identified } from "./identify.ts";

/** The recording and folder of a request: one recording per session with an id, else one per upstream and day. */
export function recordingOf(
  products: readonly Provider[],
  asked: RequestRow,
  day: string,
): { readonly name: string; readonly cwd: string | null } {
  const found = identified(dialectsOf(products), asked);
  if (found !== null)
    return { name: safe(`${found.name}-${found.caller.session}`), cwd: found.caller.cwd ?? asked.cwd };
  return { name: safe(`${/^https?:\/\/([^/]+)/.exec(asked.upstream)?.[1] ?? "other"}-${day}`), cwd: asked.cwd };
}

const safe = (name: string) =>
  name
    .replace(/[^\w.-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, 120);
