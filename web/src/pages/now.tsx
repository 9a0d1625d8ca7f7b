import { createMemo, createSignal, Show } from "solid-js";
import { ago, money, plural } from "../data/format.ts";
import { isSilent, type NowRow, nowRows, type PersonHeading } from "../data/team.ts";
import { oneLine } from "../data/text.ts";
import { now, useClock } from "../state/clock.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { hrefTo, owner } from "../state/navigation.ts";
import { useRefreshed } from "../state/refreshed.ts";
import { api } from "../state/server.ts";
import { List } from "../view/list.tsx";
import { Loaded } from "../view/loaded.tsx";
import { ThreadLine, threadAddress } from "../view/thread-line.tsx";

const LIMIT = 1_000;
const REFRESH_MS = 1_000;

/** The running threads of a team, by person. */
export default function NowPage() {
  useClock();
  document.title = "Now · retinue";
  const running = useRefreshed(
    () => LIMIT,
    (limit, signal) => api.running(limit, signal),
    REFRESH_MS,
  );
  const rows = createMemo(() => nowRows(running.value()?.items ?? [], now()));
  const threads = createMemo(() => rows().flatMap((row, index) => (row.is === "thread" ? [index] : [])));
  const [selectedId, setSelectedId] = createSignal<string | null>(null);
  const selected = createMemo(() => rows().findIndex((row) => row.id === selectedId()));
  useKeys({
    r: running.reload,
    ...listKeys({
      count: () => threads().length,
      selected: () => threads().indexOf(selected()),
      select: (index) => setSelectedId(rows()[threads()[index] ?? -1]?.id ?? null),
      open: (index) => {
        const row = rows()[threads()[index] ?? -1];
        if (row?.is === "thread") location.hash = threadAddress(row.record);
      },
    }),
  });
  return (
    <div class="page threads now">
      <div class="page-head">
        <h1>Now</h1>
      </div>
      <Loaded of={running}>
        {(found) => (
          <Show when={found().items.length > 0} fallback={<NothingRunning />}>
            <List
              label="Running threads"
              rows={rows()}
              height={(row) => (row.is === "person" ? 40 : 60)}
              selected={selected()}
              row={(row, index) => (
                <Show when={threadIn(row())} fallback={<Heading row={row()} />}>
                  {(thread) => (
                    <ThreadLine
                      record={thread().record}
                      runaway={thread().runaway}
                      selected={index() === selected()}
                      index={index()}
                      isNow
                    />
                  )}
                </Show>
              )}
            />
            <Totals rows={rows()} />
          </Show>
        )}
      </Loaded>
    </div>
  );
}

function NothingRunning() {
  return (
    <div class="nothing">
      <p class="big">{owner() === null ? "No agents are running." : `${owner()} has no running agents.`}</p>
      <p class="muted">Agents appear here as soon as they start.</p>
      <p>
        <a href={hrefTo({ page: "threads" })}>All threads</a>
      </p>
    </div>
  );
}

function Totals(props: { rows: readonly NowRow[] }) {
  const people = () => props.rows.filter((row) => row.is === "person");
  const sum = (of: (person: PersonHeading) => number) => people().reduce((total, person) => total + of(person), 0);
  const threads = () => sum((person) => person.threads);
  return (
    <p class="foot muted" role="status">
      {plural(people().length, "person", "people")} with {plural(threads(), "running thread")},{" "}
      {plural(
        sum(({ agents }) => agents),
        "running agent",
      )}{" "}
      · {money(sum(({ costUsd }) => costUsd))} so far
      <Show when={threads() === LIMIT}> · only the {LIMIT} latest threads are shown</Show>
    </p>
  );
}

const threadIn = (row: NowRow) => (row.is === "thread" ? row : undefined);

function Heading(props: { row: NowRow }) {
  return (
    <Show when={props.row.is === "person" ? props.row : undefined}>
      {(person) => (
        <h2 class="group" data-owner={person().owner}>
          <a href={hrefTo({ page: "threads", params: { owner: person().owner } })}>{oneLine(person().owner, 60)}</a>
          <span class="muted">
            {plural(person().agents, "running agent")} · {money(person().costUsd)}
          </span>
          <Show when={isSilent(person().shippedAt, now())}>
            <span class="chip bad" title="The machine is asleep or offline; its agents may have ended">
              last sent {ago(person().shippedAt, now())}
            </span>
          </Show>
        </h2>
      )}
    </Show>
  );
}
