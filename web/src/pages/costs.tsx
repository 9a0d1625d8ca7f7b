import "../styles/pictures.css";
import "../styles/stats.css";
import { createMemo, For, Show } from "solid-js";
import { dayColumns } from "../data/days.ts";
import { count, exact, plural } from "../data/format.ts";
import { type BudgetUse, type CostGroup, type CostLine, costBars, costText } from "../data/team.ts";
import { oneLine } from "../data/text.ts";
import { useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { hrefTo, owner, route } from "../state/navigation.ts";
import { useRefreshed } from "../state/refreshed.ts";
import { api } from "../state/server.ts";
import { BarTable } from "../view/bar-table.tsx";
import { BudgetBar } from "../view/budget-bar.tsx";
import { Choice } from "../view/choice.tsx";
import { DayColumns } from "../view/day-columns.tsx";
import { Loaded } from "../view/loaded.tsx";
import { createShortList } from "../view/short-list.tsx";

const REFRESH_MS = 5_000;
/** Rows of a table that are shown at first. */
const FIRST = 8;
const ALL = "all";
const PERIODS = [
  ["7d", "7 days"],
  ["30d", "30 days"],
  ["90d", "90 days"],
  [ALL, "All time"],
] as const;
const TABLES: readonly (readonly [CostGroup, string])[] = [
  ["owner", "By person"],
  ["project", "By project"],
  ["model", "By model"],
  ["type", "By type of agent"],
];

/** The first day of this month (UTC), the default period, because budgets are monthly. */
const thisMonth = () => `${new Date().toISOString().slice(0, 7)}-01`;

/** Costs by person, project, model, agent type and day, and how much of the budgets is used. */
export default function CostsPage() {
  useClock();
  document.title = "Costs · retinue";
  const since = () => {
    const period = route().params.since ?? thisMonth();
    return period === ALL ? undefined : period;
  };
  const costs = useRefreshed(since, (from, signal) => api.costs(from, signal), REFRESH_MS);
  useKeys({ r: costs.reload });
  return (
    <div class="page scroll stats costs">
      <div class="page-head">
        <h1>Costs</h1>
        <span class="filters">
          <Choice label="Period" name="since" value={route().params.since ?? null} any="This month" options={PERIODS} />
        </span>
      </div>
      <Loaded of={costs}>
        {(found) => (
          <>
            <Show when={found().budgets.length > 0}>
              <Budgets budgets={found().budgets} month={found().month} />
            </Show>
            <Show when={found().total.threads > 0} fallback={<p class="muted">No usage in this period.</p>}>
              <Totals total={found().total} people={found().by.owner.length} />
              <div class="charts">
                <Days lines={found().by.day} since={since()} />
                <For each={TABLES.filter(([by]) => by !== "owner" || owner() === null)}>
                  {([by, title]) => <CostTable title={title} by={by} lines={found().by[by]} since={since()} />}
                </For>
              </div>
            </Show>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Totals(props: { total: CostLine; people: number }) {
  return (
    <dl class="in-short">
      <div>
        <dt>Cost</dt>
        <dd data-total="cost">{costText(props.total)}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd data-total="tokens">{count(props.total.tokens)}</dd>
      </div>
      <div>
        <dt>Model calls</dt>
        <dd>
          {exact(props.total.calls)}
          <Show when={props.total.unpricedCalls > 0}>
            <span class="muted"> {exact(props.total.unpricedCalls)} without a known price</span>
          </Show>
        </dd>
      </div>
      <div>
        <dt>Threads</dt>
        <dd>{exact(props.total.threads)}</dd>
      </div>
      <div>
        <dt>People</dt>
        <dd data-total="people">{exact(props.people)}</dd>
      </div>
    </dl>
  );
}

const KIND_LABELS: Readonly<Record<BudgetUse["of"], string>> = { owner: "person", team: "team", project: "project" };

function Budgets(props: { budgets: readonly BudgetUse[]; month: string }) {
  const list = createShortList(() => props.budgets, FIRST);
  return (
    <section class="chart budgets">
      <h2>
        Budgets <span class="muted">· {props.month} (UTC), most used first</span>
      </h2>
      <table>
        <tbody>
          <For each={list.shown()}>
            {(budget) => (
              <tr data-budget={`${budget.of} ${budget.name}`}>
                <th scope="row">
                  <span class="muted">{KIND_LABELS[budget.of]}</span> {oneLine(budget.name, 60)}
                </th>
                <td>
                  <BudgetBar budget={budget} month={props.month} />
                </td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
      <list.Switch />
    </section>
  );
}

const nameOf = (key: string | null) => (key === null ? "(unknown)" : oneLine(key, 120));

/** The link of a line: to the costs of a person, or to the threads that are counted in the line. */
function lineHref(by: CostGroup, key: string | null, since: string | undefined): string {
  if (by === "owner") return hrefTo({ page: "costs", params: { ...route().params, owner: key } });
  return hrefTo({ page: "stats", params: { since, behind: key === null ? by : `${by}:${key}` } });
}

function CostTable(props: { title: string; by: CostGroup; lines: readonly CostLine[]; since: string | undefined }) {
  const bars = createMemo(() =>
    costBars(props.lines).map(({ line, part }) => ({
      key: line.key,
      name: nameOf(line.key),
      href: lineHref(props.by, line.key, props.since),
      title: `${nameOf(line.key)}: ${plural(line.threads, "thread")}, ${plural(line.calls, "model call")}`,
      part,
      value: costText(line),
      more: count(line.tokens),
    })),
  );
  return (
    <BarTable
      title={props.title}
      chart={props.by}
      bars={bars()}
      valueLabel="Cost"
      moreLabel="Tokens"
      moreClass="number muted"
    />
  );
}

function Days(props: { lines: readonly CostLine[]; since: string | undefined }) {
  const chart = createMemo(() => dayColumns(props.lines, Date.now(), costBars));
  const linked = (line: CostLine) => ({
    href: lineHref("day", line.key, props.since),
    label: `${line.key ?? "unknown day"}: ${costText(line)}, ${plural(line.threads, "thread")}`,
  });
  const columns = createMemo(() =>
    chart().columns.map(({ day, bar }) => {
      if (bar === null) return { day, bar };
      const { href, label } = linked(bar.line);
      return { day, bar: { part: bar.part, failed: 0, href, label, title: label } };
    }),
  );
  return (
    <section class="chart full" data-chart="day">
      <h2>By day</h2>
      <DayColumns columns={columns()} outside={chart().outside.map((line) => ({ day: line.key, ...linked(line) }))} />
    </section>
  );
}
