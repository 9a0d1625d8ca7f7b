import { type Accessor, createMemo, createSignal } from "solid-js";
import type { LoadedEvent } from "../data/events.ts";
import { indexOfRow, isBad, isRowOpen, type LogRow, logRows, spawnCallOf, toggled } from "../data/log.ts";
import { nextMatch } from "../data/next-match.ts";
import type { AgentRecord } from "../data/types.ts";
import { type Keys, listKeys } from "./keys.ts";
import { route, setParams } from "./navigation.ts";

export interface Log {
  readonly rows: Accessor<readonly LogRow[]>;
  /** Index of the selected row, -1 for none. */
  readonly selected: Accessor<number>;
  isOpen(row: LogRow): boolean;
  toggle(row: LogRow | undefined): void;
  /** Key bindings for the list of rows. */
  readonly keys: Keys;
}

/** The rows of a log, and which of them are open and selected. */
export function createLog(source: {
  events: Accessor<readonly LoadedEvent[]>;
  agentOf: (uri: string) => AgentRecord | undefined;
  isShown: (uri: string) => boolean;
  isRoot: (uri: string) => boolean;
  /** Id of the event that is selected at first. */
  selectedId?: string | null;
  onSelect?: (row: LogRow) => void;
}): Log {
  const [opened, setOpened] = createSignal<ReadonlySet<string>>(new Set());
  const [selectedId, setSelectedId] = createSignal(source.selectedId ?? null);
  const rows = createMemo(() =>
    logRows(
      source.events(),
      source.isShown,
      source.isRoot,
      (id) => opened().has(id),
      (uri) => spawnCallOf(source.agentOf(uri)),
    ),
  );
  const selected = createMemo(() => indexOfRow(rows(), selectedId()));
  const toggle = (row: LogRow | undefined) => {
    if (row !== undefined) setOpened((before) => toggled(before, row));
  };
  const select = (index: number | null) => {
    const row = index === null ? undefined : rows()[index];
    if (row === undefined) return;
    setSelectedId(row.id);
    source.onSelect?.(row);
  };
  const nextError = (direction: 1 | -1) => () => select(nextMatch(rows(), selected(), direction, isBad));
  return {
    rows,
    selected,
    isOpen: (row) => isRowOpen(row, opened()),
    toggle,
    keys: {
      ...listKeys({ count: () => rows().length, selected, select, open: (index) => toggle(rows()[index]) }),
      f: () => setParams({ follow: isFollowing() ? null : "1" }),
      e: nextError(1),
      E: nextError(-1),
    },
  };
}

/** Whether the end of the list stays in view while it grows. */
export const isFollowing = () => route().params.follow === "1";

/** The agents that are hidden in a log, by id, because two agents may have the same name. Kept in the URL. */
export function useHiddenAgents() {
  const hidden = createMemo(() => new Set((route().params.hide ?? "").split(",").filter((id) => id !== "")));
  const hide = (ids: Iterable<string>) => setParams({ hide: [...ids].join(",") || null });
  const toggle = (id: string) => hide(hidden().has(id) ? [...hidden()].filter((one) => one !== id) : [...hidden(), id]);
  return { hidden, hide, toggle };
}
