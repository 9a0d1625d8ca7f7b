import "../styles/board.css";
import { createEffect, createMemo, createSignal, For, lazy, Match, Show, Switch } from "solid-js";
import {
  type Card,
  inStage,
  mayMove,
  neighbour,
  STAGE_LABELS,
  STAGES,
  type Stage,
  withArticle,
} from "../data/board.ts";
import { ago, clock, plural } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import { useCards } from "../state/board.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { hrefTo } from "../state/navigation.ts";
import { isNotifying, setNotifying } from "../state/notify.ts";
import { api, productOf } from "../state/server.ts";
import { showToast } from "../state/toast.ts";
import { Failure } from "../view/failure.tsx";
import { Menu } from "../view/menu.tsx";

const CardDialog = lazy(() => import("../view/card-dialog.tsx"));
const RelayDialog = lazy(() => import("../view/relay-dialog.tsx"));

/** Queues an ended card again. */
export async function queueAgain(card: Card): Promise<void> {
  try {
    await api.saveCard(card.id, { stage: "queued" });
  } catch (error) {
    showToast((error as Error).message, { isError: true });
  }
}

/** Deletes a card and offers to undo it. Its threads are kept. */
async function deleteCard(card: Card): Promise<void> {
  try {
    await api.removeCard(card.id);
    const restore = () =>
      void api
        .saveCard(null, { title: card.title, threads: card.threads })
        .catch((error: Error) => showToast(error.message, { isError: true }));
    showToast(`Deleted ${oneLine(card.title, 60)}. Its threads are kept.`, { action: { label: "Undo", run: restore } });
  } catch (error) {
    showToast((error as Error).message, { isError: true });
  }
}

/** Cards by stage. */
export default function BoardPage() {
  useClock();
  document.title = "Board · retinue";
  const board = useCards();
  const [editing, setEditing] = createSignal<Card | "new" | null>(null);
  const [isRelayDialogOpen, setRelayDialogOpen] = createSignal(false);
  const [dragged, setDragged] = createSignal<string | null>(null);
  const [menuAt, setMenuAt] = createSignal<{ card: Card; near: Element } | null>(null);
  const [selected, setSelected] = createSignal<string | null>(null);
  const columns = createMemo(() => STAGES.map((stage) => ({ stage, cards: inStage(board.cards().values(), stage) })));
  const selectedCard = () => board.cards().get(selected() ?? "");
  const moveSelection = (x: number, y: number) => () => {
    const ids = columns().map(({ cards }) => cards.map(({ id }) => id));
    const next = neighbour(ids, selected(), { x, y });
    setSelected(next);
    document.querySelector<HTMLElement>(`[data-card="${next}"] a`)?.focus();
  };
  useKeys({
    j: moveSelection(0, 1),
    k: moveSelection(0, -1),
    ArrowDown: moveSelection(0, 1),
    ArrowUp: moveSelection(0, -1),
    ArrowLeft: moveSelection(-1, 0),
    ArrowRight: moveSelection(1, 0),
    n: () => setEditing("new"),
    q: () => {
      const card = selectedCard();
      if (card !== undefined && mayMove(card, "queued")) void queueAgain(card);
    },
    m: () => {
      const [card, near] = [selectedCard(), document.querySelector(`[data-card="${selected()}"]`)];
      if (card !== undefined && near !== null) setMenuAt({ card, near });
    },
  });
  const menuItems = (card: Card) => [
    ...(mayMove(card, "queued") ? [{ label: "Queue again", key: "q", run: () => void queueAgain(card) }] : []),
    { label: "Title and threads …", run: () => setEditing(card) },
    { label: "Delete", run: () => void deleteCard(card) },
  ];
  return (
    <div class="page board">
      <div class="page-head">
        <h1>Board</h1>
        <div class="filters">
          <button type="button" onClick={() => setEditing("new")}>
            New card <kbd>n</kbd>
          </button>
          <button type="button" onClick={() => setRelayDialogOpen(true)}>
            Follow a server …
          </button>
          <NotifyCheck />
        </div>
      </div>
      <Switch>
        <Match when={board.error()}>{(error) => <Failure error={error()} onRetry={board.retry} />}</Match>
        <Match when={board.loaded() && board.cards().size === 0}>
          <NoCards onNew={() => setEditing("new")} />
        </Match>
        <Match when={board.loaded()}>
          <div class="columns">
            <For each={columns()}>
              {(column) => (
                <Column
                  stage={column.stage}
                  cards={column.cards}
                  selected={selected()}
                  dragged={board.cards().get(dragged() ?? "")}
                  onSelect={setSelected}
                  onDrag={setDragged}
                  onMenu={(card, near) => setMenuAt({ card, near })}
                />
              )}
            </For>
          </div>
        </Match>
      </Switch>
      <Show when={menuAt()} keyed>
        {(menu) => <Menu near={menu.near} items={menuItems(menu.card)} onClose={() => setMenuAt(null)} />}
      </Show>
      <Show when={editing()} keyed>
        {(what) => (
          <CardDialog
            card={what === "new" ? null : what}
            taken={[...board.cards().values()]}
            onClose={() => setEditing(null)}
          />
        )}
      </Show>
      <Show when={isRelayDialogOpen()}>
        <RelayDialog onClose={() => setRelayDialogOpen(false)} />
      </Show>
    </div>
  );
}

function NotifyCheck() {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={isNotifying()}
        onChange={({ currentTarget: box }) =>
          void setNotifying(box.checked).then(() => {
            box.checked = isNotifying();
          })
        }
      />
      Notify me
    </label>
  );
}

function NoCards(props: { onNew: () => void }) {
  return (
    <div class="nothing">
      <p class="big">No cards yet.</p>
      <p class="muted">
        A card is a unit of work with one or more threads of any product. Its stage is derived from the threads and
        their sub-agents.
      </p>
      <p class="actions">
        <button type="button" onClick={() => props.onNew()}>
          Create the first card
        </button>
      </p>
      <p class="muted">
        With <code>cards.from_threads: true</code> in the settings, every new thread gets a card automatically.
      </p>
    </div>
  );
}

function Column(props: {
  stage: Stage;
  cards: readonly Card[];
  selected: string | null;
  dragged: Card | undefined;
  onSelect: (id: string) => void;
  onDrag: (id: string | null) => void;
  onMenu: (card: Card, near: Element) => void;
}) {
  const accepts = () => props.dragged !== undefined && mayMove(props.dragged, props.stage);
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    const { dragged } = props;
    props.onDrag(null);
    if (dragged !== undefined && mayMove(dragged, props.stage)) void queueAgain(dragged);
  };
  return (
    <section
      role="group"
      aria-label={STAGE_LABELS[props.stage]}
      class="column"
      classList={{ takes: accepts(), refuses: props.dragged !== undefined && !accepts() }}
      data-stage={props.stage}
      onDragOver={(event) => {
        if (accepts()) event.preventDefault();
      }}
      onDrop={onDrop}
    >
      <h2>
        {STAGE_LABELS[props.stage]} <span class="muted">{props.cards.length}</span>
      </h2>
      <ul>
        <For each={props.cards}>
          {(card) => (
            <li
              class="card"
              classList={{ selected: card.id === props.selected, waits: card.waiting.length > 0 }}
              data-card={card.id}
              data-stage={card.stage}
              draggable={mayMove(card, "queued")}
              onDragStart={() => props.onDrag(card.id)}
              onDragEnd={() => props.onDrag(null)}
              onFocusIn={() => props.onSelect(card.id)}
            >
              <CardFace card={card} />
              <button
                type="button"
                class="quiet small"
                aria-label={`Menu of ${card.title}`}
                onClick={(event) => props.onMenu(card, event.currentTarget)}
              >
                ⋯
              </button>
            </li>
          )}
        </For>
      </ul>
    </section>
  );
}

function CardFace(props: { card: Card }) {
  const providers = () => [...new Set(props.card.threads.map((uri) => uri.slice(0, uri.indexOf("://"))))];
  return (
    <>
      <a class="card-title" href={hrefTo({ page: "card", uri: props.card.id })} dir="auto">
        {oneLine(props.card.title, 200)}
      </a>
      <For each={props.card.waiting}>
        {(wait) => (
          <a
            class="wait"
            href={hrefTo({ page: "agent", uri: wait.uri })}
            title={`${wait.says}${wait.since === null ? "" : `, since ${wait.since}`}`}
          >
            <b>{oneLine(wait.agent, 40)}</b> waits for {withArticle(wait.for)}
            <Show when={wait.since}>{(since) => <span> · since {clock(since())}</span>}</Show>
            <span class="wait-text" dir="auto">
              {oneLine(wait.says, 120)}
            </span>
          </a>
        )}
      </For>
      <Show when={props.card.progress}>{(progress) => <ProgressLine progress={progress()} />}</Show>
      <p class="meta">
        <For each={providers()}>{(provider) => <span class="product">{productOf(provider)}</span>}</For>
        <Show when={props.card.threads.length !== 1}>
          <span>{plural(props.card.threads.length, "thread")}</span>
        </Show>
        <span class="chip" title="Agents of this card">
          {plural(props.card.agents.total, "agent")}
          {props.card.agents.running > 0 ? `, ${props.card.agents.running} running` : ""}
        </span>
        <Show when={props.card.inferred.length > 0}>
          <span
            class="badge guess"
            title="Assigned to this card because their thread is unknown and no other card is active"
          >
            {props.card.inferred.length} inferred
          </span>
        </Show>
        <span>{ago(props.card.lastActivityAt ?? props.card.createdAt, now())}</span>
      </p>
    </>
  );
}

export function ProgressLine(props: { progress: NonNullable<Card["progress"]> }) {
  const share = () => (props.progress.total === 0 ? 0 : props.progress.done / props.progress.total);
  return (
    <div class="progress">
      <Show when={props.progress.total > 0}>
        <span
          class="progress-bar"
          role="progressbar"
          aria-label="Steps done"
          aria-valuenow={props.progress.done}
          aria-valuemin={0}
          aria-valuemax={props.progress.total}
        >
          <span ref={(element) => createEffect(() => element.style.setProperty("--share", String(share())))} />
        </span>
        <span class="number">
          {props.progress.done}/{props.progress.total}
        </span>
      </Show>
      <Show when={props.progress.current}>
        {(current) => (
          <span class="current" dir="auto">
            {oneLine(current(), 160)}
          </span>
        )}
      </Show>
    </div>
  );
}
