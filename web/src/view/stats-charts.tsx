import { createMemo, For, Show } from "solid-js";
import { type DayColumn, dayColumns } from "../data/days.ts";
import { duration, exact, plural } from "../data/format.ts";
import {
  amountOf,
  type DurationBox,
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
import { BarTable } from "./bar-table.tsx";
import { DayColumns } from "./day-columns.tsx";
import { createShortList } from "./short-list.tsx";
import { sized } from "./sized.ts";
import { StatusCounts } from "./status-counts.tsx";

export const MEASURE_LABELS: Readonly<Record<StatsMeasure, string>> = {
  cost: "Cost",
  tokens: "Tokens",
  time: "Time",
  agents: "Agents",
};
/** Rows of a table that are shown at first. */
const FIRST = 8;

/** The link to the threads that are counted in a line. */
const threadsHref = (by: Group, key: string | null) =>
  hrefTo({ page: "stats", params: { ...route().params, behind: `${by}${key === null ? "" : `:${key}`}` } });
const nameOf = (key: string | null, by?: Group) =>
  key === null ? "(unknown)" : oneLine(by === "provider" ? productOf(key) : key, 120);

/** What a measure is made of, by one of the groups. */
export function StatsTable(props: { title: string; by: Group; lines: readonly StatsLine[]; measure: StatsMeasure }) {
  const bars = createMemo(() =>
    statsBars(props.lines, props.measure).map(({ line, part, failed }) => {
      const name = nameOf(line.key, props.by);
      const isFailed = amountOf(line.failed, props.measure) > 0;
      return {
        key: line.key,
        name,
        href: threadsHref(props.by, line.key),
        title: `${name}: ${plural(line.threads, "thread")}`,
        part,
        failed: { part: failed, title: isFailed ? `${valueText(line.failed, props.measure)} on failed agents` : "" },
        value: valueText(line, props.measure),
        more: <StatusCounts counts={line.byStatus} />,
      };
    }),
  );
  return (
    <BarTable
      title={props.title}
      chart={props.by}
      isFull={props.by === "template"}
      bars={bars()}
      valueLabel={MEASURE_LABELS[props.measure]}
      moreLabel="Outcome"
      moreClass="outcome"
    />
  );
}

/** Usage by day as columns, including days without usage, and as a table. */
export function DayChart(props: { lines: readonly StatsLine[]; measure: StatsMeasure }) {
  const chart = createMemo(() => dayColumns(props.lines, Date.now(), (lines) => statsBars(lines, props.measure, true)));
  const highest = () =>
    chart().columns.reduce<DayColumn<StatsBar> | null>(
      (max, column) => ((column.bar?.part ?? 0) > (max?.bar?.part ?? 0) ? column : max),
      null,
    );
  const linked = (line: StatsLine) => ({
    href: threadsHref("day", line.key),
    label: `${line.key ?? "unknown day"}: ${valueText(line, props.measure)}, ${plural(line.agents, "agent")}`,
  });
  const shown = createMemo(() =>
    chart().columns.map(({ day, bar }) => {
      if (bar === null) return { day, bar };
      const { href, label } = linked(bar.line);
      const title = `${label}, ${bar.line.byStatus.errored ?? 0} failed`;
      return { day, bar: { part: bar.part, failed: bar.failed, href, label, title } };
    }),
  );
  return (
    <section class="chart full" data-chart="day">
      <h2>
        By day
        <Show when={highest()?.bar}>
          {(bar) => (
            <span class="muted">
              {" "}
              · highest: {valueText(bar().line, props.measure)} on {bar().line.key}
            </span>
          )}
        </Show>
      </h2>
      <DayColumns columns={shown()} outside={chart().outside.map((line) => ({ day: line.key, ...linked(line) }))} />
      <DayTable lines={props.lines} />
    </section>
  );
}

function DayTable(props: { lines: readonly StatsLine[] }) {
  return (
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
                    <a href={threadsHref("day", line.key)}>{nameOf(line.key)}</a>
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
  );
}

/** Durations by template as box plots: the middle half as a box, the median as a line, minimum and maximum as whiskers. */
export function DurationChart(props: { lines: readonly StatsLine[] }) {
  const plot = createMemo(() => durationBoxes(props.lines));
  const list = createShortList(() => plot().boxes, FIRST);
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
                <For each={plot().ticks}>
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
          <For each={list.shown()}>{(box) => <DurationRow box={box} />}</For>
        </tbody>
      </table>
      <list.Switch />
    </section>
  );
}

function DurationRow(props: { box: DurationBox }) {
  const line = () => props.box.line;
  return (
    <tr data-key={line().key ?? ""}>
      <th scope="row">
        <a href={threadsHref("template", line().key)} title={nameOf(line().key)}>
          {nameOf(line().key)}
        </a>
      </th>
      <td class="track">
        <span class="box-track">
          <span class="whisker" ref={(element) => spread(element, () => [props.box.least, props.box.most])} />
          <span class="box" ref={(element) => spread(element, () => [props.box.quarter, props.box.threeQuarters])} />
          <span class="median" ref={(element) => sized(element, "left", () => props.box.median)} />
        </span>
      </td>
      <td class="number">{exact(line().agents)}</td>
      <td class="number">{duration(line().durations?.median ?? null)}</td>
      <td class="number">{duration(line().durations?.most ?? null)}</td>
    </tr>
  );
}

/** Sets the horizontal extent of an element, as fractions of its container. */
function spread(element: HTMLElement, ends: () => readonly [number, number]): void {
  sized(element, "left", () => ends()[0]);
  sized(element, "width", () => ends()[1] - ends()[0]);
}
