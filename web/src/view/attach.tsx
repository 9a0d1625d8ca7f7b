import { createResource, For, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { visible } from "../data/text.ts";
import { api } from "../state/server.ts";
import { Copyable } from "./copyable.tsx";
import { Failure } from "./failure.tsx";
import { Overlay } from "./overlay.tsx";

/** The command that continues an agent as a session of its own, and what it does. */
export default function Attach(props: { uri: string; onClose: () => void }) {
  const [found] = createResource(
    () => props.uri,
    (uri) => api.attach(uri),
  );
  return (
    <Overlay label="Continue this agent" class="drawer" onClose={props.onClose}>
      <h2>Continue this agent</h2>
      <Switch fallback={<p class="muted">Reading the agent's history …</p>}>
        <Match when={found.error as ApiError | undefined}>{(error) => <Failure error={error()} />}</Match>
        <Match when={found()}>
          {(attach) => (
            <>
              <p>
                {attach().begins === "history"
                  ? `Opens a new session of ${attach().product} with this agent's whole history.`
                  : `Opens a new session of ${attach().product}, with this agent's history as its first message.`}{" "}
                The agent's own records are not changed.
              </p>
              <p>Run this in a terminal:</p>
              <div class="command">
                <Copyable text={attach().command} />
              </div>
              <Show when={attach().notes.length > 0}>
                <ul class="attach-notes">
                  <For each={attach().notes}>{(note) => <li>{visible(note)}</li>}</For>
                </ul>
              </Show>
              <details>
                <summary>What the command runs</summary>
                <p class="muted">In {visible(attach().folder ?? "the current folder")}:</p>
                <pre class="command">{visible(attach().runs)}</pre>
              </details>
              <p class="muted">
                Options: <code>--with "message"</code> sends a first message, <code>--at event</code> keeps the history
                up to an event, <code>--in folder</code> sets the folder to run in.
              </p>
            </>
          )}
        </Match>
      </Switch>
    </Overlay>
  );
}
