import { For, Show } from "solid-js";
import { STATUS_MARKS } from "../data/format.ts";
import { EDGE_KINDS, type EdgeKind } from "../data/graph.ts";
import type { AgentRecord, Status } from "../data/types.ts";
import { TypeLegend } from "./type-legend.tsx";

/** What the colour of a box shows. */
export type Tint = "status" | "type";

/** Variables of the style sheet. */
export const STATUS_COLORS = {
  pendingInit: "running",
  running: "running",
  completed: "completed",
  errored: "errored",
  shutdown: "shutdown",
  notFound: "idle",
} as const satisfies Readonly<Record<Status, string>>;

const EDGE_LABELS: Readonly<Record<EdgeKind, string>> = {
  spawned: "spawned",
  forked: "forked",
  revived: "revived by a message",
  external: "external",
};

export function GraphLegend(props: { records: readonly AgentRecord[]; tint: Tint; messages: number }) {
  const statuses = () =>
    (Object.keys(STATUS_COLORS) as Status[]).filter((status) =>
      props.records.some((record) => record.status === status),
    );
  return (
    <>
      <Show when={props.tint === "status"} fallback={<TypeLegend records={props.records} />}>
        <ul class="legend" aria-label="Colours">
          <For each={statuses()}>
            {(status) => (
              <li ref={(element) => element.style.setProperty("--swatch", `var(--${STATUS_COLORS[status]})`)}>
                {STATUS_MARKS[status]} {status}
              </li>
            )}
          </For>
        </ul>
      </Show>
      <ul class="legend edges" aria-label="Lines">
        <For each={EDGE_KINDS}>{(kind) => <li data-edge={kind}>{EDGE_LABELS[kind]}</li>}</For>
        <Show when={props.messages > 0}>
          <li data-edge="message">message</li>
        </Show>
      </ul>
    </>
  );
}
