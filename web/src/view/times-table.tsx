import { createEffect, Index } from "solid-js";
import { duration, exact, money } from "../data/format.ts";
import { busyMs, type Span } from "../data/span-set.ts";
import { totalTokens } from "../data/types.ts";
import type { Waterfall, WaterfallRow } from "../data/waterfall.ts";
import { hrefTo } from "../state/navigation.ts";
import { StatusBadge } from "./status.tsx";

/** The waterfall and the icicle as a table. */
export function TimesTable(props: {
  picture: Waterfall;
  shares: ReadonlyMap<string, number>;
  now: number;
  selected: string | null;
}) {
  const timeOf = (row: WaterfallRow, kind: Span["kind"]) => sumOf(row.list.spans, kind, props.now);
  const startOf = ({ life }: WaterfallRow) => (life === undefined ? null : life.from - props.picture.from);
  const durationOf = ({ life }: WaterfallRow) => (life === undefined ? null : life.to - life.from);
  return (
    <div class="table-scroll">
      <table class="numbers">
        <caption class="sr">Start, working time, waiting time and usage of each agent</caption>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Status</th>
            <th scope="col">Started after</th>
            <th scope="col">Duration</th>
            <th scope="col">Model</th>
            <th scope="col">Tools</th>
            <th scope="col">Waiting</th>
            <th scope="col">On the critical path</th>
            <th scope="col">Model calls</th>
            <th scope="col">Tokens</th>
            <th scope="col">Cost</th>
          </tr>
        </thead>
        <tbody>
          <Index each={props.picture.rows}>
            {(row) => (
              <tr
                data-uri={row().uri}
                data-from={row().life?.from}
                data-to={row().life?.to}
                aria-selected={row().uri === props.selected}
              >
                <th
                  scope="row"
                  ref={(element) =>
                    createEffect(() => element.style.setProperty("--depth", String(Math.min(row().depth, 10))))
                  }
                >
                  <a href={hrefTo({ page: "agent", uri: row().uri })}>{row().name}</a>
                </th>
                <td>
                  <StatusBadge agent={row().record} />
                </td>
                <td>{duration(startOf(row()))}</td>
                <td>{duration(durationOf(row()))}</td>
                <td>{duration(timeOf(row(), "model"))}</td>
                <td>{duration(timeOf(row(), "tool"))}</td>
                <td>{duration(timeOf(row(), "wait"))}</td>
                <td>{duration(props.shares.get(row().uri) ?? 0)}</td>
                <td>{exact(row().record.usage.own.calls)}</td>
                <td>{exact(totalTokens(row().record.usage.own))}</td>
                <td>{money(row().record.usage.own.costUsd)}</td>
              </tr>
            )}
          </Index>
        </tbody>
      </table>
    </div>
  );
}

/** Total time of one kind of spans. Overlapping spans count once: `busyMs` ignores only waiting, hence the kind. */
const sumOf = (spans: readonly Span[], kind: Span["kind"], now: number) =>
  busyMs(
    spans.filter((span) => span.kind === kind).map((span) => ({ ...span, kind: "tool" as const })),
    now,
  );
