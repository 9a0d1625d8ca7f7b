import { createEffect, Show } from "solid-js";
import type { Connection } from "../data/live.ts";
import type { Page } from "../data/route.ts";
import { useKeys } from "../state/keys.ts";
import { go, hrefTo, route } from "../state/navigation.ts";
import { connection, isTeam } from "../state/server.ts";
import { setTheme, THEMES, type Theme, theme } from "../state/theme.ts";

/** The header of every page: navigation, search, state of the live stream, colours and help. */
export function TopBar(props: { onHelp: () => void }) {
  return (
    <header class="bar">
      <a class="brand" href={hrefTo({ page: "threads" })} aria-label="retinue, all threads">
        <img src="./icon.svg" alt="" width="22" height="22" />
        <span>retinue</span>
      </a>
      <nav aria-label="Pages">
        <PageLink page="threads" label="Threads" />
        <Show when={!isTeam}>
          <PageLink page="board" label="Board" also="card" />
        </Show>
        <PageLink page="stats" label="Stats" />
        <Show when={!isTeam}>
          <PageLink page="health" label="Health" />
        </Show>
      </nav>
      <SearchForm />
      <ConnectionState />
      <ThemeButton />
      <button
        type="button"
        class="quiet"
        aria-label="Keyboard shortcuts"
        title="Keyboard shortcuts (?)"
        onClick={() => props.onHelp()}
      >
        ?
      </button>
    </header>
  );
}

function PageLink(props: { page: Page; label: string; also?: Page }) {
  const isCurrent = () => route().page === props.page || route().page === props.also;
  return (
    <a href={hrefTo({ page: props.page })} aria-current={isCurrent() ? "page" : undefined}>
      {props.label}
    </a>
  );
}

function SearchForm() {
  let field: HTMLInputElement | undefined;
  useKeys({ "/": () => field?.select() });
  createEffect(() => {
    const { page, params } = route();
    if (field !== undefined && document.activeElement !== field)
      field.value = page === "threads" ? (params.q ?? "") : "";
  });
  return (
    <search>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          field?.blur();
          go("threads", null, { q: field?.value.trim() ?? "" });
        }}
      >
        <input
          ref={field}
          type="search"
          placeholder="Search messages"
          aria-label="Search messages"
          autocomplete="off"
          spellcheck={false}
        />
        <kbd>/</kbd>
      </form>
    </search>
  );
}

const CONNECTION_LABELS: Readonly<Record<Connection, readonly [label: string, title: string]>> = {
  idle: ["", "This page is not updated live"],
  connecting: ["…", "Connecting"],
  open: ["live", "Live"],
  waiting: ["offline", "Not connected; reconnecting"],
};

function ConnectionState() {
  const text = () => CONNECTION_LABELS[connection()];
  return (
    <span class={`connection ${connection()}`} role="status" title={text()[1]}>
      <span class="dot" />
      <span class="label">{text()[0]}</span>
    </span>
  );
}

const THEME_ICONS: Readonly<Record<Theme, string>> = { auto: "◐", light: "☀", dark: "☾" };

function ThemeButton() {
  return (
    <button
      type="button"
      class="quiet"
      aria-label={`Colours: ${theme()}`}
      title={`Colours: ${theme()}`}
      onClick={() => setTheme(THEMES[(THEMES.indexOf(theme()) + 1) % THEMES.length] ?? "auto")}
    >
      {THEME_ICONS[theme()]}
    </button>
  );
}
