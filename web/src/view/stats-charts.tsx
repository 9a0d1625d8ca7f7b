import { createMemo, createSignal, For, Show } from "solid-js";
import { duration, exact, plural } from "../data/format.ts";
import {
  amountOf,
  type DayColumn,
  dayColumns,
  durationBoxes,
  type Group,
  type StatsBar,
  type StatsLine,
  type StatsMeasure,
  statsBars,
  valueText,
} from "../data/stats.ts";
import { oneLine } from "../data/text.ts";
import { hrefTo, route } from "../state/navigation.ts";
import { productOf } from "../state/server.ts";
import { DayColumns } from "./day-columns.tsx";
import { sized } from "./sized.ts";
import { StatusCounts } from "./status-counts.tsx";

export const MEASURE_LABELS: Readonly<Record<StatsMeasure, string>> = {
  cost: "Cost",
  tokens: "Tokens",
  time: "Time",
  agents: "Agents",
};
const FIRST = 8;

/** The URL parameter of a bar's thread list. */
const behindOf = (by: Group, key: string | null) => `${by}${key === null ? "" : `:${key}`}`;
const behindHref = (by: Group, key: string | null) =>
  hrefTo({ page: "stats", params: { ...route().params, behind: behindOf(by, key) } });
const nameOf = (key: string | null, by?: Group) =>
  key === null ? "(unknown)" : oneLine(by === "provider" ? productOf(key) : key, 120);

/** A table with bars: names, bars, numbers and outcomes. */
export function BarTable(props: { title: string; by: Group; lines: readonly StatsLine[]; measure: StatsMeasure }) {
  const [isAll, setIsAll] = createSignal(false);
  const bars = createMemo(() => statsBars(props.lines, props.measure));
  const shown = () => (isAll() ? bars() : bars().slice(0, FIRST));
  return (
    <section class="chart" classList={{ full: props.by === "template" }} data-chart={props.by}>
      <h2>{props.title}</h2>
      <table class="bars">
        <colgroup>
          <col class="name" />
          <col />
          <col class="number" />
          <col class="outcome" />
        </colgroup>
        <thead class="sr">
          <tr>
            <th scope="col">{props.title}</th>
            <th scope="col">Bar</th>
            <th scope="col">{MEASURE_LABELS[props.measure]}</th>
            <th scope="col">Outcome</th>
          </tr>
        </thead>
        <tbody>
          <For each={shown()}>
            {(bar) => (
              <tr data-key={bar.line.key ?? ""}>
                <th scope="row">
                  <a
                    href={behindHref(props.by, bar.line.key)}
                    title={`${nameOf(bar.line.key, props.by)}: ${plural(bar.line.threads, "thread")} behind it`}
                  >
                    {nameOf(bar.line.key, props.by)}
                  </a>
                </th>
                <td class="track">
                  <Bar bar={bar} measure={props.measure} />
                </td>
                <td class="number">{valueText(bar.line, props.measure)}</td>
                <td class="outcome">
                  <StatusCounts counts={bar.line.byStatus} />
                </td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={bars().length > FIRST}>
        <button type="button" class="quiet more" onClick={() => setIsAll(!isAll())}>
          {isAll() ? "Fewer" : `All ${exact(bars().length)}`}
        </button>
      </Show>
    </section>
  );
}

/** Failures are hatched, so that they do not depend on colour. */
function Bar(props: { bar: StatsBar; measure: StatsMeasure }) {
  const failed = () => amountOf(props.bar.line.failed, props.measure);
  return (
    <span
      class="bar-track"
      title={failed() > 0 ? `${valueText(props.bar.line.failed, props.measure)} on failed agents` : ""}
    >
      <span class="bar-fill" ref={(element) => sized(element, "width", () => props.bar.part)}>
        <span
          class="bar-failed"
          ref={(element) =>
            sized(element, "width", () => (props.bar.part === 0 ? 0 : props.bar.failed / props.bar.part))
          }
        />
      </span>
    </span>
  );
}

/** Usage by day, including empty days; the numbers are in the table below it. */
export function DayChart(props: { lines: readonly StatsLine[]; measure: StatsMeasure }) {
  const columns = createMemo(() => dayColumns(props.lines, props.measure));
  const most = () =>
    columns().reduce<DayColumn | null>(
      (max, column) => ((column.bar?.part ?? 0) > (max?.bar?.part ?? 0) ? column : max),
      null,
    );
  const shown = createMemo(() =>
    columns().map(({ day, bar }) => {
      if (bar === null) return { day, bar };
      const label = `${day}: ${valueText(bar.line, props.measure)}, ${plural(bar.line.agents, "agent")}`;
      const title = `${label}, ${bar.line.byStatus.errored ?? 0} failed`;
      return { day, bar: { part: bar.part, failed: bar.failed, href: behindHref("day", day), label, title } };
    }),
  );
  return (
    <section class="chart full" data-chart="day">
      <h2>
        By day
        <Show when={most()?.bar}>
          {(bar) => (
            <span class="muted">
              {" "}
              · at most {valueText(bar().line, props.measure)}, on {bar().line.key}
            </span>
          )}
        </Show>
      </h2>
      <DayColumns columns={shown()} />
      <details>
        <summary>Table</summary>
        <div class="scroll-x">
          <table class="numbers">
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col">Agents</th>
                <th scope="col">Failed</th>
                <th scope="col">Model calls</th>
                <th scope="col">Tokens</th>
                <th scope="col">Cost</th>
                <th scope="col">Time</th>
                <th scope="col">Threads</th>
              </tr>
            </thead>
            <tbody>
              <For each={props.lines.toReversed()}>
                {(line) => (
                  <tr>
                    <th scope="row">
                      <a href={behindHref("day", line.key)}>{nameOf(line.key)}</a>
                    </th>
                    <td>{exact(line.agents)}</td>
                    <td>{exact(line.byStatus.errored ?? 0)}</td>
                    <td>{exact(line.usage.calls)}</td>
                    <td>{valueText(line, "tokens")}</td>
                    <td>{valueText(line, "cost")}</td>
                    <td>{valueText(line, "time")}</td>
                    <td>{exact(line.threads)}</td>
                  </tr>
                )}
              </For>
            </tbody>
          </table>
        </div>
      </details>
    </section>
  );
}

/** Durations by template: the middle half as a box, the median as a line, minimum and maximum as whiskers. */
export function DurationChart(props: { lines: readonly StatsLine[] }) {
  const [isAll, setIsAll] = createSignal(false);
  const found = createMemo(() => durationBoxes(props.lines));
  const shown = () => (isAll() ? found().boxes : found().boxes.slice(0, FIRST));
  return (
    <section class="chart full" data-chart="durations">
      <h2>
        Duration of tasks{" "}
        <span class="muted">· by template, most frequent first; shortest, middle half, median, longest</span>
      </h2>
      <table class="bars durations">
        <colgroup>
          <col class="name" />
          <col />
          <col class="number" />
          <col class="number" />
          <col class="number" />
        </colgroup>
        <thead>
          <tr>
            <th scope="col">Template</th>
            <th scope="col" class="track">
              <span class="ticks">
                <For each={found().ticks}>
                  {({ at, ms }) => <span ref={(element) => sized(element, "left", () => at)}>{duration(ms)}</span>}
                </For>
              </span>
              <span class="sr">Distribution</span>
            </th>
            <th scope="col" class="number">
              Agents
            </th>
            <th scope="col" class="number">
              Median
            </th>
            <th scope="col" class="number">
              Longest
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={shown()}>
            {(box) => (
              <tr data-key={box.line.key ?? ""}>
                <th scope="row">
                  <a href={behindHref("template", box.line.key)} title={nameOf(box.line.key)}>
                    {nameOf(box.line.key)}
                  </a>
                </th>
                <td class="track">
                  <span class="box-track">
                    <span class="whisker" ref={(element) => spread(element, () => [box.least, box.most])} />
                    <span class="box" ref={(element) => spread(element, () => [box.quarter, box.threeQuarters])} />
                    <span class="median" ref={(element) => sized(element, "left", () => box.median)} />
                  </span>
                </td>
                <td class="number">{exact(box.line.agents)}</td>
                <td class="number">{duration(box.line.durations?.median ?? null)}</td>
                <td class="number">{duration(box.line.durations?.most ?? null)}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <Show when={found().boxes.length > FIRST}>
        <button type="button" class="quiet more" onClick={() => setIsAll(!isAll())}>
          {isAll() ? "Fewer" : `All ${exact(found().boxes.length)}`}
        </button>
      </Show>
    </section>
  );
}

function spread(element: HTMLElement, ends: () => readonly [number, number]): void {
  sized(element, "left", () => ends()[0]);
  sized(element, "width", () => ends()[1] - ends()[0]);
}
