import { createVirtualizer } from "@tanstack/solid-virtual";
import { createEffect, For, type JSX, on } from "solid-js";

interface ListProps<Row extends { readonly id: string }> {
  readonly rows: readonly Row[];
  readonly label: string;
  readonly class?: string;
  /** Row height in pixels; an estimate if rows are measured. */
  readonly height: (row: Row) => number;
  readonly measured?: boolean;
  readonly selected: number;
  readonly head?: JSX.Element;
  /** Content above the rows that scrolls with them. */
  readonly above?: JSX.Element;
  readonly aboveHeight?: number;
  readonly row: (row: () => Row, index: () => number) => JSX.Element;
  readonly onEnd?: () => void;
  /** Scrolls to the end whenever the list grows. */
  readonly follow?: boolean;
  readonly ref?: (element: HTMLDivElement) => void;
  readonly role?: "list" | "tree";
}

const OVERSCAN = 14;

/** A virtual list: only visible rows are rendered. */
export function List<Row extends { readonly id: string }>(props: ListProps<Row>) {
  let box: HTMLDivElement | undefined;
  const virtual = createVirtualizer<HTMLDivElement, HTMLDivElement>({
    get count() {
      return props.rows.length;
    },
    getScrollElement: () => box ?? null,
    estimateSize: (index) => {
      const row = props.rows[index];
      return row === undefined ? 0 : props.height(row);
    },
    getItemKey: (index) => props.rows[index]?.id ?? index,
    get scrollMargin() {
      return props.aboveHeight ?? 0;
    },
    overscan: OVERSCAN,
    initialRect: { width: innerWidth, height: innerHeight },
  });
  const items = () => virtual.getVirtualItems();

  createEffect(
    on(
      () => props.selected,
      (index) => {
        if (index >= 0) virtual.scrollToIndex(index, { align: "auto" });
      },
      { defer: false },
    ),
  );
  // Heights are computed again, because the same index may now be another row.
  createEffect(
    on(
      () => props.rows,
      () => {
        if (props.measured !== true) virtual.measure();
        if (props.follow === true && props.rows.length > 0)
          requestAnimationFrame(() => virtual.scrollToIndex(props.rows.length - 1, { align: "end" }));
      },
      { defer: true },
    ),
  );
  createEffect(() => {
    const last = items().at(-1);
    if (props.onEnd !== undefined && (last === undefined || last.index >= props.rows.length - OVERSCAN)) props.onEnd();
  });

  return (
    <div
      class={`list ${props.class ?? ""}`}
      ref={(element) => {
        box = element;
        props.ref?.(element);
      }}
      role={props.role ?? "list"}
      aria-label={props.label}
      tabindex="0"
      aria-activedescendant={props.selected >= 0 ? `row-${props.selected}` : undefined}
    >
      {props.head}
      {props.above}
      <div class="list-all" role="presentation" style={{ height: `${virtual.getTotalSize()}px` }}>
        <For each={items()}>
          {(item) => (
            <div
              class="list-row"
              role={props.role === "tree" ? "presentation" : "listitem"}
              data-index={item.index}
              ref={(element) => {
                if (props.measured === true) queueMicrotask(() => virtual.measureElement(element));
              }}
              style={{
                transform: `translateY(${item.start - (props.aboveHeight ?? 0)}px)`,
                height: props.measured === true ? undefined : `${item.size}px`,
              }}
            >
              {rowOf(props, () => item.index)}
            </div>
          )}
        </For>
      </div>
    </div>
  );
}

/** Between two updates a row may be rendered that no longer exists: it keeps its last content. */
function rowOf<Row extends { readonly id: string }>(props: ListProps<Row>, index: () => number): JSX.Element {
  const first = props.rows[index()];
  if (first === undefined) return null;
  let last = first;
  const row = () => {
    last = props.rows[index()] ?? last;
    return last;
  };
  return props.row(row, index);
}
