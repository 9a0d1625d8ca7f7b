import { createMemo, createResource, createSignal, For, Show } from "solid-js";
import type { Card } from "../data/board.ts";
import { ago, displayName } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import { now } from "../state/clock.ts";
import { api, productOf } from "../state/server.ts";
import { Overlay } from "./overlay.tsx";
import { StatusMark } from "./status.tsx";

const LISTED = 200;
const SHOWN = 40;

/** Creates a card, or changes its title and threads. */
export default function CardDialog(props: { card: Card | null; taken: readonly Card[]; onClose: () => void }) {
  const [title, setTitle] = createSignal(props.card?.title ?? "");
  const [threads, setThreads] = createSignal<readonly string[]>(props.card?.threads ?? []);
  const [query, setQuery] = createSignal("");
  const [wrong, setWrong] = createSignal("");
  const [found] = createResource(async () => (await api.threads({ limit: LISTED })).body.items);
  const elsewhere = createMemo(
    () => new Set(props.taken.filter((card) => card.id !== props.card?.id).flatMap((card) => card.threads)),
  );
  const nameFor = (uri: string) => {
    const record = found.latest?.find((one) => one.uri === uri);
    return record === undefined ? uri : displayName(record);
  };
  const fitting = createMemo(() => {
    const text = query().toLowerCase().trim();
    const free = (found.latest ?? []).filter(
      (record) => !elsewhere().has(record.uri) && !threads().includes(record.uri),
    );
    return free
      .filter((record) => `${displayName(record)} ${record.uri} ${record.project ?? ""}`.toLowerCase().includes(text))
      .slice(0, SHOWN);
  });
  /** A URI that is not in the list, or has not begun. */
  const foreign = () =>
    /^[a-z]+:\/\/\S+$/.test(query().trim()) && fitting().length === 0 && !threads().includes(query().trim())
      ? query().trim()
      : null;
  const save = async () => {
    try {
      const name = title().trim();
      await api.saveCard(props.card?.id ?? null, { ...(name === "" ? {} : { title: name }), threads: threads() });
      props.onClose();
    } catch (error) {
      setWrong((error as Error).message);
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
          <For each={threads()} fallback={<li class="muted">None yet: the card stays queued until it has one.</li>}>
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
        <input
          type="search"
          placeholder="Add a thread by title or URI"
          aria-label="Find a thread"
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <ul class="pick">
          <Show when={foreign()}>
            {(uri) => (
              <li>
                <button type="button" data-add={uri()} onClick={() => setThreads((all) => [...all, uri()])}>
                  {uri()}
                </button>
              </li>
            )}
          </Show>
          <For each={fitting()} fallback={<li class="muted">{found.loading ? "…" : "No other thread matches."}</li>}>
            {(record) => (
              <li>
                <button type="button" data-add={record.uri} onClick={() => setThreads((all) => [...all, record.uri])}>
                  <StatusMark status={record.status} /> {oneLine(displayName(record), 80)}{" "}
                  <span class="muted">
                    {productOf(record.provider)} · {ago(record.lastActivityAt, now())}
                  </span>
                </button>
              </li>
            )}
          </For>
        </ul>
        <Show when={wrong()}>
          <p class="bad" role="alert">
            {wrong()}
          </p>
        </Show>
        <p class="actions">
          <button type="submit">{props.card === null ? "Create" : "Save"}</button>
        </p>
      </form>
    </Overlay>
  );
}
