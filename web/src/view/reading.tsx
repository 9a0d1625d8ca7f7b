import { Show } from "solid-js";
import { ago, bytes, duration, exact, plural } from "../data/format.ts";
import type { Reading as Far } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";

/** The server's reading progress; older threads are not shown yet. */
export function Reading(props: { far: Far }) {
  useClock();
  const far = () => props.far;
  return (
    <div class="reading" role="status" data-testid="reading">
      <progress aria-label="Reading" value={far().bytes} max={Math.max(1, far().allBytes)} />
      <span>
        Reading: {exact(far().done)} of {plural(far().all, "file")}, {bytes(far().bytes)} of {bytes(far().allBytes)}
        <Show when={far().leftMs}>{(ms) => <>, {duration(ms())} left</>}</Show>
      </span>
      <span class="muted">
        Complete for everything written since {ago(far().reaches, now())}; older threads and sums are not complete yet.
      </span>
    </div>
  );
}
