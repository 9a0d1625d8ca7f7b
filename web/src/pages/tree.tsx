import { createEffect, createMemo, createSignal, For, lazy, on, onCleanup, onMount, Show, Suspense } from "solid-js";
import { awaitsPermission } from "../data/control.ts";
import { displayName } from "../data/format.ts";
import { COLUMN_PX, layout, MODES, type Mode } from "../data/layout.ts";
import { formatSort, parseSort, type Sort, treeRows } from "../data/tree-rows.ts";
import type { AgentRecord } from "../data/types.ts";
import { copyText } from "../state/clipboard.ts";
import { useClock } from "../state/clock.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { isTeam } from "../state/server.ts";
import { useThread } from "../state/thread.ts";
import { AgentTip } from "../view/agent-tip.tsx";
import { Failure } from "../view/failure.tsx";
import { List } from "../view/list.tsx";
import { Menu, type MenuItem } from "../view/menu.tsx";
import { ThreadHead } from "../view/thread-head.tsx";
import { hideTip, isTipShown, showTip } from "../view/tip.tsx";
import { Row } from "../view/tree-row.tsx";

const Attach = lazy(() => import("../view/attach.tsx"));
const Control = lazy(() => import("../view/control.tsx"));
const Why = lazy(() => import("../view/why.tsx"));
const Relink = lazy(() => import("../view/relink.tsx"));

const ROW_PX = 34;
/** Sorted rows are reordered at most this often, so that they can be clicked. */
const RESORT_MS = 1_000;
const MODE_LABELS: Readonly<Record<Mode, string>> = { both: "Own and Σ", own: "Own", total: "Σ subtree" };

export default function Tree(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const [folded, setFolded] = createSignal<ReadonlySet<string>>(new Set());
  const [width, setWidth] = createSignal(innerWidth);
  const [menu, setMenu] = createSignal<{ uri: string; near: Element } | null>(null);
  const [relinking, setRelinking] = createSignal<AgentRecord | null>(null);
  let page: HTMLDivElement | undefined;

  const sort = createMemo(() => parseSort(route().params.sort));
  const mode = (): Mode => MODES.find((one) => one === route().params.show) ?? "both";
  const shown = createMemo(() => layout(width(), mode(), route().params.tokens === "kinds"));
  const indents = () => (width() < 720 ? 5 : width() < 1400 ? 12 : 24);

  const [resort, setResort] = createSignal(0);
  let resorting: ReturnType<typeof setTimeout> | undefined;
  createEffect(
    on(thread.pulse, () => {
      if (sort() === null || resorting !== undefined) return;
      resorting = setTimeout(() => {
        resorting = undefined;
        setResort((n) => n + 1);
      }, RESORT_MS);
    }),
  );
  onCleanup(() => clearTimeout(resorting));
  const rows = createMemo(() => {
    thread.shape();
    resort();
    const root = thread.root();
    return root === null
      ? []
      : treeRows(thread.set, root, (uri) => folded().has(uri), sort(), Date.now()).map((row) => ({
          ...row,
          id: row.uri,
        }));
  });

  // If the URL names an agent below, it is selected.
  const selectedUri = () => route().params.sel ?? (props.uri === thread.root() ? null : props.uri);
  const selected = createMemo(() => rows().findIndex((row) => row.uri === selectedUri()));
  const select = (uri: string | undefined) => {
    hideTip();
    if (uri !== undefined) setParams({ sel: uri });
  };
  const toggle = (uri: string, to?: boolean) =>
    setFolded((before) => {
      const after = new Set(before);
      if (to ?? !after.has(uri)) after.add(uri);
      else after.delete(uri);
      return after;
    });
  const why = (uri: string | null) => setParams({ why: uri });
  const attach = (uri: string | null) => setParams({ attach: uri });
  const current = () => rows()[selected()];
  const rowElement = () => document.getElementById(`row-${selected()}`);

  const nextFailure = (step: 1 | -1) => {
    const all = rows();
    for (let n = 1; n <= all.length; n += 1) {
      const row = all[(selected() + step * n + all.length * 2) % all.length];
      const agent = row === undefined ? undefined : thread.set.get(row.uri);
      if (
        agent !== undefined &&
        (agent.status === "errored" || agent.status === "shutdown" || agent.counts.toolErrors > 0)
      )
        return select(agent.uri);
    }
  };
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
      if (row.folded) toggle(row.uri, false);
      else if (row.children > 0) select(rows()[selected() + 1]?.uri);
    },
    ArrowLeft: () => {
      const row = current();
      if (row === undefined) return;
      if (row.children > 0 && !row.folded) toggle(row.uri, true);
      else select(thread.set.get(row.uri)?.parent ?? undefined);
    },
    " ": () => {
      const agent = thread.set.get(current()?.uri ?? "");
      const near = rowElement();
      if (isTipShown() || agent === undefined || near === null) hideTip();
      else showTip(near, () => <AgentTip agent={agent} />);
    },
    w: () => why(current()?.uri ?? thread.root()),
    a: () => attach(isTeam() ? null : (current()?.uri ?? thread.root())),
    p: () => setParams({ control: isTeam() ? null : (current()?.uri ?? thread.root()) }),
    m: () => {
      const near = rowElement()?.querySelector(".name");
      const row = current();
      if (near != null && row !== undefined) setMenu({ uri: row.uri, near });
    },
    e: () => nextFailure(1),
    E: () => nextFailure(-1),
    l: () => go("log", thread.root()),
  });

  const items = (uri: string): MenuItem[] => {
    const agent = thread.set.get(uri);
    if (agent === undefined) return [];
    const below = thread.set.subtree(uri).filter((one) => thread.set.childrenOf(one).length > 0);
    const fold = (to: boolean) => () =>
      setFolded((before) => new Set(to ? [...before, ...below] : [...before].filter((one) => !below.includes(one))));
    return [
      { label: "Open", key: "Enter", run: () => go("agent", uri) },
      { label: "Evidence", key: "w", run: () => why(uri) },
      ...(isTeam() ? [] : [{ label: "Continue this agent …", key: "a", run: () => attach(uri) }]),
      ...(agent.status !== "running" || isTeam()
        ? []
        : [
            {
              label: awaitsPermission(agent) ? "Answer permission request …" : "Control this agent …",
              key: "p",
              run: () => setParams({ control: uri }),
            },
          ]),
      ...(below.length === 0
        ? []
        : [
            { label: "Fold everything below", run: fold(true) },
            { label: "Unfold everything below", run: fold(false) },
          ]),
      ...(isTeam() ? [] : [{ label: "Change parent …", run: () => setRelinking(agent) }]),
      ...(agent.link?.source === "manual" && !isTeam()
        ? [
            {
              label: "Remove manual link",
              run: () => void import("../view/relink.tsx").then(({ undoLink }) => undoLink(uri, thread)),
            },
          ]
        : []),
      { label: "Copy URI", run: () => void copyText(uri) },
    ];
  };

  onMount(() => {
    if (page === undefined) return;
    const watch = new ResizeObserver(([entry]) => setWidth(Math.round(entry?.contentRect.width ?? innerWidth)));
    watch.observe(page);
    onCleanup(() => watch.disconnect());
  });
  createEffect(() => {
    thread.pulse();
    const root = thread.set.get(thread.root() ?? "");
    document.title = root === undefined ? "retinue" : `${displayName(root)} · retinue`;
  });
  const template = () =>
    `minmax(0, 1fr)${shown().status ? " 104px" : ""} ${shown()
      .columns.map(() => `${COLUMN_PX}px`)
      .join(" ")}`;
  const minWidth = () => `${(shown().status ? 340 : 190) + shown().columns.length * COLUMN_PX}px`;

  return (
    <div class="page tree" ref={page}>
      <Show
        when={!thread.error()}
        fallback={<Failure error={thread.error() as never} onRetry={() => void thread.reload()} />}
      >
        <ThreadHead thread={thread} />
        <div class="tree-tools">
          <label>
            <span class="muted">Numbers</span>
            <select
              aria-label="Numbers shown"
              onChange={(event) =>
                setParams({ show: event.currentTarget.value === "both" ? null : event.currentTarget.value })
              }
            >
              <For each={MODES}>
                {(one) => (
                  <option value={one} selected={mode() === one}>
                    {MODE_LABELS[one]}
                  </option>
                )}
              </For>
            </select>
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={route().params.tokens === "kinds"}
              onChange={(event) => setParams({ tokens: event.currentTarget.checked ? "kinds" : null })}
            />
            Tokens by kind
          </label>
          <span class="spring" />
          <button
            type="button"
            class="quiet"
            onClick={() =>
              setFolded(
                new Set(
                  [...thread.set.uris()].filter(
                    (uri) => uri !== thread.root() && thread.set.childrenOf(uri).length > 0,
                  ),
                ),
              )
            }
          >
            Fold all
          </button>
          <button type="button" class="quiet" onClick={() => setFolded(new Set<string>())}>
            Unfold all
          </button>
        </div>
        <List
          label="Agents"
          role="tree"
          class="grid"
          rows={rows()}
          height={() => ROW_PX}
          selected={selected()}
          ref={(element) =>
            createEffect(() => {
              element.style.setProperty("--columns", template());
              element.style.setProperty("--min-width", minWidth());
            })
          }
          head={<Head columns={shown().columns} status={shown().status} sort={sort()} />}
          row={(row, index) => (
            <Row
              row={row()}
              index={index()}
              thread={thread}
              columns={shown().columns}
              status={shown().status}
              selected={index() === selected()}
              indents={indents()}
              actions={{ select, toggle, why, menu: (uri, near) => setMenu({ uri, near }) }}
            />
          )}
        />
      </Show>
      <Show when={menu()}>
        {(open) => <Menu near={open().near} items={items(open().uri)} onClose={() => setMenu(null)} />}
      </Show>
      <Suspense>
        <Show when={route().params.why} keyed>
          {(uri) => <Why uri={uri} onClose={() => why(null)} />}
        </Show>
        <Show when={route().params.attach} keyed>
          {(uri) => <Attach uri={uri} onClose={() => attach(null)} />}
        </Show>
        <Show when={route().params.control} keyed>
          {(uri) => <Control uri={uri} onClose={() => setParams({ control: null })} />}
        </Show>
        <Show when={relinking()}>
          {(agent) => <Relink agent={agent()} thread={thread} onClose={() => setRelinking(null)} />}
        </Show>
      </Suspense>
    </div>
  );
}

/** Sorts by a column: descending, then ascending, then by start time. */
function Head(props: { columns: ReturnType<typeof layout>["columns"]; status: boolean; sort: Sort | null }) {
  const key = () => (props.sort === null ? null : `${props.sort.total ? "Σ" : ""}${props.sort.by}`);
  const press = (id: string, first: boolean) => () => {
    const [by, total] = [id.replace("Σ", ""), id.startsWith("Σ")];
    const again = key() === id;
    if (again && props.sort?.descending !== first) setParams({ sort: null });
    else setParams({ sort: formatSort({ by, total, descending: again ? !first : first }) });
  };
  const direction = (id: string) =>
    key() !== id ? undefined : props.sort?.descending === true ? "descending" : "ascending";
  const arrow = (id: string) => (direction(id) === undefined ? "" : direction(id) === "descending" ? " ↓" : " ↑");
  return (
    <div class="row head" role="presentation">
      <button type="button" class="cell" onClick={press("name", false)} aria-pressed={key() === "name"}>
        Agent{arrow("name")}
      </button>
      <Show when={props.status}>
        <button type="button" class="cell" onClick={press("status", false)} aria-pressed={key() === "status"}>
          Status{arrow("status")}
        </button>
      </Show>
      <For each={props.columns}>
        {(shown) => (
          <button
            type="button"
            class="cell number"
            classList={{ total: shown.total }}
            data-sort={shown.key}
            title={`${shown.column.text}${shown.total ? "; subtree" : "; own"}`}
            aria-pressed={key() === shown.key}
            onClick={press(shown.key, true)}
          >
            {shown.total ? "Σ " : ""}
            {shown.column.label}
            {arrow(shown.key)}
          </button>
        )}
      </For>
    </div>
  );
}
