import { createMemo, createResource, createSignal, For, Show } from "solid-js";
import type { Card } from "../data/board.ts";
import { ago, displayName } from "../data/format.ts";
import { isUri } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { api, productOf } from "../state/server.ts";
import { Overlay } from "./overlay.tsx";
import { StatusMark } from "./status.tsx";

const MAX_LOADED = 200;
const MAX_SHOWN = 40;

/** Creates a card, or changes its title and threads. */
export default function CardDialog(props: { card: Card | null; taken: readonly Card[]; onClose: () => void }) {
  const [title, setTitle] = createSignal(props.card?.title ?? "");
  const [threads, setThreads] = createSignal<readonly string[]>(props.card?.threads ?? []);
  const [error, setError] = createSignal("");
  const [found] = createResource(async () => (await api.threads({ limit: MAX_LOADED })).body.items);
  const nameFor = (uri: string) => {
    const record = found.latest?.find((one) => one.uri === uri);
    return record === undefined ? uri : displayName(record);
  };
  /** Threads that neither this card nor another one has. */
  const available = createMemo(() => {
    const others = props.taken.filter((card) => card.id !== props.card?.id).flatMap((card) => card.threads);
    const taken = new Set([...others, ...threads()]);
    return (found.latest ?? []).filter(({ uri }) => !taken.has(uri));
  });
  const save = async () => {
    try {
      const name = title().trim();
      await api.saveCard(props.card?.id ?? null, { ...(name === "" ? {} : { title: name }), threads: threads() });
      props.onClose();
    } catch (failure) {
      setError((failure as Error).message);
    }
  };
  return (
    <Overlay label={props.card === null ? "New card" : "Change card"} class="card-dialog" onClose={props.onClose}>
      <h2>{props.card === null ? "New card" : "Change card"}</h2>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void save();
        }}
      >
        <input
          data-first
          type="text"
          maxlength="500"
          value={title()}
          placeholder={threads().length > 0 ? "Title (default: that of the first thread)" : "Title"}
          aria-label="Title"
          autocomplete="off"
          onInput={(event) => setTitle(event.currentTarget.value)}
        />
        <h3>Threads</h3>
        <ul class="chosen-threads">
          <For each={threads()} fallback={<li class="muted">No threads. The card stays queued until it has one.</li>}>
            {(uri) => (
              <li>
                <span dir="auto">{oneLine(nameFor(uri), 80)}</span>
                <button
                  type="button"
                  class="quiet small"
                  aria-label={`Remove ${uri}`}
                  onClick={() => setThreads((all) => all.filter((one) => one !== uri))}
                >
                  ✕
                </button>
              </li>
            )}
          </For>
        </ul>
        <ThreadPicker
          available={available()}
          chosen={threads()}
          isLoading={found.loading}
          onAdd={(uri) => setThreads((all) => [...all, uri])}
        />
        <Show when={error()}>
          <p class="bad" role="alert">
            {error()}
          </p>
        </Show>
        <p class="actions">
          <button type="submit">{props.card === null ? "Create" : "Save"}</button>
        </p>
      </form>
    </Overlay>
  );
}

/** Finds threads by title, project or URI. */
function ThreadPicker(props: {
  available: readonly AgentRecord[];
  chosen: readonly string[];
  isLoading: boolean;
  onAdd: (uri: string) => void;
}) {
  const [query, setQuery] = createSignal("");
  const matching = createMemo(() => {
    const text = query().toLowerCase().trim();
    return props.available
      .filter((record) => `${displayName(record)} ${record.uri} ${record.project ?? ""}`.toLowerCase().includes(text))
      .slice(0, MAX_SHOWN);
  });
  /** The entered URI, if it is not that of a listed thread: an older thread, or one that has not started yet. */
  const enteredUri = () => {
    const text = query().trim();
    return isUri(text) && matching().length === 0 && !props.chosen.includes(text) ? text : null;
  };
  return (
    <>
      <input
        type="search"
        placeholder="Add a thread by title or URI"
        aria-label="Find a thread"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      <ul class="pick">
        <Show when={enteredUri()}>
          {(uri) => (
            <li>
              <button type="button" data-add={uri()} onClick={() => props.onAdd(uri())}>
                {uri()}
              </button>
            </li>
          )}
        </Show>
        <For each={matching()} fallback={<li class="muted">{props.isLoading ? "…" : "No other thread matches."}</li>}>
          {(record) => (
            <li>
              <button type="button" data-add={record.uri} onClick={() => props.onAdd(record.uri)}>
                <StatusMark status={record.status} /> {oneLine(displayName(record), 80)}{" "}
                <span class="muted">
                  {productOf(record.provider)} · {ago(record.lastActivityAt, now())}
                </span>
              </button>
            </li>
          )}
        </For>
      </ul>
    </>
  );
}
