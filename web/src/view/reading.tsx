import { Show } from "solid-js";
import { bytes, dateAndTime, duration, exact, plural } from "../data/format.ts";
import type { Reading as Progress } from "../data/types.ts";

/** Progress of the server's initial reading. Files are read newest first, so older threads are missing until it ends. */
export function Reading(props: { progress: Progress }) {
  const read = () => props.progress;
  return (
    <div class="reading" role="status" data-testid="reading">
      <progress aria-label="Reading" value={read().bytes} max={Math.max(1, read().allBytes)} />
      <span>
        Reading: {exact(read().done)} of {plural(read().all, "file")}, {bytes(read().bytes)} of {bytes(read().allBytes)}
        <Show when={read().leftMs}>{(ms) => <>, {duration(ms())} left</>}</Show>
      </span>
      <span class="muted">
        Files changed after {dateAndTime(read().reaches)} have been read. Older threads and totals are incomplete until
        the rest is read.
      </span>
    </div>
  );
}
