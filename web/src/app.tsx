import { createEffect, createSignal, lazy, Match, Show, Suspense, Switch } from "solid-js";
import Threads from "./pages/threads.tsx";
import { TokenEntry } from "./pages/token.tsx";
import { useKeys } from "./state/keys.ts";
import { go, route } from "./state/navigation.ts";
import { isNotifying } from "./state/notify.ts";
import { connection, isTeam, needsToken, reading, troubles } from "./state/server.ts";
import { setTheme, THEMES, theme } from "./state/theme.ts";
import { hideToast, toast } from "./state/toast.ts";
import { Reading } from "./view/reading.tsx";
import { TipLayer } from "./view/tip.tsx";
import { Troubles } from "./view/troubles.tsx";

const Tree = lazy(() => import("./pages/tree.tsx"));
const Agent = lazy(() => import("./pages/agent.tsx"));
const Log = lazy(() => import("./pages/log.tsx"));
const Explain = lazy(() => import("./pages/explain.tsx"));
const Files = lazy(() => import("./pages/files.tsx"));
const Board = lazy(() => import("./pages/board.tsx"));
const Card = lazy(() => import("./pages/card.tsx"));
const Requests = lazy(() => import("./pages/requests.tsx"));
const Waterfall = lazy(() => import("./pages/waterfall.tsx"));
const Graph = lazy(() => import("./pages/graph.tsx"));
const Stats = lazy(() => import("./pages/stats.tsx"));
const Compare = lazy(() => import("./pages/compare.tsx"));
const Health = lazy(() => import("./pages/health.tsx"));
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
    B: () => go("board"),
    S: () => go("stats"),
    H: () => go("health"),
  });
  createEffect(() => {
    if (search !== undefined && document.activeElement !== search)
      search.value = route().page === "threads" ? (route().params.q ?? "") : "";
  });
  const uri = () => route().uri ?? "";
  return (
    <>
      <header class="bar">
        <a class="brand" href="#/" aria-label="retinue, all threads">
          <img src="./icon.svg" alt="" width="22" height="22" />
          <span>retinue</span>
        </a>
        <nav aria-label="Pages">
          <a href="#/" aria-current={route().page === "threads" ? "page" : undefined}>
            Threads
          </a>
          <Show when={!isTeam()}>
            <a href="#/board" aria-current={route().page === "board" || route().page === "card" ? "page" : undefined}>
              Board
            </a>
          </Show>
          <a href="#/stats" aria-current={route().page === "stats" ? "page" : undefined}>
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
      <Show when={troubles().length > 0}>
        <Troubles />
      </Show>
      <Show when={reading()}>{(far) => <Reading far={far()} />}</Show>
      <main>
        <Suspense>
          <Switch>
            <Match when={isTeam() && needsToken()}>
              <TokenEntry />
            </Match>
            <Match when={route().page === "threads"}>
              <Threads />
            </Match>
            <Match when={route().page === "tree"}>
              <Tree uri={uri()} />
            </Match>
            <Match when={route().page === "agent"}>
              <Agent uri={uri()} />
            </Match>
            <Match when={route().page === "log"}>
              <Log uri={uri()} />
            </Match>
            <Match when={route().page === "explain"}>
              <Explain uri={uri()} />
            </Match>
            <Match when={route().page === "files"}>
              <Files uri={uri()} />
            </Match>
            <Match when={route().page === "board"}>
              <Board />
            </Match>
            <Match when={route().page === "card"}>
              <Card id={uri()} />
            </Match>
            <Match when={route().page === "requests"}>
              <Requests uri={uri()} />
            </Match>
            <Match when={route().page === "waterfall"}>
              <Waterfall uri={uri()} />
            </Match>
            <Match when={route().page === "graph"}>
              <Graph uri={uri()} />
            </Match>
            <Match when={route().page === "stats"}>
              <Stats />
            </Match>
            <Match when={route().page === "compare"}>
              <Compare />
            </Match>
            <Match when={route().page === "health"}>
              <Health />
            </Match>
          </Switch>
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
