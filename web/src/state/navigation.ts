import { createMemo, createRoot, createSignal } from "solid-js";
import { formatRoute, linkOwner, type Page, parseRoute, type Route } from "../data/route.ts";

const [route, setRoute] = createSignal<Route>(parseRoute(location.hash));

export { route };

addEventListener("hashchange", () => setRoute(parseRoute(location.hash)));

/** On a team server, the person whose threads are shown; null for everybody. */
export const owner = createRoot(() => createMemo(() => route().params.owner ?? null));

/** The URL of a view, with the owner of the current one (`linkOwner`). */
export const hrefTo: typeof formatRoute = ({ page, uri = null, params = {} }) =>
  formatRoute({ page, uri, params: { owner: linkOwner(route(), page), ...params } });

export function go(page: Page, uri: string | null = null, params: Readonly<Record<string, string | null>> = {}): void {
  location.hash = hrefTo({ page, uri, params });
}

/** Changes URL parameters of this view without adding a history entry. */
export function setParams(changes: Readonly<Record<string, string | null>>): void {
  const { page, uri, params } = route();
  const hash = formatRoute({ page, uri, params: { ...params, ...changes } });
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  setRoute(parseRoute(hash));
}
