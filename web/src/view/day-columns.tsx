import { createMemo, For, Show } from "solid-js";
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

/** One column for each day, with a link to its threads. */
export function DayColumns(props: { columns: readonly DayColumnShown[] }) {
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
