import { createEffect, createMemo, createSignal, For, on, Show } from "solid-js";
import { displayName, plural } from "../data/format.ts";
import { indexOfRow, isBad, isRowOpen, type LogRow, logRows, spawnCallOf, toggled } from "../data/log.ts";
import { threadOf } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { useClock } from "../state/clock.ts";
import { useEvents } from "../state/events.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, hrefTo, route, setParams } from "../state/navigation.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { AgentTip } from "../view/agent-tip.tsx";
import { useHues } from "../view/color.ts";
import { Failure } from "../view/failure.tsx";
import { LogList } from "../view/log-list.tsx";
import { StatusMark } from "../view/status.tsx";
import { ThreadHead } from "../view/thread-head.tsx";
import { tooltip } from "../view/tip.tsx";

const CHIPS = 60;

export default function Log(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const events = useEvents(() => threadOf(props.uri), {
    subtree: true,
    belongs: (event) => thread.set.has(event.uri) || threadOf(event.uri) === thread.root(),
  });
  const [opened, setOpened] = createSignal<ReadonlySet<string>>(new Set());
  const [selectedId, setSelectedId] = createSignal<string | null>(route().params.event ?? null);
  const hues = useHues(thread);
  const follow = () => route().params.follow === "1";

  /** By id, because two agents may have the same name. */
  const hidden = createMemo(() => new Set((route().params.hide ?? "").split(",").filter((id) => id !== "")));
  const idOf = (uri: string) => thread.set.get(uri)?.agentId ?? "main";
  const isShown = (uri: string) => !hidden().has(idOf(uri));
  const rows = createMemo(() => {
    thread.shape();
    return logRows(
      events.items(),
      isShown,
      (uri) => uri === thread.root(),
      (id) => opened().has(id),
      (uri) => spawnCallOf(thread.set.get(uri)),
    );
  });
  const selected = createMemo(() => indexOfRow(rows(), selectedId()));
  const isOpen = (row: LogRow) => isRowOpen(row, opened());
  const toggle = (row: LogRow | undefined) => {
    if (row !== undefined) setOpened((before) => toggled(before, row));
  };
  const select = (index: number) => {
    const row = rows()[index];
    setSelectedId(row?.id ?? null);
    if (row !== undefined && row.is !== "group") setParams({ event: row.id });
  };
  const nextError = (direction: 1 | -1) => {
    const all = rows();
    for (let n = 1; n <= all.length; n += 1) {
      const index = (selected() + direction * n + all.length * 2) % all.length;
      const row = all[index];
      if (row !== undefined && isBad(row)) return select(index);
    }
  };
  useKeys({
    ...listKeys({ count: () => rows().length, selected, select, open: (index) => toggle(rows()[index]) }),
    ArrowRight: () => {
      const row = rows()[selected()];
      if (row !== undefined && !isOpen(row)) toggle(row);
    },
    ArrowLeft: () => {
      const row = rows()[selected()];
      if (row !== undefined && isOpen(row)) toggle(row);
    },
    f: () => setParams({ follow: follow() ? null : "1" }),
    e: () => nextError(1),
    E: () => nextError(-1),
    u: () => go("tree", thread.root()),
  });
  // The event in the URL may be inside of a group.
  createEffect(
    on(
      () => events.complete(),
      () => {
        const id = route().params.event;
        if (id === undefined) return;
        const group = rows().find((row) => row.is === "group" && row.entries.some((event) => event.id === id));
        if (group !== undefined && !isOpen(group)) toggle(group);
      },
    ),
  );

  return (
    <div class="page log">
      <Show
        when={!thread.error()}
        fallback={<Failure error={thread.error() as never} onRetry={() => void thread.reload()} />}
      >
        <ThreadHead thread={thread} />
        <Chips
          thread={thread}
          hues={hues()}
          hidden={hidden()}
          follow={follow()}
          entries={events.items().length}
          complete={events.complete()}
        />
        <Show when={events.error()}>{(error) => <Failure error={error()} />}</Show>
        <LogList
          label="Log"
          rows={rows()}
          selected={selected()}
          follow={follow()}
          agentOf={(uri) => thread.agent(uri)}
          idOf={idOf}
          hueOf={(uri) => hues().get(uri) ?? 0}
          isOpen={isOpen}
          onToggle={toggle}
        />
      </Show>
    </div>
  );
}

/** One chip per agent. */
function Chips(props: {
  thread: Thread;
  hues: ReadonlyMap<string, number>;
  hidden: ReadonlySet<string>;
  follow: boolean;
  entries: number;
  complete: boolean;
}) {
  const [query, setQuery] = createSignal("");
  const agents = createMemo(() => {
    props.thread.shape();
    return props.thread.set.subtree(props.thread.root() ?? "").flatMap((uri) => props.thread.set.get(uri) ?? []);
  });
  const idOf = (agent: AgentRecord) => agent.agentId ?? "main";
  const fitting = createMemo(() => {
    const text = query().toLowerCase();
    return agents().filter((agent) =>
      `${displayName(agent)} ${agent.type ?? ""} ${idOf(agent)}`.toLowerCase().includes(text),
    );
  });
  const hide = (ids: Iterable<string>) => setParams({ hide: [...ids].join(",") || null });
  const toggle = (id: string) =>
    hide(props.hidden.has(id) ? [...props.hidden].filter((one) => one !== id) : [...props.hidden, id]);
  return (
    <div class="log-tools">
      <div class="chips" role="group" aria-label="Agents shown">
        <For each={fitting().slice(0, CHIPS)}>
          {(agent) => (
            <button
              type="button"
              class="agent-chip"
              data-chip={idOf(agent)}
              aria-pressed={!props.hidden.has(idOf(agent))}
              ref={(element) =>
                createEffect(() => element.style.setProperty("--hue", String(props.hues.get(agent.uri) ?? 0)))
              }
              onClick={() => toggle(idOf(agent))}
              onDblClick={() =>
                hide(
                  agents()
                    .map(idOf)
                    .filter((id) => id !== idOf(agent)),
                )
              }
              {...tooltip(() => <AgentTip agent={agent} />)}
            >
              <StatusMark status={agent.status} /> {oneLine(displayName(agent), 32)}{" "}
              <code>{idOf(agent).slice(-5)}</code>
            </button>
          )}
        </For>
        <Show when={fitting().length > CHIPS}>
          <span class="muted">and {fitting().length - CHIPS} more: name them to see them</span>
        </Show>
      </div>
      <div class="chip-tools">
        <Show when={agents().length > 12}>
          <input
            type="search"
            placeholder="Find an agent"
            aria-label="Find an agent"
            onInput={(event) => setQuery(event.currentTarget.value)}
          />
        </Show>
        <button type="button" class="quiet" onClick={() => hide([])}>
          All
        </button>
        <button type="button" class="quiet" onClick={() => hide(agents().map(idOf))}>
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
        <label class="check">
          <input
            type="checkbox"
            checked={props.follow}
            onChange={(event) => setParams({ follow: event.currentTarget.checked ? "1" : null })}
          />
          Follow live <kbd>f</kbd>
        </label>
      </div>
    </div>
  );
}
