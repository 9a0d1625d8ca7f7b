import { createSignal } from "solid-js";
import { formatRoute, type Page, parseRoute, type Route } from "../data/route.ts";

const [route, setRoute] = createSignal<Route>(parseRoute(location.hash));

export { route };

addEventListener("hashchange", () => setRoute(parseRoute(location.hash)));

export function go(page: Page, uri: string | null = null, params: Readonly<Record<string, string | null>> = {}): void {
  location.hash = formatRoute({ page, uri, params });
}

/** Changes URL parameters of this view without adding a history entry. */
export function setParams(changes: Readonly<Record<string, string | null>>): void {
  const { page, uri, params } = route();
  const hash = formatRoute({ page, uri, params: { ...params, ...changes } });
  if (hash === location.hash) return;
  history.replaceState(null, "", hash);
  setRoute(parseRoute(hash));
}
