import type { AgentSet } from "./agent-set.ts";
import { busyMs, type SpanSet } from "./span-set.ts";
import { type AgentRecord, totalTokens } from "./types.ts";
import { shortName } from "./waterfall.ts";

export const MEASURES = ["time", "cost", "tokens", "calls"] as const;
export type Measure = (typeof MEASURES)[number];

/** One agent: its width is the total of its subtree, with its children below it. */
export interface IcicleNode {
  readonly uri: string;
  readonly name: string;
  readonly record: AgentRecord;
  readonly depth: number;
  /** Fractions of the whole, from 0 to 1. */
  readonly from: number;
  readonly to: number;
  /** Null if unknown; counted as zero. */
  readonly own: number | null;
  readonly total: number;
}

export interface Icicle {
  readonly nodes: readonly IcicleNode[];
  readonly total: number;
  readonly levels: number;
  /** Number of agents whose own value is unknown, such as the cost of a model without a price. */
  readonly unknown: number;
}

/** The agent's own value. Time excludes waiting for other agents. */
export function ownOf(record: AgentRecord, measure: Measure, spans: SpanSet, now: number): number | null {
  const { own, internal } = record.usage;
  switch (measure) {
    case "time":
      return busyMs(spans.of(record.uri).spans, now);
    case "cost":
      return own.costUsd === null ? null : own.costUsd + (internal?.costUsd ?? 0);
    case "tokens":
      return totalTokens(own) + (internal === null ? 0 : totalTokens(internal));
    case "calls":
      return own.calls + (internal?.calls ?? 0);
  }
}

export function icicle(set: AgentSet, root: string, own: (record: AgentRecord) => number | null): Icicle {
  const uris = set.subtree(root);
  const owns = new Map(uris.map((uri) => [uri, own(set.get(uri) as AgentRecord)]));
  const totals = new Map<string, number>();
  for (const uri of uris.toReversed()) {
    const below = set.childrenOf(uri).reduce((sum, child) => sum + (totals.get(child) ?? 0), 0);
    totals.set(uri, below + (owns.get(uri) ?? 0));
  }
  const whole = totals.get(root) ?? 0;
  const places = new Map([[root, { from: 0, depth: 0 }]]);
  const nodes: IcicleNode[] = [];
  for (const uri of uris) {
    const { from, depth } = places.get(uri) ?? { from: 0, depth: 0 };
    const total = totals.get(uri) ?? 0;
    const record = set.get(uri) as AgentRecord;
    const part = (amount: number) => (whole === 0 ? 0 : amount / whole);
    nodes.push({
      uri,
      name: shortName(record),
      record,
      depth,
      from,
      // If all values are zero, the root has the full width.
      to: whole === 0 && uri === root ? 1 : from + part(total),
      own: owns.get(uri) ?? null,
      total,
    });
    // Children first, then the agent's own part.
    let at = from;
    for (const child of set.childrenOf(uri)) {
      places.set(child, { from: at, depth: depth + 1 });
      at += part(totals.get(child) ?? 0);
    }
  }
  return {
    nodes,
    total: whole,
    levels: nodes.reduce((most, { depth }) => Math.max(most, depth + 1), 0),
    unknown: [...owns.values()].filter((value) => value === null).length,
  };
}

/** A rectangle to draw. Adjacent agents narrower than a pixel are merged. */
export interface IcicleBox {
  readonly node: IcicleNode;
  readonly x: number;
  readonly width: number;
  /** Number of agents in it; more than one if merged. */
  readonly agents: number;
}

/** The boxes in view, in pixels. `fromDepth` is the level of the topmost agent shown. */
export function boxesOf(
  { nodes }: Icicle,
  view: { readonly from: number; readonly to: number },
  width: number,
  fromDepth: number,
): IcicleBox[] {
  const scale = width / (view.to - view.from);
  const boxes: IcicleBox[] = [];
  const last = new Map<number, number>();
  for (const node of nodes) {
    if (node.depth < fromDepth || node.to < view.from || node.from > view.to) continue;
    const x = (Math.max(node.from, view.from) - view.from) * scale;
    const wide = (Math.min(node.to, view.to) - Math.max(node.from, view.from)) * scale;
    const index = last.get(node.depth);
    const before = index === undefined ? undefined : boxes[index];
    const isAdjacent = before !== undefined && before.width <= 2 && x - (before.x + before.width) < 1;
    if (index !== undefined && isAdjacent && wide < 1) {
      boxes[index] = { ...before, width: Math.max(before.width, x + wide - before.x), agents: before.agents + 1 };
      continue;
    }
    last.set(node.depth, boxes.length);
    boxes.push({ node, x, width: Math.max(1, wide), agents: 1 });
  }
  return boxes;
}
