import { displayName } from "../../core/facts/display-name.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { count, duration, money } from "../../core/tools/format.ts";
import { everyone, type Story, withDepths } from "../../core/views/story.ts";
import type { Span } from "../trace/span.ts";
import { escaped } from "./escape.ts";

/** Returns the anchor of an agent in the page. */
export type Anchor = (story: Story) => string;

export function anchors(story: Story): Anchor {
  const numbers = new Map([...everyone(story)].map((one, i) => [one.record.uri, `agent-${i + 1}`]));
  return ({ record }) => numbers.get(record.uri) ?? "";
}

/** Maximum indentation; the style sheet has a class for each level. */
const MAX_INDENT = 15;

/** The tree with a bar per agent: its duration, and its model and tool calls. */
export function treeHtml(story: Story, spans: readonly Span[], anchor: Anchor): string {
  const range = rangeOf(spans);
  const byAgent = Map.groupBy(spans, (span) => span.story.record.uri);
  const draw = (one: Story, depth: number): string => {
    const { record } = one;
    const hasBelow = one.children.length > 0;
    const mark = hasBelow ? '<span class="fold"></span>' : '<span class="leaf"></span>';
    const who = `<span class="who d${Math.min(depth, MAX_INDENT)}">${mark}<a href="#${anchor(one)}-log">${escaped(displayName(record))}</a>${typeHtml(record)}</span>`;
    const cells = [
      who,
      `<span class="status ${record.status}" title="${escaped(record.statusReason)}">${record.status}</span>`,
      `<span class="n">${count(totalTokens(record.usage.subtree))}</span>`,
      `<span class="n">${money(record.usage.subtree.costUsd)}</span>`,
      `<span class="n">${duration(record.durationMs)}</span>`,
      bar(one, byAgent.get(record.uri) ?? [], range),
    ].join("");
    const row = (tag: string) => `<${tag} class="row" data-agent="${anchor(one)}">${cells}</${tag}>`;
    return hasBelow ? `<details open>${row("summary")}` : row("div");
  };
  const rows: string[] = [];
  let open = 0;
  for (const { one, depth } of withDepths(story)) {
    rows.push("</details>".repeat(open - depth), draw(one, depth));
    open = one.children.length > 0 ? depth + 1 : depth;
  }
  const head =
    '<div class="row head"><span>agent</span><span>status</span><span class="n">tokens</span><span class="n">cost</span><span class="n">time</span><span>when</span></div>';
  return `<div class="tree">${head}${rows.join("")}${"</details>".repeat(open)}</div>`;
}

/** The agent's type; omitted if it equals the name. */
export const typeHtml = (record: Story["record"]) =>
  record.type === null || record.type === displayName(record)
    ? ""
    : ` <span class="dim">${escaped(record.type)}</span>`;

interface Range {
  readonly from: number;
  readonly length: number;
}

function rangeOf(spans: readonly Span[]): Range {
  const from = spans.reduce((first, { start }) => Math.min(first, start), Number.POSITIVE_INFINITY);
  const to = spans.reduce((last, { start, end, ownEnd }) => Math.max(last, end ?? ownEnd ?? start), 0);
  return { from: Number.isFinite(from) ? from : 0, length: Math.max(1, to - from) };
}

function bar({ record }: Story, spans: readonly Span[], { from, length }: Range): string {
  const rect = (name: string, start: number, end: number, y: number, height: number) =>
    `<rect class="${name}" x="${across((start - from) / length)}" width="${across(Math.max(0.002, (end - start) / length))}" y="${y}" height="${height}"/>`;
  const until = ({ start, end, ownEnd }: Span) => ownEnd ?? end ?? start;
  const lives = spans
    .filter(({ kind }) => kind === "agent" || kind === "turn")
    .map((span) => rect(`life ${record.status}`, span.start, until(span), 2, 10));
  const work = spans.flatMap((span) =>
    span.kind === "call" || span.kind === "tool"
      ? [rect(span.kind, span.start, until(span), span.kind === "call" ? 3 : 7, 4)]
      : [],
  );
  return `<svg role="img" aria-label="${escaped(`${record.startedAt ?? "?"}, ${duration(record.durationMs)}`)}">${lives.join("")}${work.join("")}</svg>`;
}

/** A share as a percentage. A hundredth of a percent is less than a pixel. */
const across = (part: number) => `${Math.round(part * 10_000) / 100}%`;
