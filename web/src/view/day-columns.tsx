import { createMemo, For, Show } from "solid-js";
import { plural } from "../data/format.ts";
import { sized } from "./sized.ts";

const MAX_DAY_PX = 90;

export interface DayColumnShown {
  readonly day: string;
  /** Null for a day without usage. */
  readonly bar: {
    /** Height relative to the highest column. */
    readonly part: number;
    /** Height of the failed part, relative to the highest column. */
    readonly failed: number;
    readonly href: string;
    readonly label: string;
    readonly title: string;
  } | null;
}

interface OtherDay {
  readonly day: string | null;
  readonly href: string;
  readonly label: string;
}
/** Other days that are named; of many, the rest is a number. */
const NAMED = 4;

/** One column for each day, with a link to its threads; below them the days that are not in the chart. */
export function DayColumns(props: { columns: readonly DayColumnShown[]; outside: readonly OtherDay[] }) {
  return (
    <>
      <Show when={props.columns.length > 0}>
        <Columns columns={props.columns} />
      </Show>
      <Show when={props.outside.length > 0}>
        <p class="days-outside muted" data-testid="days-outside">
          Outside this range:{" "}
          <For each={props.outside.slice(-NAMED)}>
            {({ day, href, label }, i) => (
              <>
                {i() > 0 ? ", " : ""}
                <a href={href} title={label}>
                  {day ?? "unknown day"}
                </a>
              </>
            )}
          </For>
          {props.outside.length > NAMED ? ` and ${plural(props.outside.length - NAMED, "more day", "more days")}` : ""}
        </p>
      </Show>
    </>
  );
}

function Columns(props: { columns: readonly DayColumnShown[] }) {
  return (
    <div
      class="days-box"
      ref={(element) =>
        createMemo(() => element.style.setProperty("max-width", `${props.columns.length * MAX_DAY_PX}px`))
      }
    >
      <div class="days" role="list">
        <For each={props.columns}>
          {({ day, bar }) => (
            <div class="day" role="listitem">
              <Show when={bar} fallback={<span class="sr">{day}: no usage</span>}>
                {(found) => (
                  <a href={found().href} data-key={day} aria-label={found().label} title={found().title}>
                    <span class="day-fill" ref={(element) => sized(element, "height", () => found().part)}>
                      <span
                        class="bar-failed"
                        ref={(element) =>
                          sized(element, "height", () => (found().part === 0 ? 0 : found().failed / found().part))
                        }
                      />
                    </span>
                  </a>
                )}
              </Show>
            </div>
          )}
        </For>
      </div>
      <p class="days-axis muted">
        <span>{props.columns[0]?.day}</span>
        <span>{props.columns.length > 1 ? props.columns.at(-1)?.day : ""}</span>
      </p>
    </div>
  );
}
