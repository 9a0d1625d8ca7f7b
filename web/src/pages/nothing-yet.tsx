import { createSignal, For, Show } from "solid-js";
import { bytes, plural } from "../data/format.ts";
import { api, doctor, loadDoctor, reading } from "../state/server.ts";
import { showToast } from "../state/toast.ts";

/** The empty state: the folders that were searched, and how to start the demo. */
export function NothingYet() {
  void loadDoctor().catch(() => {
    // The list of threads reports an unreachable server.
  });
  const [starting, setStarting] = createSignal(false);
  const start = async () => {
    setStarting(true);
    try {
      location.assign(await api.demo());
    } catch (error) {
      setStarting(false);
      showToast((error as Error).message, { isError: true });
    }
  };
  return (
    <div class="nothing first" data-testid="nothing-yet">
      <Show
        when={reading()}
        fallback={
          <>
            <p class="big">Nothing to show yet.</p>
            <p>Threads appear here as soon as an agent runs on this machine.</p>
          </>
        }
      >
        <p class="big">Reading records …</p>
      </Show>
      <div class="cards">
        <section>
          <h2>See an example</h2>
          <p>A recorded thread with nested agents, some of which fail, is replayed live in a temporary folder.</p>
          <p>
            <button type="button" class="primary" disabled={starting()} onClick={() => void start()}>
              {starting() ? "Starting …" : "Start the demo"}
            </button>
          </p>
          <p class="muted">
            In a terminal: <code>retinue demo</code>
          </p>
        </section>
        <section>
          <h2>Folders searched</h2>
          <ul class="roots">
            <For each={doctor()?.roots ?? []}>
              {(root) => (
                <li classList={{ missing: !root.exists }}>
                  <span>{root.product}</span>
                  <code>{root.path}</code>
                  <span class="muted">
                    {root.exists ? `${plural(root.files, "file")}, ${bytes(root.bytes)}` : "not found"}
                  </span>
                </li>
              )}
            </For>
          </ul>
          <p class="muted">retinue only reads these folders. Add others in the settings: {doctor()?.settings.path}</p>
        </section>
      </div>
    </div>
  );
}

/** The empty state of a team server. Only an admin sees everything, and so knows that there is nothing. */
export function NoThreads(props: { isAdmin: boolean }) {
  return (
    <div class="nothing first">
      <p class="big">{props.isAdmin ? "No machine has sent a thread yet." : "No threads are shared with you yet."}</p>
      <p>
        To send the threads of a machine, run <code>retinue ship --to {location.origin}</code> there with a token of
        scope ship (docs/team.md).
      </p>
      <Show when={!props.isAdmin}>
        <p class="muted">You see your own threads, and those that people share with the teams of your token.</p>
      </Show>
    </div>
  );
}
