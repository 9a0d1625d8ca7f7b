import { For, type JSX, Show } from "solid-js";

/** A heading of a column; that of numbers is an object. */
type Column = string | { readonly number: JSX.Element };

/** A part of a page with a heading and a table, which scrolls by itself if it is too wide. */
export function TableSection(props: {
  title: string;
  /** A sentence below the heading. */
  note?: string;
  /** The class of the table. */
  class?: string;
  columns: readonly Column[];
  /** The rows. */
  children: JSX.Element;
}) {
  return (
    <section>
      <h2>{props.title}</h2>
      <Show when={props.note}>{(note) => <p class="muted">{note()}</p>}</Show>
      <div class="scroll-x">
        <table class={props.class}>
          <thead>
            <tr>
              <For each={props.columns}>
                {(column) => (typeof column === "string" ? <th>{column}</th> : <th class="number">{column.number}</th>)}
              </For>
            </tr>
          </thead>
          <tbody>{props.children}</tbody>
        </table>
      </div>
    </section>
  );
}
