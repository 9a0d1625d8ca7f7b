import { For, Show } from "solid-js";
import { bytes, plural } from "../data/format.ts";
import { askDoctor, doctor, reading } from "../state/server.ts";
import { tell } from "../state/toast.ts";

/** What a new user sees: where we looked, and how to see something at once. */
export function NothingYet() {
  void askDoctor().catch(() => {
    // Said by the page around this.
  });
  const copy = async () => {
    await navigator.clipboard.writeText("retinue demo");
    tell("Copied");
  };
  return (
    <div class="nothing first" data-testid="nothing-yet">
      <Show
        when={reading()}
        fallback={
          <>
            <p class="big">Nothing to show yet.</p>
            <p>As soon as an agent works on this machine, it appears here by itself.</p>
          </>
        }
      >
        {(far) => (
          <>
            <p class="big">Reading what is there …</p>
            <p>
              {far().done} of {plural(far().all, "file")}
            </p>
            <progress value={far().done} max={Math.max(1, far().all)} />
          </>
        )}
      </Show>
      <div class="cards">
        <section>
          <h2>See it at work</h2>
          <p>A recorded thread, replayed live into a folder of its own, with nested agents, some of which fail:</p>
          <p class="command">
            <code>retinue demo</code>
            <button type="button" onClick={() => void copy()}>
              Copy
            </button>
          </p>
        </section>
        <section>
          <h2>Where we looked</h2>
          <ul class="roots">
            <For each={doctor()?.roots ?? []}>
              {(root) => (
                <li classList={{ missing: !root.exists }}>
                  <span>{root.product}</span>
                  <code>{root.path}</code>
                  <span class="muted">{root.exists ? `${plural(root.files, "file")}, ${bytes(root.bytes)}` : "not there"}</span>
                </li>
              )}
            </For>
          </ul>
          <p class="muted">Read-only, always. Other folders can be named in the settings: {doctor()?.settings.path}</p>
        </section>
      </div>
    </div>
  );
}
