import { For, Show } from "solid-js";
import { MODES, type Mode, type ShownColumn } from "../data/layout.ts";
import { formatSort, type Sort } from "../data/tree-rows.ts";
import { setParams } from "../state/navigation.ts";
import { ParamCheck } from "./param-check.tsx";

const MODE_LABELS: Readonly<Record<Mode, string>> = { both: "Own and Σ", own: "Own", total: "Σ subtree" };

/** The controls above the tree: which numbers are shown, fold and unfold. */
export function TreeTools(props: { mode: Mode; onFoldAll: () => void; onUnfoldAll: () => void }) {
  return (
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
            {(mode) => (
              <option value={mode} selected={mode === props.mode}>
                {MODE_LABELS[mode]}
              </option>
            )}
          </For>
        </select>
      </label>
      <ParamCheck name="tokens" value="kinds">
        Tokens by kind
      </ParamCheck>
      <span class="spring" />
      <button type="button" class="quiet" onClick={() => props.onFoldAll()}>
        Fold all
      </button>
      <button type="button" class="quiet" onClick={() => props.onUnfoldAll()}>
        Unfold all
      </button>
    </div>
  );
}

/**
 * The header row. A click on a column sorts by it, numbers in descending order first; the second click reverses the
 * order, the third one restores the order by start time.
 */
export function TreeHead(props: { columns: readonly ShownColumn[]; status: boolean; sort: Sort | null }) {
  return (
    <div class="row head" role="presentation">
      <HeadCell id="name" label="Agent" sort={props.sort} />
      <Show when={props.status}>
        <HeadCell id="status" label="Status" sort={props.sort} />
      </Show>
      <For each={props.columns}>
        {(shown) => (
          <HeadCell
            id={shown.key}
            label={`${shown.total ? "Σ " : ""}${shown.column.label}`}
            sort={props.sort}
            number={{
              isTotal: shown.total,
              title: `${shown.column.text}${shown.total ? "; subtree" : "; own"}`,
            }}
          />
        )}
      </For>
    </div>
  );
}

function HeadCell(props: {
  id: string;
  label: string;
  sort: Sort | null;
  number?: { readonly isTotal: boolean; readonly title: string };
}) {
  const isSorted = () => props.sort !== null && `${props.sort.total ? "Σ" : ""}${props.sort.by}` === props.id;
  const press = () => {
    const first = props.number !== undefined;
    if (isSorted() && props.sort?.descending !== first) return setParams({ sort: null });
    const [by, total] = [props.id.replace("Σ", ""), props.id.startsWith("Σ")];
    setParams({ sort: formatSort({ by, total, descending: isSorted() ? !first : first }) });
  };
  return (
    <button
      type="button"
      class="cell"
      classList={{ number: props.number !== undefined, total: props.number?.isTotal === true }}
      data-sort={props.number === undefined ? undefined : props.id}
      title={props.number?.title}
      aria-pressed={isSorted()}
      onClick={press}
    >
      {props.label}
      {isSorted() ? (props.sort?.descending === true ? " ↓" : " ↑") : ""}
    </button>
  );
}
