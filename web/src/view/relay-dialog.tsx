import { createResource, createSignal, For, onCleanup, Show } from "solid-js";
import type { Relay } from "../data/board.ts";
import { ago, exact } from "../data/format.ts";
import { now } from "../state/clock.ts";
import { api, productOf } from "../state/server.ts";
import { Overlay } from "./overlay.tsx";

const POLL_MS = 1_000;
const STATE_LABELS: Readonly<Record<Relay["state"], string>> = {
  connecting: "connecting",
  following: "following",
  waiting: "unreachable; retrying",
  refused: "refused: it requires a password",
  stopped: "stopped",
};

/** The followed servers, and a form to add one. */
export default function RelayDialog(props: { onClose: () => void }) {
  const [relays, { refetch }] = createResource(() => api.relays());
  const timer = setInterval(() => void refetch(), POLL_MS);
  onCleanup(() => clearInterval(timer));
  const [chosen, setChosen] = createSignal<string | null>(null);
  const [url, setUrl] = createSignal("");
  const [password, setPassword] = createSignal("");
  const [wrong, setWrong] = createSignal("");
  const provider = () => relays.latest?.providers.find(({ name }) => name === chosen()) ?? relays.latest?.providers[0];
  const follow = async () => {
    try {
      const secret = password();
      await api.follow({
        provider: provider()?.name ?? "",
        url: url().trim() || (provider()?.address ?? ""),
        ...(secret === "" ? {} : { password: secret }),
      });
      setPassword("");
      setWrong("");
      void refetch();
    } catch (error) {
      setWrong((error as Error).message);
    }
  };
  const leave = (id: string) =>
    void api
      .unfollow(id)
      .then(() => refetch())
      .catch((error: Error) => setWrong(error.message));
  return (
    <Overlay label="Follow a server" class="relay-dialog" onClose={props.onClose}>
      <h2>Followed servers</h2>
      <p class="muted">
        Events of a followed server are shown live: agents, tools, pending permissions. They are recorded.
      </p>
      <ul class="relays">
        <For each={relays.latest?.items ?? []} fallback={<li class="muted">None yet.</li>}>
          {(relay) => (
            <li data-state={relay.state}>
              <span class="dot" />
              <span class="relay-name">
                <code>{relay.url}</code> <span class="product">{productOf(relay.provider)}</span>
                <span class="muted">
                  {STATE_LABELS[relay.state]} · {exact(relay.frames)} frames
                  <Show when={relay.lastFrameAt}>{(at) => ` · last ${ago(at(), now())}`}</Show>
                </span>
                <For each={relay.limits}>{(limit) => <span class="muted">Note: {limit}</span>}</For>
                <Show when={relay.error}>{(error) => <span class="bad">{error()}</span>}</Show>
              </span>
              <button
                type="button"
                class="quiet small"
                aria-label={`Stop following ${relay.url}`}
                onClick={() => leave(relay.id)}
              >
                ✕
              </button>
            </li>
          )}
        </For>
      </ul>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void follow();
        }}
      >
        <Show when={(relays.latest?.providers.length ?? 0) > 1}>
          <select aria-label="Product" onChange={(event) => setChosen(event.currentTarget.value)}>
            <For each={relays.latest?.providers}>{({ name, product }) => <option value={name}>{product}</option>}</For>
          </select>
        </Show>
        <input
          data-first
          type="text"
          placeholder={`${provider()?.product ?? "Server"}: ${provider()?.address ?? ""}`}
          aria-label="Address"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setUrl(event.currentTarget.value)}
        />
        <input
          type="password"
          value={password()}
          placeholder={`Password, if it has one (else ${provider()?.secret ?? ""} of the server's environment)`}
          aria-label="Password"
          autocomplete="off"
          onInput={(event) => setPassword(event.currentTarget.value)}
        />
        <Show when={wrong()}>
          <p class="bad" role="alert">
            {wrong()}
          </p>
        </Show>
        <p class="actions">
          <button type="submit">Follow</button>
          <span class="muted">The password is kept in memory only.</span>
        </p>
      </form>
    </Overlay>
  );
}
