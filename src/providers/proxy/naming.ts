import type { Provider } from "../../core/provider.ts";
import type { AskedRow } from "../../core/traffic.ts";

/** The recording that a request belongs into, and the project it is about: one for each session that names itself, else one for each upstream and day. */
export function filedUnder(products: readonly Provider[], asked: AskedRow, day: string): { readonly name: string; readonly cwd: string | null } {
  for (const { name, wire } of products) {
    const caller = wire?.identify(asked) ?? null;
    if (caller !== null) return { name: safe(`${name}-${caller.session}`), cwd: caller.cwd ?? asked.cwd };
  }
  return { name: safe(`${/^https?:\/\/([^/]+)/.exec(asked.upstream)?.[1] ?? "other"}-${day}`), cwd: asked.cwd };
}

const safe = (name: string) =>
  name
    .replace(/[^\w.-]/g, "_")
    .replace(/^\.+/, "_")
    .slice(0, 120);
