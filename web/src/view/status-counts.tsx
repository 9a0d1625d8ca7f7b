import { For } from "solid-js";
import { exact } from "../data/format.ts";
import { STATUSES, type Status } from "../data/types.ts";
import { StatusMark } from "./status.tsx";

/** Numbers of agents by status, without zeros. */
export function StatusCounts(props: { counts: Readonly<Partial<Record<Status, number>>>; showLabels?: boolean }) {
  return (
    <span class="counts">
      <For each={STATUSES.filter((status) => (props.counts[status] ?? 0) > 0)}>
        {(status) => (
          <span class="count" title={`${props.counts[status]} ${status}`}>
            <StatusMark status={status} />
            {exact(props.counts[status] ?? 0)}
            <span class={props.showLabels === true ? "label" : "sr"}> {status}</span>
          </span>
        )}
      </For>
    </span>
  );
}
