import "../styles/pictures.css";
import "../styles/stats.css";
import { createMemo, createResource, For, lazy, Show, Suspense } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { ago, count, displayName, exact, money, percent, plural } from "../data/format.ts";
import {
  amountOf,
  type Group,
  STATS_MEASURES,
  type StatsLine,
  type StatsMeasure,
  type StatsResponse,
  type StatsThread,
  valueText,
} from "../data/stats.ts";
import { oneLine } from "../data/text.ts";
import { totalTokens } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { hrefTo, owner, route, setParams } from "../state/navigation.ts";
import { useRefreshed } from "../state/refreshed.ts";
import { api, productOf } from "../state/server.ts";
import { Failure } from "../view/failure.tsx";
import { DayChart, DurationChart, MEASURE_LABELS, StatsTable } from "../view/stats-charts.tsx";

const Overlay = lazy(async () => ({ default: (await import("../view/overlay.tsx")).Overlay }));

const REFRESH_MS = 3_000;
const PERIODS = [
  ["", "All time"],
  ["1d", "Today and yesterday"],
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
] as const;
const CHARTS: readonly (readonly [Group, string])[] = [
  ["model", "By model"],
  ["type", "By type of agent"],
  ["project", "By project"],
  ["provider", "By product"],
  ["status", "By outcome"],
  ["template", "By task template"],
];

/** Usage of all agents: totals, by day and by group. */
export default function StatsPage() {
  useClock();
  document.title = "Stats · retinue";
  const since = () => route().params.since;
  const measure = (): StatsMeasure => STATS_MEASURES.find((one) => one === route().params.measure) ?? "cost";
  const { value: stats, error, reload } = useRefreshed(since, (from, signal) => api.stats(from, signal), REFRESH_MS);
  useKeys({ r: reload, Escape: () => setParams({ behind: null }) });
  return (
    <div class="page scroll stats">
      <div class="page-head">
        <h1>Stats</h1>
        <Filters since={since()} measure={measure()} />
      </div>
      <Show when={error()}>{(failure) => <Failure error={failure()} onRetry={reload} />}</Show>
      <Show when={stats()}>{(found) => <Charts stats={found()} measure={measure()} />}</Show>
      <Show when={route().params.behind}>{(line) => <ThreadsDrawer line={line()} since={since()} />}</Show>
    </div>
  );
}

function Filters(props: { since: string | undefined; measure: StatsMeasure }) {
  return (
    <span class="filters">
      <select aria-label="Period" onChange={(event) => setParams({ since: event.currentTarget.value || null })}>
        <For each={PERIODS}>
          {([value, label]) => (
            <option value={value} selected={(props.since ?? "") === value}>
              {label}
            </option>
          )}
        </For>
      </select>
      <fieldset class="switch">
        <legend class="sr">Measure</legend>
        <For each={STATS_MEASURES}>
          {(one) => (
            <button
              type="button"
              aria-pressed={props.measure === one}
              onClick={() => setParams({ measure: one === "cost" ? null : one })}
            >
              {MEASURE_LABELS[one]}
            </button>
          )}
        </For>
      </fieldset>
    </span>
  );
}

function Charts(props: { stats: StatsResponse; measure: StatsMeasure }) {
  return (
    <Show when={props.stats.total.agents > 0} fallback={<p class="muted">No usage in this period.</p>}>
      <Show when={props.stats.incomplete}>
        {(progress) => (
          <p class="incomplete" data-testid="incomplete">
            These totals are incomplete: {exact(progress().all - progress().done)} of {plural(progress().all, "file")}{" "}
            have not been read yet.
          </p>
        )}
      </Show>
      <Show when={props.stats.approximate}>
        <p class="muted" data-testid="approximate">
          Numbers of threads and durations are approximate; tokens, costs and agents are exact.
        </p>
      </Show>
      <Summary total={props.stats.total} measure={props.measure} />
      <div class="charts">
        <DayChart lines={props.stats.by.day} measure={props.measure} />
        <For each={CHARTS}>
          {([by, title]) => <StatsTable title={title} by={by} lines={props.stats.by[by]} measure={props.measure} />}
        </For>
        <DurationChart lines={props.stats.by.template} />
      </div>
    </Show>
  );
}

function Summary(props: { total: StatsLine; measure: StatsMeasure }) {
  const part = (some: StatsLine["failed"]) => {
    const whole = amountOf(props.total, props.measure);
    return whole === 0 ? 0 : amountOf(some, props.measure) / whole;
  };
  const own = () => 1 - part(props.total.delegated);
  return (
    <dl class="in-short">
      <div>
        <dt>Cost</dt>
        <dd data-total="cost">{valueText(props.total, "cost")}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd data-total="tokens">{count(totalTokens(props.total.usage))}</dd>
      </div>
      <div>
        <dt>{plural(props.total.threads, "thread")}</dt>
        <dd data-total="agents">{plural(props.total.agents, "agent")}</dd>
      </div>
      <div class="split" title="Usage of the threads themselves and of their sub-agents">
        <dt>
          Own {percent(own())} · delegated {percent(part(props.total.delegated))}
        </dt>
        <dd>
          <span
            class="split-bar"
            role="img"
            aria-label={`${valueText(props.total.delegated, props.measure)} of it delegated`}
          >
            <span
              class="own"
              ref={(element) => createMemo(() => element.style.setProperty("width", `${own() * 100}%`))}
            />
          </span>
          <span class="muted">{valueText(props.total.delegated, props.measure)} delegated</span>
        </dd>
      </div>
      <div class="split" title="Usage of agents that ended with an error">
        <dt>Spent on agents that failed</dt>
        <dd data-total="failed">
          {valueText(props.total.failed, props.measure)}{" "}
          <span class="muted">
            {percent(part(props.total.failed))}, {plural(props.total.failed.agents, "agent")}
          </span>
        </dd>
      </div>
    </dl>
  );
}

/** The threads that are counted in a line of the statistics. `line` is the URL parameter, such as `type:Explore`. */
function ThreadsDrawer(props: { line: string; since: string | undefined }) {
  const query = createMemo(() => {
    const at = props.line.indexOf(":");
    return {
      by: (at < 0 ? props.line : props.line.slice(0, at)) as Group,
      key: at < 0 ? null : props.line.slice(at + 1),
      since: props.since,
      owner: owner(),
    };
  });
  const [threads] = createResource(query, ({ by, key, since }) => api.statsThreads(by, key, since));
  return (
    <Suspense>
      <Overlay label="Threads of this bar" class="drawer" onClose={() => setParams({ behind: null })}>
        <h2>
          {query().by}: {query().key === null ? "(unknown)" : oneLine(query().key ?? "", 160)}
        </h2>
        <Show when={threads.error as ApiError | undefined}>{(error) => <Failure error={error()} />}</Show>
        <Show when={threads.state === "ready" && threads()?.items.length === 0}>
          <p class="muted">No threads in this period.</p>
        </Show>
        <ul class="behind">
          <For each={threads.state === "ready" ? threads()?.items : []}>
            {(thread) => <ThreadItem thread={thread} />}
          </For>
        </ul>
      </Overlay>
    </Suspense>
  );
}

function ThreadItem(props: { thread: StatsThread }) {
  const record = () => props.thread.record;
  return (
    <li data-uri={props.thread.key}>
      <a href={hrefTo({ page: "tree", uri: props.thread.key, params: { owner: record()?.owner } })} dir="auto">
        <Show when={record()} fallback={props.thread.key}>
          {(known) => oneLine(displayName(known()), 120)}
        </Show>
      </a>
      <span class="muted">
        <Show when={record()?.owner}>
          {(name) => (
            <>
              <b class="owner">{oneLine(name(), 40)}</b> ·{" "}
            </>
          )}
        </Show>
        <Show when={record()}>
          {(known) => `${productOf(known().provider)} · ${ago(known().lastActivityAt, now())} · `}
        </Show>
        {plural(props.thread.agents, "agent")} · {exact(totalTokens(props.thread.usage))} tokens ·{" "}
        {money(props.thread.usage.costUsd)}
      </span>
    </li>
  );
}
