import { createEffect, createMemo, createSignal, Match, Show, Switch } from "solid-js";
import { money, plural } from "../data/format.ts";
import { type ThreadFilters, threadRows } from "../data/thread-list.ts";
import { type AgentRecord, STATUSES } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { owner, route, setParams } from "../state/navigation.ts";
import { doctor, isTeam, productOf, reading, session } from "../state/server.ts";
import { useThreadList } from "../state/thread-list.ts";
import { Choice } from "../view/choice.tsx";
import { Failure } from "../view/failure.tsx";
import { List } from "../view/list.tsx";
import { ThreadLine, threadAddress } from "../view/thread-line.tsx";
import { NoThreads, NothingYet } from "./nothing-yet.tsx";
import { SearchResults } from "./search-results.tsx";

const PERIODS = [
  ["", "Any time"],
  ["1h", "Last hour"],
  ["1d", "Last day"],
  ["1w", "Last week"],
  ["4w", "Last four weeks"],
] as const;

/** The list of threads, or the results of a search. */
export default function ThreadsPage() {
  return (
    <Show when={route().params.q} fallback={<ThreadList />} keyed>
      {(text) => <SearchResults text={text} />}
    </Show>
  );
}

function ThreadList() {
  useClock();
  const param = (name: string) => route().params[name] ?? null;
  const filters = createMemo<ThreadFilters>(() => ({
    owner: owner(),
    provider: param("product"),
    project: param("project"),
    status: param("status"),
    since: param("since"),
  }));
  const isFiltered = () => Object.values(filters()).some((value) => value !== null);
  const list = useThreadList(filters);
  const rows = createMemo(() => threadRows(list.records().values(), filters(), now()));
  const threads = createMemo(() => rows().flatMap((row, index) => (row.is === "thread" ? [index] : [])));
  const [selectedId, setSelectedId] = createSignal<string | null>(null);
  const selected = createMemo(() => rows().findIndex((row) => row.id === selectedId()));
  useKeys(
    listKeys({
      count: () => threads().length,
      selected: () => threads().indexOf(selected()),
      select: (index) => setSelectedId(rows()[threads()[index] ?? -1]?.id ?? null),
      open: (index) => {
        const record = list.records().get(rows()[threads()[index] ?? -1]?.id ?? "");
        if (record !== undefined) location.hash = threadAddress(record);
      },
    }),
  );
  createEffect(() => {
    document.title = "retinue";
  });
  return (
    <div class="page threads">
      <div class="page-head">
        <h1>Threads</h1>
        <Filters filters={filters()} records={list.records()} />
      </div>
      <Switch>
        <Match when={list.error()}>{(error) => <Failure error={error()} onRetry={list.retry} />}</Match>
        <Match when={list.loaded() && rows().length === 0 && !isFiltered()}>
          <Show when={!isTeam} fallback={<NoThreads isAdmin={session()?.scope === "admin"} />}>
            <NothingYet />
          </Show>
        </Match>
        <Match when={list.loaded() && rows().length === 0}>
          <NoMatch />
        </Match>
        <Match when={list.loaded()}>
          <List
            label="Threads"
            rows={rows()}
            height={(row) => (row.is === "heading" ? 40 : 60)}
            selected={selected()}
            onEnd={() => void list.more()}
            row={(row, index) => (
              <Show when={list.records().get(row().id)} fallback={<Heading row={row()} />}>
                {(record) => <ThreadLine record={record()} selected={index() === selected()} index={index()} />}
              </Show>
            )}
          />
          <Totals
            records={threads().flatMap((index) => list.records().get(rows()[index]?.id ?? "") ?? [])}
            isComplete={list.isComplete()}
          />
        </Match>
      </Switch>
    </div>
  );
}

function NoMatch() {
  return (
    <div class="nothing">
      <p class="big">No thread matches these filters.</p>
      <button
        type="button"
        onClick={() => setParams({ owner: null, product: null, project: null, status: null, since: null })}
      >
        Show all
      </button>
    </div>
  );
}

/** Totals of the threads that are shown; older ones are loaded when the list is scrolled. */
function Totals(props: { records: readonly AgentRecord[]; isComplete: boolean }) {
  const sum = (of: (record: AgentRecord) => number) => props.records.reduce((total, record) => total + of(record), 0);
  return (
    <p class="foot muted">
      {props.isComplete ? "" : "The latest "}
      {plural(props.records.length, "thread")} with{" "}
      {plural(
        sum(({ counts }) => counts.descendants),
        "agent",
      )}{" "}
      below them · {money(sum(({ usage }) => usage.subtree.costUsd ?? 0))} known cost
      <Show when={reading()}> · reading</Show>
    </p>
  );
}

function Heading(props: { row: { is: string; text?: string; count?: number } }) {
  return (
    <h2 class="group">
      {props.row.text} <span class="muted">{props.row.count}</span>
    </h2>
  );
}

function Filters(props: { filters: ThreadFilters; records: ReadonlyMap<string, AgentRecord> }) {
  const products = createMemo(() => [
    ...new Set([
      ...(doctor()?.versions.map((v) => v.provider) ?? []),
      ...[...props.records.values()].map((r) => r.provider),
    ]),
  ]);
  const projects = createMemo(() => {
    const found = new Map(
      [...props.records.values()].flatMap((r) => (r.cwd === null ? [] : [[r.cwd, r.project ?? r.cwd] as const])),
    );
    const chosen = props.filters.project;
    if (chosen !== null && !found.has(chosen)) found.set(chosen, chosen);
    return [...found].sort(([, a], [, b]) => a.localeCompare(b));
  });
  return (
    <div class="filters">
      <Choice
        label="Product"
        name="product"
        value={props.filters.provider}
        any="All products"
        options={products().map((p) => [p, productOf(p)])}
      />
      <Choice label="Project" name="project" value={props.filters.project} any="All projects" options={projects()} />
      <Choice
        label="Status"
        name="status"
        value={props.filters.status}
        any="Any status"
        options={STATUSES.map((status) => [status, status])}
      />
      <Choice label="Time" name="since" value={props.filters.since} any={PERIODS[0][1]} options={PERIODS.slice(1)} />
    </div>
  );
}
