import { createResource, createSignal, For, onCleanup, Show } from "solid-js";
import type { Relay, RelayList } from "../data/board.ts";
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
  const [error, setError] = createSignal("");
  const unfollow = (id: string) =>
    void api
      .unfollow(id)
      .then(() => refetch())
      .catch((failure: Error) => setError(failure.message));
  return (
    <Overlay label="Follow a server" class="relay-dialog" onClose={props.onClose}>
      <h2>Followed servers</h2>
      <p class="muted">
        Shows the events of a product's server live: agents, tools and pending permissions. The events are recorded.
      </p>
      <ul class="relays">
        <For each={relays.latest?.items ?? []} fallback={<li class="muted">None yet.</li>}>
          {(relay) => <RelayItem relay={relay} onUnfollow={() => unfollow(relay.id)} />}
        </For>
      </ul>
      <FollowForm
        providers={relays.latest?.providers ?? []}
        error={error()}
        onFollow={async (relay) => {
          try {
            await api.follow(relay);
            setError("");
            void refetch();
            return true;
          } catch (failure) {
            setError((failure as Error).message);
            return false;
          }
        }}
      />
    </Overlay>
  );
}

function RelayItem(props: { relay: Relay; onUnfollow: () => void }) {
  return (
    <li data-state={props.relay.state}>
      <span class="dot" />
      <span class="relay-name">
        <code>{props.relay.url}</code> <span class="product">{productOf(props.relay.provider)}</span>
        <span class="muted">
          {STATE_LABELS[props.relay.state]} · {exact(props.relay.frames)} events
          <Show when={props.relay.lastFrameAt}>{(at) => ` · last ${ago(at(), now())}`}</Show>
        </span>
        <For each={props.relay.limits}>{(limit) => <span class="muted">Note: {limit}</span>}</For>
        <Show when={props.relay.error}>{(error) => <span class="bad">{error()}</span>}</Show>
      </span>
      <button
        type="button"
        class="quiet small"
        aria-label={`Stop following ${props.relay.url}`}
        onClick={() => props.onUnfollow()}
      >
        ✕
      </button>
    </li>
  );
}

function FollowForm(props: {
  providers: RelayList["providers"];
  error: string;
  /** Returns false if the server cannot be followed. */
  onFollow: (relay: { provider: string; url: string; password?: string }) => Promise<boolean>;
}) {
  const [chosen, setChosen] = createSignal<string | null>(null);
  const [url, setUrl] = createSignal("");
  const [password, setPassword] = createSignal("");
  const provider = () => props.providers.find(({ name }) => name === chosen()) ?? props.providers[0];
  const follow = async () => {
    const isFollowed = await props.onFollow({
      provider: provider()?.name ?? "",
      url: url().trim() || (provider()?.address ?? ""),
      ...(password() === "" ? {} : { password: password() }),
    });
    if (isFollowed) setPassword("");
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void follow();
      }}
    >
      <Show when={props.providers.length > 1}>
        <select aria-label="Product" onChange={(event) => setChosen(event.currentTarget.value)}>
          <For each={props.providers}>{({ name, product }) => <option value={name}>{product}</option>}</For>
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
        placeholder="Password, if the server requires one"
        aria-label="Password"
        autocomplete="off"
        onInput={(event) => setPassword(event.currentTarget.value)}
      />
      <Show when={props.error}>
        <p class="bad" role="alert">
          {props.error}
        </p>
      </Show>
      <p class="actions">
        <button type="submit">Follow</button>
        <span class="muted">The password is kept in memory only.</span>
      </p>
    </form>
  );
}
