import { Show } from "solid-js";
import { count, duration, exact } from "../data/format.ts";
import type { Span } from "../data/span-set.ts";
import { oneLine } from "../data/text.ts";
import { totalTokens } from "../data/types.ts";
import type { Waterfall, WaterfallRow } from "../data/waterfall.ts";
import { PictureTip } from "./picture-tip.tsx";
import { StatusMark } from "./status.tsx";

/** The part of the waterfall under the pointer. */
export interface Hovered {
  readonly row: WaterfallRow;
  /** Index of the span, -1 for none. */
  readonly span: number;
  /** Time under the pointer; null on the name, outside of the time axis. */
  readonly at: number | null;
  readonly x: number;
  readonly y: number;
}

const END_LABELS = { failed: "failed", cut: "no recorded end", done: "" } as const;
const MAX_NAMES = 4;

function spanTitle({ kind, name, end }: Span): string {
  const what =
    kind === "model"
      ? `${name ?? "model"} responds`
      : kind === "tool"
        ? `${name ?? "tool"}`
        : `waits for ${name === "agents" ? "agents" : `a ${name}`}`;
  return end === null || END_LABELS[end] === "" ? what : `${what}, ${END_LABELS[end]}`;
}

/** The selected agent or span, for screen readers. */
export function spanDescription(
  { name, list, record, life }: WaterfallRow,
  index: number,
  origin: number,
  now: number,
): string {
  const span = list.spans[index];
  if (span === undefined) {
    const time =
      life === undefined
        ? "never started"
        : `started after ${duration(life.from - origin)}, ${duration(life.to - life.from)} long`;
    return `${name}, ${record.status}, ${time}, ${list.spans.length} spans`;
  }
  return `${index + 1} of ${list.spans.length}: ${spanTitle(span)}, after ${duration(span.from - origin)}, ${duration((span.to ?? now) - span.from)} long`;
}

/** The tooltip of a span, or of the agent if there is no span under the pointer. */
export function SpanTip(props: { hovered: Hovered; picture: Waterfall; now: number }) {
  const row = () => props.hovered.row;
  const span = () => row().list.spans[props.hovered.span];
  return (
    <PictureTip x={props.hovered.x} y={props.hovered.y}>
      <div class="tip-title">
        <StatusMark status={row().record.status} /> {row().name}
      </div>
      <Show
        when={span()}
        fallback={
          <p class="muted">
            {duration(lifetimeOf(row()))} · {count(totalTokens(row().record.usage.own))} tokens
            {props.hovered.at === null ? "" : ` · at ${duration(props.hovered.at - props.picture.from)}`}
          </p>
        }
      >
        {(found) => (
          <>
            <p>{oneLine(spanTitle(found()), 120)}</p>
            <p class="muted">
              {duration((found().to ?? props.now) - found().from)}
              {found().to === null ? " so far" : ""} · from {duration(found().from - props.picture.from)}
              {found().tokens > 0
                ? ` · ${exact(found().tokens)} tokens, ${exact(found().outputTokens)} of them output`
                : ""}
            </p>
            <Show when={found().agents.length > 0}>
              <p class="muted">
                {found().kind === "wait" ? "for " : "spawned "}
                {agentNames(props.picture, found().agents)}
              </p>
            </Show>
          </>
        )}
      </Show>
    </PictureTip>
  );
}

const lifetimeOf = ({ life }: WaterfallRow) => (life === undefined ? null : life.to - life.from);

function agentNames({ rows, indexOf }: Waterfall, uris: readonly string[]): string {
  const names = uris.slice(0, MAX_NAMES).map((uri) => rows[indexOf.get(uri) ?? -1]?.name ?? uri);
  const more = uris.length - MAX_NAMES;
  return names.join(", ") + (more > 0 ? ` and ${more} more` : "");
}
