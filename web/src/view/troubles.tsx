import { For } from "solid-js";
import { ago, dateAndTime } from "../data/format.ts";
import { visible } from "../data/text.ts";
import { now, useClock } from "../state/clock.ts";
import { troubles } from "../state/server.ts";

/** Current troubles of the server, and since when. */
export function Troubles() {
  useClock();
  return (
    <ul class="troubles" role="status">
      <For each={troubles()}>
        {(trouble) => (
          <li data-code={trouble.code}>
            <span>Retinue {visible(trouble.message)}.</span>{" "}
            <span class="muted" title={dateAndTime(trouble.since)}>
              Started {ago(trouble.since, now())}.
            </span>
          </li>
        )}
      </For>
    </ul>
  );
}
