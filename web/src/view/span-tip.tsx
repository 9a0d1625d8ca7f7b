import { Show } from "solid-js";
import { count, duration, exact } from "../data/format.ts";
import type { Span } from "../data/span-set.ts";
import { oneLine } from "../data/text.ts";
import { totalTokens } from "../data/types.ts";
import type { Waterfall, WaterfallRow } from "../data/waterfall.ts";
import { StatusMark } from "./status.tsx";

/** What is under the pointer. */
export interface At {
  readonly row: WaterfallRow;
  /** -1 for none. */
  readonly span: number;
  /** Null on the name, outside of the time axis. */
  readonly at: number | null;
  readonly x: number;
  readonly y: number;
}

const ENDS = { failed: "failed", cut: "no recorded end", done: "" } as const;

function spanTitle({ kind, name, end }: Span): string {
  const what =
    kind === "model"
      ? `${name ?? "model"} responds`
      : kind === "tool"
        ? `${name ?? "tool"}`
        : `waits for ${name === "agents" ? "agents" : `a ${name}`}`;
  return end === null || ENDS[end] === "" ? what : `${what}, ${ENDS[end]}`;
}

/** Description for screen readers. */
export function spanDescription(
  { name, list, record, life }: WaterfallRow,
  index: number,
  origin: number,
  now: number,
): string {
  const span = list.spans[index];
  if (span === undefined) {
    const began =
      life === undefined
        ? "never began"
        : `began after ${duration(life.from - origin)}, ${duration(life.to - life.from)} long`;
    return `${name}, ${record.status}, ${began}, ${list.spans.length} spans`;
  }
  return `${index + 1} of ${list.spans.length}: ${spanTitle(span)}, after ${duration(span.from - origin)}, ${duration((span.to ?? now) - span.from)} long`;
}

export function SpanTip(props: { at: At; picture: Waterfall; now: number }) {
  const span = () => props.at.row.list.spans[props.at.span];
  const names = (uris: readonly string[]) =>
    uris
      .slice(0, 4)
      .map((uri) => {
        const found = props.picture.rows[props.picture.indexOf.get(uri) ?? -1];
        return found?.name ?? uri;
      })
      .join(", ") + (uris.length > 4 ? ` and ${uris.length - 4} more` : "");
  return (
    <div
      class="tip placed picture-tip"
      role="tooltip"
      ref={(box) =>
        requestAnimationFrame(() => {
          const { width, height } = box.getBoundingClientRect();
          box.style.setProperty("left", `${Math.max(8, Math.min(props.at.x + 14, innerWidth - width - 8))}px`);
          box.style.setProperty(
            "top",
            `${props.at.y + 18 + height < innerHeight ? props.at.y + 18 : Math.max(8, props.at.y - height - 12)}px`,
          );
        })
      }
    >
      <div class="tip-title">
        <StatusMark status={props.at.row.record.status} /> {props.at.row.name}
      </div>
      <Show
        when={span()}
        fallback={
          <p class="muted">
            {duration(props.at.row.life === undefined ? null : props.at.row.life.to - props.at.row.life.from)} ·{" "}
            {count(totalTokens(props.at.row.record.usage.own))} tokens
            {props.at.at === null ? "" : ` · at ${duration(props.at.at - props.picture.from)}`}
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
                {found().kind === "wait" ? "for " : "made "}
                {names(found().agents)}
              </p>
            </Show>
          </>
        )}
      </Show>
    </div>
  );
}
