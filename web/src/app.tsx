import { type Component, createSignal, lazy, Show, Suspense } from "solid-js";
import { Dynamic } from "solid-js/web";
import { hasPage, type Page } from "./data/route.ts";
import Threads from "./pages/threads.tsx";
import { useKeys } from "./state/keys.ts";
import { go, route } from "./state/navigation.ts";
import { isNotifying } from "./state/notify.ts";
import { isTeam, needsToken, reading, session, troubles } from "./state/server.ts";
import { hideToast } from "./state/toast.ts";
import { Reading } from "./view/reading.tsx";
import { TipLayer } from "./view/tip.tsx";
import { ToastView } from "./view/toast.tsx";
import { TopBar } from "./view/top-bar.tsx";
import { Troubles } from "./view/troubles.tsx";

/** Pages other than the list of threads are loaded on first use. */
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
const SignIn = lazy(() => import("./pages/sign-in.tsx"));
const TeamBar = lazy(() => import("./view/team-bar.tsx"));
const Notices = lazy(() => import("./view/notices.tsx"));
const Help = lazy(() => import("./view/help.tsx"));

export function App() {
  return (
    <Show
      when={!(isTeam && needsToken())}
      fallback={
        <Suspense>
          <SignIn />
        </Suspense>
      }
    >
      <Dashboard />
    </Show>
  );
}

function Dashboard() {
  const [help, setHelp] = createSignal(false);
  useKeys({
    "?": () => setHelp(true),
    Escape: () => {
      if (document.activeElement instanceof HTMLElement && document.activeElement !== document.body)
        document.activeElement.blur();
      hideToast();
    },
    T: () => go("threads"),
    B: () => isTeam || go("board"),
    S: () => go("stats"),
    H: () => isTeam || go("health"),
  });
  return (
    <>
      <TopBar onHelp={() => setHelp(true)} />
      <Show when={session()}>{(current) => <TeamBar session={current()} />}</Show>
      <Show when={troubles().length > 0}>
        <Troubles />
      </Show>
      <Show when={reading()}>{(progress) => <Reading progress={progress()} />}</Show>
      <main>
        <Suspense>
          <Show when={hasPage(isTeam, route().page)} fallback={<NoPage />}>
            <Dynamic component={PAGES[route().page]} uri={route().uri ?? ""} />
          </Show>
        </Suspense>
      </main>
      <Show when={help()}>
        <Help onClose={() => setHelp(false)} />
      </Show>
      <ToastView />
      <Show when={isNotifying()}>
        <Notices />
      </Show>
      <TipLayer />
    </>
  );
}

function NoPage() {
  return (
    <div class="nothing" role="alert">
      <p class="big">{isTeam ? "A team server does not have this page." : "Only a team server has this page."}</p>
      <a href="#/">All threads</a>
    </div>
  );
}
