import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import { displayName, plural } from "../data/format.ts";
import { threadOf } from "../data/route.ts";
import type { AgentRecord } from "../data/types.ts";
import { useClock } from "../state/clock.ts";
import { useEvents } from "../state/events.ts";
import { useKeys } from "../state/keys.ts";
import { createLog, isFollowing, useHiddenAgents } from "../state/log.ts";
import { go, hrefTo, route, setParams } from "../state/navigation.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { AgentChip } from "../view/agent-chip.tsx";
import { useHues } from "../view/color.ts";
import { Failure } from "../view/failure.tsx";
import { LogList } from "../view/log-list.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { ThreadContent } from "../view/thread-content.tsx";
import { ThreadHead } from "../view/thread-head.tsx";

const MAX_CHIPS = 60;
/** With more agents, chips can be filtered by name. */
const FILTER_FROM = 12;

/** The events of all agents of a thread, by time. */
export default function LogPage(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const events = useEvents(() => threadOf(props.uri), {
    subtree: true,
    belongs: (event) => thread.set.has(event.uri) || threadOf(event.uri) === thread.root(),
  });
  const hues = useHues(thread);
  const agents = useHiddenAgents();
  const log = createLog({
    events: () => {
      // Rows depend on the records of agents: which agent is hidden, and which call spawned it.
      thread.shape();
      return events.items();
    },
    agentOf: (uri) => thread.set.get(uri),
    isShown: (uri) => !agents.hidden().has(idIn(thread, uri)),
    isRoot: (uri) => uri === thread.root(),
    selectedId: route().params.event ?? null,
    onSelect: (row) => row.is !== "group" && setParams({ event: row.id }),
  });
  const setOpen = (isOpen: boolean) => () => {
    const row = log.rows()[log.selected()];
    if (row !== undefined && log.isOpen(row) !== isOpen) log.toggle(row);
  };
  useKeys({
    ...log.keys,
    ArrowRight: setOpen(true),
    ArrowLeft: setOpen(false),
    u: () => go("tree", thread.root()),
  });
  // The event in the URL may be inside of a group, which has to be opened to show it.
  createEffect(
    on(
      () => events.complete(),
      () => {
        const id = route().params.event;
        if (id === undefined) return;
        const group = log.rows().find((row) => row.is === "group" && row.entries.some((event) => event.id === id));
        if (group !== undefined && !log.isOpen(group)) log.toggle(group);
      },
    ),
  );

  return (
    <div class="page log">
      <ThreadContent thread={thread}>
        <ThreadHead thread={thread} />
        <div class="log-tools">
          <Chips
            thread={thread}
            hues={hues()}
            agents={agents}
            entries={events.items().length}
            complete={events.complete()}
          />
        </div>
        <Show when={events.error()}>{(error) => <Failure error={error()} />}</Show>
        <LogList
          label="Log"
          rows={log.rows()}
          selected={log.selected()}
          follow={isFollowing()}
          agentOf={(uri) => thread.agent(uri)}
          idOf={(uri) => idIn(thread, uri)}
          hueOf={(uri) => hues().get(uri) ?? 0}
          isOpen={log.isOpen}
          onToggle={log.toggle}
        />
      </ThreadContent>
    </div>
  );
}

const idOf = (agent: AgentRecord | undefined) => agent?.agentId ?? "main";
const idIn = (thread: Thread, uri: string) => idOf(thread.set.get(uri));

/** One chip for each agent, which shows or hides its events. */
function Chips(props: {
  thread: Thread;
  hues: ReadonlyMap<string, number>;
  agents: ReturnType<typeof useHiddenAgents>;
  entries: number;
  complete: boolean;
}) {
  const [query, setQuery] = createSignal("");
  const all = createMemo(() => {
    props.thread.shape();
    return props.thread.set.subtree(props.thread.root() ?? "").flatMap((uri) => props.thread.set.get(uri) ?? []);
  });
  const matching = createMemo(() => {
    const text = query().toLowerCase();
    return all().filter((agent) =>
      `${displayName(agent)} ${agent.type ?? ""} ${idOf(agent)}`.toLowerCase().includes(text),
    );
  });
  const hideOthers = (agent: AgentRecord) =>
    props.agents.hide(
      all()
        .map(idOf)
        .filter((id) => id !== idOf(agent)),
    );
  return (
    <>
      <div class="chips" role="group" aria-label="Agents shown">
        <For each={matching().slice(0, MAX_CHIPS)}>
          {(agent) => (
            <AgentChip
              agent={agent}
              id={idOf(agent)}
              hue={props.hues.get(agent.uri) ?? 0}
              isShown={!props.agents.hidden().has(idOf(agent))}
              onToggle={() => props.agents.toggle(idOf(agent))}
              onOnly={() => hideOthers(agent)}
            >
              <code>{idOf(agent).slice(-5)}</code>
            </AgentChip>
          )}
        </For>
        <Show when={matching().length > MAX_CHIPS}>
          <span class="muted">and {matching().length - MAX_CHIPS} more; enter a name to find them</span>
        </Show>
      </div>
      <div class="chip-tools">
        <Show when={all().length > FILTER_FROM}>
          <input
            type="search"
            placeholder="Find an agent"
            aria-label="Find an agent"
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
        </Show>
        <button type="button" class="quiet" onClick={() => props.agents.hide([])}>
          All
        </button>
        <button type="button" class="quiet" onClick={() => props.agents.hide(all().map(idOf))}>
          None
        </button>
        <span class="spring" />
        <span class="muted">
          {plural(props.entries, "entry", "entries")}
          {props.complete ? "" : " so far …"}
        </span>
        <a class="wide" href={hrefTo({ page: "tree", uri: props.thread.root() })}>
          Tree <kbd>u</kbd>
        </a>
        <ParamCheck name="follow">
          Follow live <kbd>f</kbd>
        </ParamCheck>
      </div>
    </>
  );
}
