import "../styles/board.css";
import { type Accessor, createEffect, createMemo, createSignal, For, mapArray, on, onCleanup, Show } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { type Card, mayMove, STAGE_LABELS, withArticle } from "../data/board.ts";
import type { LoadedEvent } from "../data/events.ts";
import { clock, displayName, plural } from "../data/format.ts";
import { indexOfRow, isBad, isRowOpen, type LogRow, logRows, spawnCallOf, toggled } from "../data/log.ts";
import { threadOf } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { useClock } from "../state/clock.ts";
import { useEvents } from "../state/events.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, hrefTo, route, setParams } from "../state/navigation.ts";
import { api, listen } from "../state/server.ts";
import { useThread } from "../state/thread.ts";
import { AgentTip } from "../view/agent-tip.tsx";
import { hueAt } from "../view/color.ts";
import { Failure } from "../view/failure.tsx";
import { LogList } from "../view/log-list.tsx";
import { StatusMark } from "../view/status.tsx";
import { tooltip } from "../view/tip.tsx";
import { ProgressLine, queueAgain } from "./board.tsx";

/** One card, kept up to date. */
function useCard(address: Accessor<string>) {
  /** Another filter in the URL is not another card. */
  const id = createMemo(address);
  const [card, setCard] = createSignal<Card | null>(null);
  const [error, setError] = createSignal<ApiError | null>(null);
  const load = async () => {
    const cardId = id();
    try {
      // The list contains the position of the live stream.
      const { body, live } = await api.cards();
      const found = body.items.find((one) => one.id === cardId) ?? null;
      if (found === null) await api.card(cardId);
      setCard(found);
      setError(null);
      setPosition(live);
    } catch (failure) {
      setError(failure as ApiError);
    }
  };
  createEffect(on(id, () => void load()));
  const setPosition = listen(() => ({ cards: "true" }), {
    changes: ({ cards }) => {
      const now = cards.get(id());
      if (now === null) go("board");
      else if (now !== undefined) setCard(now);
    },
    reset: () => void load(),
  });
  return { card, error, retry: () => void load() };
}

/** A card's threads and their events as one log. */
/** The route's URI is the id of the card. */
export default function CardPage(props: { uri: string }) {
  useClock();
  const { card, error, retry } = useCard(() => props.uri);
  createEffect(() => {
    document.title = `${oneLine(card()?.title ?? "Card", 60)} · retinue`;
  });
  /** Changes only when threads are added or removed. */
  const uris = createMemo(() => [...(card()?.threads ?? []), ...new Set((card()?.inferred ?? []).map(threadOf))], [], {
    equals: (a, b) => a.join() === b.join(),
  });
  const parts = mapArray(uris, (uri) => {
    const thread = useThread(() => uri);
    const events = useEvents(() => uri, {
      subtree: true,
      belongs: (event) => thread.set.has(event.uri) || threadOf(event.uri) === uri,
    });
    return { uri, thread, events };
  });
  const agents = createMemo(() =>
    parts().flatMap(({ thread }) => {
      thread.pulse();
      const root = thread.root();
      return root === null ? [] : thread.set.subtree(root).flatMap((uri) => thread.set.get(uri) ?? []);
    }),
  );
  const byUri = createMemo(() => new Map(agents().map((agent) => [agent.uri, agent])));
  const hues = createMemo(() => new Map(agents().map(({ uri }, index) => [uri, hueAt(index)])));
  const happened = createMemo(() => byTime(parts().map(({ events }) => events.items())));
  const counts = createMemo(() => {
    const found = new Map<string, number>();
    for (const { uri } of happened()) found.set(uri, (found.get(uri) ?? 0) + 1);
    return found;
  });

  const hidden = createMemo(() => new Set((route().params.hide ?? "").split(",").filter((id) => id !== "")));
  const idOf = (uri: string) => byUri().get(uri)?.agentId ?? byUri().get(uri)?.sessionId ?? uri;
  const [opened, setOpened] = createSignal<ReadonlySet<string>>(new Set());
  const [selectedId, setSelectedId] = createSignal<string | null>(null);
  const rows = createMemo(() =>
    logRows(
      happened(),
      (uri) => byUri().has(uri) && !hidden().has(idOf(uri)),
      (uri) => byUri().get(uri)?.parent === null,
      (id) => opened().has(id),
      (uri) => spawnCallOf(byUri().get(uri)),
    ),
  );
  const selected = createMemo(() => indexOfRow(rows(), selectedId()));
  const follow = () => route().params.follow === "1";
  const toggle = (row: LogRow | undefined) => {
    if (row !== undefined) setOpened((before) => toggled(before, row));
  };
  const nextError = (step: 1 | -1) => () => {
    const all = rows();
    for (let n = 1; n <= all.length; n += 1) {
      const row = all[(selected() + step * n + all.length * 2) % all.length];
      if (row !== undefined && isBad(row)) return setSelectedId(row.id);
    }
  };
  useKeys({
    ...listKeys({
      count: () => rows().length,
      selected,
      select: (index) => setSelectedId(rows()[index]?.id ?? null),
      open: (index) => toggle(rows()[index]),
    }),
    f: () => setParams({ follow: follow() ? null : "1" }),
    e: nextError(1),
    E: nextError(-1),
    u: () => go("board"),
  });
  const flip = (id: string) =>
    setParams({
      hide: [...(hidden().has(id) ? [...hidden()].filter((one) => one !== id) : [...hidden(), id])].join(",") || null,
    });
  onCleanup(() => setOpened(new Set<string>()));
  return (
    <div class="page log card-page">
      <Show when={!error()} fallback={<Failure error={error() as never} onRetry={retry} />}>
        <Show when={card()}>{(shown) => <CardHead card={shown()} />}</Show>
        <div class="log-tools">
          <div class="chips" role="group" aria-label="Agents shown">
            <For each={agents()}>
              {(agent) => (
                <AgentChip
                  agent={agent}
                  hue={hues().get(agent.uri) ?? 0}
                  count={counts().get(agent.uri) ?? 0}
                  shown={!hidden().has(idOf(agent.uri))}
                  onFlip={() => flip(idOf(agent.uri))}
                />
              )}
            </For>
          </div>
          <div class="chip-tools">
            <span class="muted">{plural(happened().length, "entry", "entries")}</span>
            <span class="spring" />
            <label class="check">
              <input
                type="checkbox"
                checked={follow()}
                onChange={(event) => setParams({ follow: event.currentTarget.checked ? "1" : null })}
              />
              Follow live <kbd>f</kbd>
            </label>
          </div>
        </div>
        <Show when={parts().find(({ thread }) => thread.error() !== null && thread.error()?.status !== 404)}>
          {(part) => <Failure error={part().thread.error() as never} />}
        </Show>
        <Show when={happened().length > 0} fallback={<p class="nothing muted">No events yet.</p>}>
          <LogList
            label="Log of the card"
            rows={rows()}
            selected={selected()}
            follow={follow()}
            agentOf={(uri) => byUri().get(uri)}
            idOf={idOf}
            hueOf={(uri) => hues().get(uri) ?? 0}
            isOpen={(row) => isRowOpen(row, opened())}
            onToggle={toggle}
          />
        </Show>
      </Show>
    </div>
  );
}

/** Merges sorted lists. Statuses are shown by the chips. */
function byTime(lists: readonly (readonly LoadedEvent[])[]): readonly LoadedEvent[] {
  return lists
    .flat()
    .filter(({ kind }) => kind !== "status")
    .sort((a, b) => ((a.at ?? "") < (b.at ?? "") ? -1 : (a.at ?? "") > (b.at ?? "") ? 1 : 0));
}

function CardHead(props: { card: Card }) {
  return (
    <div class="card-head" data-stage={props.card.stage}>
      <p>
        <a href="#/board">Board</a> <span class="stage">{STAGE_LABELS[props.card.stage]}</span>
      </p>
      <h1 dir="auto">{oneLine(props.card.title, 300)}</h1>
      <For each={props.card.waiting}>
        {(wait) => (
          <p class="wait">
            <a href={hrefTo({ page: "agent", uri: wait.uri })}>{oneLine(wait.agent, 40)}</a> waits for{" "}
            {withArticle(wait.for)}: <span dir="auto">{oneLine(wait.says, 200)}</span>
            <Show when={wait.since}>{(since) => <span class="muted"> · since {clock(since())}</span>}</Show>
          </p>
        )}
      </For>
      <Show when={props.card.progress}>{(progress) => <ProgressLine progress={progress()} />}</Show>
      <p class="meta">
        <For each={props.card.threads} fallback={<span>no thread yet</span>}>
          {(uri) => <a href={hrefTo({ page: "tree", uri })}>{uri}</a>}
        </For>
        <Show when={props.card.inferred.length > 0}>
          <span class="badge guess">{plural(props.card.inferred.length, "agent")} inferred</span>
        </Show>
        <Show when={mayMove(props.card, "queued")}>
          <button type="button" class="small" onClick={() => void queueAgain(props.card)}>
            Queue again
          </button>
        </Show>
      </p>
    </div>
  );
}

function AgentChip(props: { agent: AgentRecord; hue: number; count: number; shown: boolean; onFlip: () => void }) {
  return (
    <button
      type="button"
      class="agent-chip"
      data-chip={props.agent.agentId ?? props.agent.sessionId}
      aria-pressed={props.shown}
      ref={(element) => createEffect(() => element.style.setProperty("--hue", String(props.hue)))}
      onClick={() => props.onFlip()}
      {...tooltip(() => <AgentTip agent={props.agent} />)}
    >
      <StatusMark status={props.agent.status} /> {oneLine(displayName(props.agent), 32)}{" "}
      <b class="number">{props.count}</b>
    </button>
  );
}
