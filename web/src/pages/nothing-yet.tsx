import { createSignal, For, Show } from "solid-js";
import { bytes, plural } from "../data/format.ts";
import { api, askDoctor, doctor, reading } from "../state/server.ts";
import { tell } from "../state/toast.ts";

/** What a new user sees: where we looked, and how to see something at once. */
export function NothingYet() {
  void askDoctor().catch(() => {
    // Said by the page around this.
  });
  const [starting, setStarting] = createSignal(false);
  const start = async () => {
    setStarting(true);
    try {
      location.assign(await api.demo());
    } catch (error) {
      setStarting(false);
      tell((error as Error).message, { isError: true });
    }
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
          <p>A recorded thread, replayed live into a folder of its own, with nested agents, some of which fail.</p>
          <p>
            <button type="button" class="primary" disabled={starting()} onClick={() => void start()}>
              {starting() ? "Starting…" : "Start the demo"}
            </button>
          </p>
          <p class="muted">
            In a terminal: <code>retinue demo</code>
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
