import { For, type JSX } from "solid-js";
import { createShortList } from "./short-list.tsx";
import { sized } from "./sized.ts";

export interface Bar {
  readonly key: string | null;
  readonly name: string;
  readonly href: string;
  /** More about the line, when the pointer is over its name. */
  readonly title: string;
  /** Its length, as a part of the longest. */
  readonly part: number;
  /** The part of failed agents; it is hatched, so that it does not depend on colour. */
  readonly failed?: { readonly part: number; readonly title: string };
  readonly value: string;
  /** The last cell. */
  readonly more: JSX.Element;
}

/** Rows that are shown at first. */
const FIRST = 8;

/** A table of names, bars, numbers and one more column. */
export function BarTable(props: {
  title: string;
  /** The name of the chart in the page. */
  chart: string;
  /** As wide as the page. */
  isFull?: boolean;
  bars: readonly Bar[];
  valueLabel: string;
  moreLabel: string;
  /** The class of the last column. */
  moreClass: string;
}) {
  const list = createShortList(() => props.bars, FIRST);
  return (
    <section class="chart" classList={{ full: props.isFull === true }} data-chart={props.chart}>
      <h2>{props.title}</h2>
      <table class="bars">
        <colgroup>
          <col class="name" />
          <col />
          <col class="number" />
          <col class={props.moreClass} />
        </colgroup>
        <thead class="sr">
          <tr>
            <th scope="col">{props.title}</th>
            <th scope="col">Bar</th>
            <th scope="col">{props.valueLabel}</th>
            <th scope="col">{props.moreLabel}</th>
          </tr>
        </thead>
        <tbody>
          <For each={list.shown()}>{(bar) => <Row bar={bar} moreClass={props.moreClass} />}</For>
        </tbody>
      </table>
      <list.Switch />
    </section>
  );
}

function Row(props: { bar: Bar; moreClass: string }) {
  const failed = () => props.bar.failed ?? { part: 0, title: "" };
  return (
    <tr data-key={props.bar.key ?? ""}>
      <th scope="row">
        <a href={props.bar.href} title={props.bar.title}>
          {props.bar.name}
        </a>
      </th>
      <td class="track">
        <span class="bar-track" title={failed().title}>
          <span class="bar-fill" ref={(element) => sized(element, "width", () => props.bar.part)}>
            <span
              class="bar-failed"
              ref={(element) =>
                sized(element, "width", () => (props.bar.part === 0 ? 0 : failed().part / props.bar.part))
              }
            />
          </span>
        </span>
      </td>
      <td class="number">{props.bar.value}</td>
      <td class={props.moreClass}>{props.bar.more}</td>
    </tr>
  );
}
