import { createEffect, createMemo, createSignal, lazy, on, onCleanup, onMount, Show, Suspense } from "solid-js";
import { displayName } from "../data/format.ts";
import { COLUMN_PX, layout, MODES, type Mode } from "../data/layout.ts";
import { nextMatch } from "../data/next-match.ts";
import { parseSort, type TreeRow, treeRows } from "../data/tree-rows.ts";
import type { AgentRecord } from "../data/types.ts";
import { useClock } from "../state/clock.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { isTeam } from "../state/server.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { AgentDialogs } from "../view/agent-dialogs.tsx";
import { AgentTip } from "../view/agent-tip.tsx";
import { List } from "../view/list.tsx";
import { Menu } from "../view/menu.tsx";
import { ThreadContent } from "../view/thread-content.tsx";
import { ThreadHead } from "../view/thread-head.tsx";
import { hideTip, isTipShown, showTip } from "../view/tip.tsx";
import { TreeHead, TreeTools } from "../view/tree-head.tsx";
import { menuItems } from "../view/tree-menu.tsx";
import { Row } from "../view/tree-row.tsx";

const Relink = lazy(() => import("../view/relink.tsx"));

const ROW_PX = 34;
/** Minimum interval between two sorts, so that rows do not move while they are clicked. */
const RESORT_MS = 1_000;

/** The agents of a thread as a table, indented by their depth. */
export default function TreePage(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const [width, setWidth] = createSignal(innerWidth);
  const [menu, setMenu] = createSignal<{ uri: string; near: Element } | null>(null);
  const [relinking, setRelinking] = createSignal<AgentRecord | null>(null);
  const folding = createFolding();
  let page: HTMLDivElement | undefined;

  const sort = createMemo(() => parseSort(route().params.sort));
  const mode = (): Mode => MODES.find((one) => one === route().params.show) ?? "both";
  const shown = createMemo(() => layout(width(), mode(), route().params.tokens === "kinds"));
  const indents = () => (width() < 720 ? 5 : width() < 1400 ? 12 : 24);
  const resorts = useResorts(thread, () => sort() !== null);
  const rows = createMemo(() => {
    thread.shape();
    resorts();
    const root = thread.root();
    if (root === null) return [];
    return treeRows(thread.set, root, folding.isFolded, sort(), Date.now()).map((row) => ({ ...row, id: row.uri }));
  });

  /** The selected agent; without one, the agent in the URL unless it is the root. */
  const selectedUri = () => route().params.sel ?? (props.uri === thread.root() ? null : props.uri);
  const selected = createMemo(() => rows().findIndex((row) => row.uri === selectedUri()));
  const select = (uri: string | undefined) => {
    hideTip();
    if (uri !== undefined) setParams({ sel: uri });
  };
  useTreeKeys({ thread, rows, selected, select, folding, openMenu: (uri, near) => setMenu({ uri, near }) });

  onMount(() => {
    if (page === undefined) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? innerWidth)));
    observer.observe(page);
    onCleanup(() => observer.disconnect());
  });
  createEffect(() => {
    thread.pulse();
    const root = thread.set.get(thread.root() ?? "");
    document.title = root === undefined ? "retinue" : `${displayName(root)} · retinue`;
  });
  const itemsOf = (agent: AgentRecord) =>
    menuItems(agent, thread, { fold: folding.fold, relink: () => setRelinking(agent) });
  const parentsBelowRoot = () =>
    [...thread.set.uris()].filter((uri) => uri !== thread.root() && thread.set.childrenOf(uri).length > 0);

  return (
    <div class="page tree" ref={page}>
      <ThreadContent thread={thread}>
        <ThreadHead thread={thread} />
        <TreeTools
          mode={mode()}
          onFoldAll={() => folding.set(parentsBelowRoot())}
          onUnfoldAll={() => folding.set([])}
        />
        <List
          label="Agents"
          role="tree"
          class="grid"
          rows={rows()}
          height={() => ROW_PX}
          selected={selected()}
          ref={(element) => createEffect(() => setColumns(element, shown()))}
          head={<TreeHead columns={shown().columns} status={shown().status} sort={sort()} />}
          row={(row, index) => (
            <Row
              row={row()}
              index={index()}
              thread={thread}
              columns={shown().columns}
              status={shown().status}
              selected={index() === selected()}
              indents={indents()}
              actions={{
                select,
                toggle: folding.toggle,
                why: (uri) => setParams({ why: uri }),
                menu: (uri, near) => setMenu({ uri, near }),
              }}
            />
          )}
        />
      </ThreadContent>
      <Show when={menu()}>
        {(open) => (
          <Show when={thread.set.get(open().uri)}>
            {(agent) => <Menu near={open().near} items={itemsOf(agent())} onClose={() => setMenu(null)} />}
          </Show>
        )}
      </Show>
      <AgentDialogs />
      <Suspense>
        <Show when={relinking()}>
          {(agent) => <Relink agent={agent()} thread={thread} onClose={() => setRelinking(null)} />}
        </Show>
      </Suspense>
    </div>
  );
}

/** Moves the selection, folds and unfolds, and opens what belongs to the selected agent. */
function useTreeKeys(state: {
  readonly thread: Thread;
  readonly rows: () => readonly TreeRow[];
  readonly selected: () => number;
  readonly select: (uri: string | undefined) => void;
  readonly folding: ReturnType<typeof createFolding>;
  readonly openMenu: (uri: string, near: Element) => void;
}): void {
  const { thread, rows, selected, select, folding } = state;
  const current = () => rows()[selected()];
  const rowElement = () => document.getElementById(`row-${selected()}`);
  const nextFailure = (direction: 1 | -1) => () => {
    const index = nextMatch(rows(), selected(), direction, ({ uri }) => hasFailed(thread.set.get(uri)));
    if (index !== null) select(rows()[index]?.uri);
  };
  /** The agent that a dialog is about. */
  const target = () => current()?.uri ?? thread.root();
  useKeys({
    ...listKeys({
      count: () => rows().length,
      selected,
      select: (index) => select(rows()[index]?.uri),
      open: (index) => go("agent", rows()[index]?.uri ?? null),
    }),
    ArrowRight: () => {
      const row = current();
      if (row === undefined) return select(rows()[0]?.uri);
      if (row.folded) folding.fold([row.uri], false);
      else if (row.children > 0) select(rows()[selected() + 1]?.uri);
    },
    ArrowLeft: () => {
      const row = current();
      if (row === undefined) return;
      if (row.children > 0 && !row.folded) folding.fold([row.uri], true);
      else select(thread.set.get(row.uri)?.parent ?? undefined);
    },
    " ": () => {
      const agent = thread.set.get(current()?.uri ?? "");
      const near = rowElement();
      if (isTipShown() || agent === undefined || near === null) hideTip();
      else showTip(near, () => <AgentTip agent={agent} />);
    },
    w: () => setParams({ why: target() }),
    a: () => setParams({ attach: isTeam ? null : target() }),
    p: () => setParams({ control: isTeam ? null : target() }),
    m: () => {
      const near = rowElement()?.querySelector(".name");
      const row = current();
      if (near != null && row !== undefined) state.openMenu(row.uri, near);
    },
    e: nextFailure(1),
    E: nextFailure(-1),
    l: () => go("log", thread.root()),
  });
}

const hasFailed = (agent: AgentRecord | undefined) =>
  agent !== undefined && (agent.status === "errored" || agent.status === "shutdown" || agent.counts.toolErrors > 0);

/** The folded agents of a tree. */
function createFolding() {
  const [folded, setFolded] = createSignal<ReadonlySet<string>>(new Set());
  const fold = (uris: readonly string[], isFolded: boolean) =>
    setFolded((before) => new Set(isFolded ? [...before, ...uris] : [...before].filter((uri) => !uris.includes(uri))));
  return {
    isFolded: (uri: string) => folded().has(uri),
    fold,
    toggle: (uri: string) => fold([uri], !folded().has(uri)),
    set: (uris: readonly string[]) => setFolded(new Set(uris)),
  };
}

/** Changes when the rows have to be sorted again because records have changed. */
function useResorts(thread: Thread, isSorted: () => boolean): () => number {
  const [resorts, setResorts] = createSignal(0);
  let timer: ReturnType<typeof setTimeout> | undefined;
  createEffect(
    on(thread.pulse, () => {
      if (!isSorted() || timer !== undefined) return;
      timer = setTimeout(() => {
        timer = undefined;
        setResorts((n) => n + 1);
      }, RESORT_MS);
    }),
  );
  onCleanup(() => clearTimeout(timer));
  return resorts;
}

/** Sets the widths of the columns; by script, because the content security policy forbids inline styles. */
function setColumns(element: HTMLElement, { columns, status }: ReturnType<typeof layout>): void {
  const numbers = columns.map(() => `${COLUMN_PX}px`).join(" ");
  element.style.setProperty("--columns", `minmax(0, 1fr)${status ? " 104px" : ""} ${numbers}`);
  element.style.setProperty("--min-width", `${(status ? 340 : 190) + columns.length * COLUMN_PX}px`);
}
