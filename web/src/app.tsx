import { type Component, createEffect, createSignal, lazy, Show, Suspense } from "solid-js";
import { Dynamic } from "solid-js/web";
import type { Page } from "./data/route.ts";
import Threads from "./pages/threads.tsx";
import { TokenEntry } from "./pages/token.tsx";
import { useKeys } from "./state/keys.ts";
import { go, hrefTo, route } from "./state/navigation.ts";
import { isNotifying } from "./state/notify.ts";
import { connection, isTeam, needsToken, reading, session, troubles } from "./state/server.ts";
import { setTheme, THEMES, theme } from "./state/theme.ts";
import { hideToast, toast } from "./state/toast.ts";
import { Reading } from "./view/reading.tsx";
import { TipLayer } from "./view/tip.tsx";
import { Troubles } from "./view/troubles.tsx";

/** Team pages are loaded on a team server alone. */
const PAGES: Readonly<Record<Page, Component<{ uri: string }>>> = {
  threads: Threads,
  tree: lazy(() => import("./pages/tree.tsx")),
  agent: lazy(() => import("./pages/agent.tsx")),
  log: lazy(() => import("./pages/log.tsx")),
  explain: lazy(() => import("./pages/explain.tsx")),
  files: lazy(() => import("./pages/files.tsx")),
  board: lazy(() => import("./pages/board.tsx")),
  card: lazy(() => import("./pages/card.tsx")),
  requests: lazy(() => import("./pages/requests.tsx")),
  waterfall: lazy(() => import("./pages/waterfall.tsx")),
  graph: lazy(() => import("./pages/graph.tsx")),
  stats: lazy(() => import("./pages/stats.tsx")),
  compare: lazy(() => import("./pages/compare.tsx")),
  health: lazy(() => import("./pages/health.tsx")),
  now: lazy(() => import("./pages/now.tsx")),
  costs: lazy(() => import("./pages/costs.tsx")),
  failures: lazy(() => import("./pages/failures.tsx")),
  people: lazy(() => import("./pages/people.tsx")),
  audit: lazy(() => import("./pages/audit.tsx")),
};
const TeamBar = lazy(() => import("./view/team-bar.tsx"));
const Notices = lazy(() => import("./view/notices.tsx"));
const Help = lazy(() => import("./view/help.tsx"));

export function App() {
  const [help, setHelp] = createSignal(false);
  let search: HTMLInputElement | undefined;
  useKeys({
    "?": () => setHelp(true),
    "/": () => search?.select(),
    Escape: () => {
      if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body)
        document.activeElement.blur();
      hideToast();
    },
    T: () => go("threads"),
    B: () => isTeam() || go("board"),
    S: () => go("stats"),
    H: () => isTeam() || go("health"),
  });
  createEffect(() => {
    if (search !== undefined && document.activeElement !== search)
      search.value = route().page === "threads" ? (route().params.q ?? "") : "";
  });
  return (
    <>
      <header class="bar">
        <a class="brand" href={hrefTo({ page: "threads" })} aria-label="retinue, all threads">
          <img src="./icon.svg" alt="" width="22" height="22" />
          <span>retinue</span>
        </a>
        <nav aria-label="Pages">
          <a href={hrefTo({ page: "threads" })} aria-current={route().page === "threads" ? "page" : undefined}>
            Threads
          </a>
          <Show when={!isTeam()}>
            <a href="#/board" aria-current={route().page === "board" || route().page === "card" ? "page" : undefined}>
              Board
            </a>
          </Show>
          <a href={hrefTo({ page: "stats" })} aria-current={route().page === "stats" ? "page" : undefined}>
            Stats
          </a>
          <Show when={!isTeam()}>
            <a href="#/health" aria-current={route().page === "health" ? "page" : undefined}>
              Health
            </a>
          </Show>
        </nav>
        <search>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              search?.blur();
              go("threads", null, { q: search?.value.trim() ?? "" });
            }}
          >
            <input
              ref={search}
              type="search"
              placeholder="Search messages"
              aria-label="Search messages"
              autocomplete="off"
              spellcheck={false}
            />
            <kbd>/</kbd>
          </form>
        </search>
        <span
          class={`connection ${connection()}`}
          role="status"
          title={
            connection() === "open" ? "Live" : connection() === "waiting" ? "Not connected; reconnecting" : "Connecting"
          }
        >
          <span class="dot" />
          <span class="label">{connection() === "open" ? "live" : connection() === "waiting" ? "offline" : "…"}</span>
        </span>
        <button
          type="button"
          class="quiet"
          aria-label={`Colours: ${theme()}`}
          title={`Colours: ${theme()}`}
          onClick={() => setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length] ?? "auto")}
        >
          {theme() === "auto" ? "◐" : theme() === "light" ? "☀" : "☾"}
        </button>
        <button
          type="button"
          class="quiet"
          aria-label="Keyboard shortcuts"
          title="Keyboard shortcuts (?)"
          onClick={() => setHelp(true)}
        >
          ?
        </button>
      </header>
      <Show when={session()}>{(who) => <TeamBar session={who()} />}</Show>
      <Show when={troubles().length > 0}>
        <Troubles />
      </Show>
      <Show when={reading()}>{(far) => <Reading far={far()} />}</Show>
      <main>
        <Suspense>
          <Show when={!(isTeam() && needsToken())} fallback={<TokenEntry />}>
            <Dynamic component={PAGES[route().page]} uri={route().uri ?? ""} />
          </Show>
        </Suspense>
      </main>
      <Show when={help()}>
        <Help onClose={() => setHelp(false)} />
      </Show>
      <Show when={toast()}>
        {(shown) => (
          <div class="toast" classList={{ error: shown().isError }} role="status">
            <span>{shown().text}</span>
            <Show when={shown().action}>
              {(action) => (
                <button type="button" onClick={() => action().run()}>
                  {action().label}
                </button>
              )}
            </Show>
            <button type="button" class="quiet" aria-label="Dismiss" onClick={hideToast}>
              ✕
            </button>
          </div>
        )}
      </Show>
      <Show when={isNotifying()}>
        <Notices />
      </Show>
      <TipLayer />
    </>
  );
}
