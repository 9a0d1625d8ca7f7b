import "../styles/board.css";
import { createEffect, createMemo, For, mapArray, Show } from "solid-js";
import { type Card, mayMove, STAGE_LABELS, withArticle } from "../data/board.ts";
import type { LoadedEvent } from "../data/events.ts";
import { clock, plural } from "../data/format.ts";
import { threadOf } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import { useCard } from "../state/card.ts";
import { useClock } from "../state/clock.ts";
import { useEvents } from "../state/events.ts";
import { useKeys } from "../state/keys.ts";
import { createLog, isFollowing, useHiddenAgents } from "../state/log.ts";
import { go, hrefTo } from "../state/navigation.ts";
import { useThread } from "../state/thread.ts";
import { AgentChip } from "../view/agent-chip.tsx";
import { hueAt } from "../view/color.ts";
import { Failure } from "../view/failure.tsx";
import { LogList } from "../view/log-list.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { ProgressLine, queueAgain } from "./board.tsx";

/** A card and the events of all its threads as one log. The URI of the route is the id of the card. */
export default function CardPage(props: { uri: string }) {
  useClock();
  const { card, error, retry } = useCard(() => props.uri);
  createEffect(() => {
    document.title = `${oneLine(card()?.title ?? "Card", 60)} · retinue`;
  });
  const { agents, events, failure } = useThreads(() => [
    ...(card()?.threads ?? []),
    ...new Set((card()?.inferred ?? []).map(threadOf)),
  ]);
  const byUri = createMemo(() => new Map(agents().map((agent) => [agent.uri, agent])));
  const hues = createMemo(() => new Map(agents().map(({ uri }, index) => [uri, hueAt(index)])));
  const counts = createMemo(() => {
    const found = new Map<string, number>();
    for (const { uri } of events()) found.set(uri, (found.get(uri) ?? 0) + 1);
    return found;
  });
  const { hidden, toggle } = useHiddenAgents();
  const idOf = (uri: string) => byUri().get(uri)?.agentId ?? byUri().get(uri)?.sessionId ?? uri;
  const log = createLog({
    events,
    agentOf: (uri) => byUri().get(uri),
    isShown: (uri) => byUri().has(uri) && !hidden().has(idOf(uri)),
    isRoot: (uri) => byUri().get(uri)?.parent === null,
  });
  useKeys({ ...log.keys, u: () => go("board") });
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
                  id={idOf(agent.uri)}
                  hue={hues().get(agent.uri) ?? 0}
                  isShown={!hidden().has(idOf(agent.uri))}
                  onToggle={() => toggle(idOf(agent.uri))}
                >
                  <b class="number">{counts().get(agent.uri) ?? 0}</b>
                </AgentChip>
              )}
            </For>
          </div>
          <div class="chip-tools">
            <span class="muted">{plural(events().length, "entry", "entries")}</span>
            <span class="spring" />
            <ParamCheck name="follow">
              Follow live <kbd>f</kbd>
            </ParamCheck>
          </div>
        </div>
        <Show when={failure()}>{(shown) => <Failure error={shown()} />}</Show>
        <Show when={events().length > 0} fallback={<p class="nothing muted">No events yet.</p>}>
          <LogList
            label="Log of the card"
            rows={log.rows()}
            selected={log.selected()}
            follow={isFollowing()}
            agentOf={(uri) => byUri().get(uri)}
            idOf={idOf}
            hueOf={(uri) => hues().get(uri) ?? 0}
            isOpen={log.isOpen}
            onToggle={log.toggle}
          />
        </Show>
      </Show>
    </div>
  );
}

/** The agents and events of several threads, updated live. */
function useThreads(list: () => readonly string[]) {
  /** Changes only when threads are added or removed. */
  const uris = createMemo(list, [], { equals: (a, b) => a.join() === b.join() });
  const threads = mapArray(uris, (uri) => {
    const thread = useThread(() => uri);
    const events = useEvents(() => uri, {
      subtree: true,
      belongs: (event) => thread.set.has(event.uri) || threadOf(event.uri) === uri,
    });
    return { thread, events };
  });
  const agents = createMemo(() =>
    threads().flatMap(({ thread }) => {
      thread.pulse();
      const root = thread.root();
      return root === null ? [] : thread.set.subtree(root).flatMap((uri) => thread.set.get(uri) ?? []);
    }),
  );
  const events = createMemo(() => byTime(threads().map((one) => one.events.items())));
  // A thread of the card that has not started yet is not an error.
  const failure = () =>
    threads()
      .map(({ thread }) => thread.error())
      .find((error) => error !== null && error.status !== 404);
  return { agents, events, failure };
}

/** All events by time, without status changes, which the chips show. */
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
