import { type PlacedNode, stratify, tree } from "d3-hierarchy";
import type { AgentSet } from "./agent-set.ts";
import type { AgentRecord, Message } from "./types.ts";

/** How an agent was created. */
export const EDGE_KINDS = ["spawned", "forked", "revived", "external"] as const;
export type EdgeKind = (typeof EDGE_KINDS)[number];

export interface GraphNode {
  readonly uri: string;
  readonly record: AgentRecord;
  /** The middle of its left edge. */
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
  /** Null for agents in a block: one line leads to the block. */
  readonly path: string | null;
}

/** A frame around many childless agents of the same kind and parent, with one line to the frame. */
export interface GraphBlock {
  readonly from: string;
  readonly kind: EdgeKind;
  readonly agents: number;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly path: string;
}

/** All messages from one agent to another. */
export interface GraphArc {
  readonly from: string;
  readonly to: string;
  readonly messages: number;
  readonly path: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  readonly blocks: readonly GraphBlock[];
  readonly arcs: readonly GraphArc[];
  readonly width: number;
  readonly height: number;
  /** Boxes with a two-line name, status, time and cost; otherwise one line. */
  readonly isDetailed: boolean;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

/** The smallest box. */
export const NODE = { width: 150, height: 22 } as const;
const DETAILED = { width: 216, height: 54 } as const;
const GAP = { level: 36, sibling: 5, cousin: 8, frame: 5, around: 20 } as const;
/** Below this scale the text of a detailed box is not readable. */
const READABLE = 0.6;

/** What determines the height of a box: nothing, or the agent's own cost or time. */
export const GRAPH_SIZES = ["equal", "cost", "time"] as const;
export type GraphSize = (typeof GRAPH_SIZES)[number];
/** Height of the largest box relative to the smallest. */
const MAX_HEIGHT_FACTOR = 4;
/** Up to this number of childless agents are placed individually; more form a block of columns. */
const MAX_SINGLE = 5;
const MAX_COLUMNS = 16;

/**
 * A unit of the layout: an agent, or a column of childless agents. Each further column is a child of the previous one,
 * so that it gets its own level.
 */
interface Item {
  readonly id: string;
  readonly parent: string | null;
  readonly agents: readonly string[];
  /** All columns of a block are as high as the highest. */
  readonly height: number;
  readonly block: { readonly from: string; readonly kind: EdgeKind } | null;
}

function edgeKind(record: AgentRecord, revived: ReadonlySet<string>): EdgeKind {
  if (record.kind === "external") return "external";
  if (record.kind === "fork") return "forked";
  return revived.has(record.uri) ? "revived" : "spawned";
}

export interface GraphOptions {
  readonly size?: GraphSize;
  /** Default: detailed if that is readable. */
  readonly isDetailed?: boolean | undefined;
}

/** The tree as a drawing that fits the given area. */
export function graph(
  set: AgentSet,
  root: string,
  messages: readonly Message[],
  room: Size,
  { size = "equal", isDetailed }: GraphOptions = {},
): Graph {
  const revived = new Set(messages.filter(({ revives }) => revives).map(({ to }) => to));
  const kindOf = (uri: string) => edgeKind(set.get(uri) as AgentRecord, revived);
  const shares = sizeShares(set, root, size);
  const arranged = (detailed: boolean) => {
    const box = detailed ? DETAILED : NODE;
    const heightOf = (uri: string) => Math.round(box.height * (1 + (MAX_HEIGHT_FACTOR - 1) * (shares.get(uri) ?? 0)));
    return { ...layout(set, root, kindOf, room, box.width, heightOf), isDetailed: detailed };
  };
  // The area of the detailed boxes alone exceeds the available area, so no layout needs to be tried.
  const cannotFit =
    isDetailed === undefined &&
    set.subtree(root).length * DETAILED.width * DETAILED.height * READABLE ** 2 > room.width * room.height;
  const detailed = isDetailed === false || cannotFit ? null : arranged(true);
  const chosen = detailed !== null && (isDetailed === true || detailed.scale >= READABLE) ? detailed : arranged(false);
  const { places, blocks, width, height } = chosen.placed;
  const framed = new Set(blocks.flatMap(({ from, kind }) => `${kind} ${from}`));
  const nodes = [...places].map(([uri, at]): GraphNode => ({ uri, record: set.get(uri) as AgentRecord, ...at }));
  const edges = nodes.flatMap(({ uri, record }): GraphEdge[] => {
    const parent = record.parent === null ? undefined : places.get(record.parent);
    const child = places.get(uri) as Box;
    if (uri === root || parent === undefined) return [];
    const [from, kind] = [record.parent as string, kindOf(uri)];
    const isFramed = set.childrenOf(uri).length === 0 && framed.has(`${kind} ${from}`);
    return [{ from, to: uri, kind, path: isFramed ? null : edgePath(parent, child) }];
  });
  return {
    nodes,
    edges,
    blocks: blocks.map((block) => ({ ...block, path: blockPath(places.get(block.from), block) })),
    arcs: arcsOf(messages, places),
    width,
    height,
    isDetailed: chosen.isDetailed,
  };
}

/** Each agent's own cost or time, relative to the largest. */
function sizeShares(set: AgentSet, root: string, size: GraphSize): ReadonlyMap<string, number> {
  if (size === "equal") return new Map();
  const amounts = set.subtree(root).map((uri): [string, number] => {
    const record = set.get(uri);
    return [uri, Math.max(0, (size === "cost" ? record?.usage.own.costUsd : record?.durationMs) ?? 0)];
  });
  const most = amounts.reduce((max, [, amount]) => Math.max(max, amount), 0);
  return new Map(amounts.map(([uri, amount]) => [uri, most === 0 ? 0 : amount / most]));
}

/** Tries block layouts with 1 to `MAX_COLUMNS` columns and returns the one with the largest scale. */
function layout(
  set: AgentSet,
  root: string,
  kindOf: (uri: string) => EdgeKind,
  room: Size,
  width: number,
  heightOf: (uri: string) => number,
) {
  let best: { placed: Placed; scale: number } | null = null;
  for (let columns = 1; columns <= MAX_COLUMNS; columns += 1) {
    const items = itemsOf(set, root, kindOf, columns, heightOf);
    const placed = place(items, width, heightOf);
    const scale = Math.min(1, room.width / placed.width, room.height / placed.height);
    // Prefers fewer columns unless the scale grows noticeably.
    if (best === null || scale > best.scale * 1.03) best = { placed, scale };
    if (scale === 1 || items.every(({ block }) => block === null)) break;
  }
  return best as { placed: Placed; scale: number };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Box extends Point, Size {}

interface Placed {
  readonly places: ReadonlyMap<string, Box>;
  readonly blocks: readonly Omit<GraphBlock, "path">[];
  readonly width: number;
  readonly height: number;
}

type HeightOf = (uri: string) => number;

function itemsOf(
  set: AgentSet,
  root: string,
  kindOf: (uri: string) => EdgeKind,
  columns: number,
  heightOf: HeightOf,
): Item[] {
  const alone = (uri: string, parent: string | null): Item => ({
    id: uri,
    parent,
    agents: [uri],
    height: heightOf(uri),
    block: null,
  });
  const items: Item[] = [alone(root, null)];
  for (const uri of set.subtree(root)) {
    const children = set.childrenOf(uri).filter((child) => set.has(child));
    const leaves = Map.groupBy(
      children.filter((child) => set.childrenOf(child).length === 0),
      kindOf,
    );
    const blocks = [...leaves].filter(([, agents]) => agents.length > MAX_SINGLE);
    const inBlocks = new Set(blocks.flatMap(([, agents]) => agents));
    for (const child of children) if (!inBlocks.has(child)) items.push(alone(child, uri));
    for (const [kind, agents] of blocks) items.push(...columnsOf(agents, columns, uri, kind, heightOf));
  }
  return items;
}

function columnsOf(
  agents: readonly string[],
  columns: number,
  parent: string,
  kind: EdgeKind,
  heightOf: HeightOf,
): Item[] {
  const rows = Math.ceil(agents.length / columns);
  const name = (column: number) => `${kind} ${column} below ${parent}`;
  const parts = Array.from({ length: Math.ceil(agents.length / rows) }, (_, column) =>
    agents.slice(column * rows, (column + 1) * rows),
  );
  const height = parts.reduce(
    (most, part) =>
      Math.max(
        most,
        part.reduce((sum, uri) => sum + heightOf(uri) + GAP.sibling, -GAP.sibling),
      ),
    0,
  );
  return parts.map((part, column) => ({
    id: name(column),
    parent: column === 0 ? parent : name(column - 1),
    agents: part,
    height,
    block: { from: parent, kind },
  }));
}

const roomFor = (item: Item) => item.height + (item.block === null ? 0 : 2 * GAP.frame);

/** Vertical extent of all items with a margin; d3 places siblings along x. */
function extentOf(nodes: readonly PlacedNode<Item>[]): { readonly top: number; readonly bottom: number } {
  let [top, bottom] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { x, data } of nodes) {
    top = Math.min(top, x - data.height / 2);
    bottom = Math.max(bottom, x + data.height / 2);
  }
  return { top: top - GAP.around, bottom: bottom + GAP.around };
}

/** Places every item at its level without overlaps. */
function place(items: readonly Item[], width: number, heightOf: HeightOf): Placed {
  const hierarchy = stratify<Item>()
    .id(({ id }) => id)
    .parentId(({ parent }) => parent)(items);
  const nodes = tree<Item>()
    .nodeSize([1, 1])
    .separation((a, b) => (roomFor(a.data) + roomFor(b.data)) / 2 + (a.parent === b.parent ? GAP.sibling : GAP.cousin))(
      hierarchy,
    )
    .descendants();
  const { top, bottom } = extentOf(nodes);
  const level = width + GAP.level;
  const places = new Map<string, Box>();
  const blocks = new Map<string, Omit<GraphBlock, "path">>();
  for (const { depth, x, data } of nodes) {
    const first = x - data.height / 2 - top;
    const left = GAP.around + depth * level;
    if (data.block !== null) {
      const name = `${data.block.kind} ${data.block.from}`;
      const known = blocks.get(name) ?? {
        ...data.block,
        agents: 0,
        x: left - GAP.frame,
        y: first - GAP.frame,
        height: roomFor(data),
      };
      blocks.set(name, {
        ...known,
        agents: known.agents + data.agents.length,
        width: left + width + GAP.frame - known.x,
      });
    }
    let y = first;
    for (const uri of data.agents) {
      const height = heightOf(uri);
      places.set(uri, { x: left, y: y + height / 2, width, height });
      y += height + GAP.sibling;
    }
  }
  const levels = nodes.reduce((most, { depth }) => Math.max(most, depth + 1), 1);
  return {
    places,
    blocks: [...blocks.values()],
    width: levels * level - GAP.level + 2 * GAP.around,
    height: bottom - top,
  };
}

const n = (value: number) => Math.round(value * 10) / 10;

/** From the right of the parent to the left of the child. */
function edgePath(parent: Box, child: Point): string {
  const from = parent.x + parent.width;
  const turn = (from + child.x) / 2;
  return `M${n(from)} ${n(parent.y)}C${n(turn)} ${n(parent.y)} ${n(turn)} ${n(child.y)} ${n(child.x)} ${n(child.y)}`;
}

/** A line to the left side of the frame, as level with the parent as possible. */
function blockPath(parent: Box | undefined, { x, y, height }: Omit<GraphBlock, "path">): string {
  if (parent === undefined) return "";
  const at = Math.max(y + NODE.height / 2, Math.min(parent.y, y + height - NODE.height / 2));
  return edgePath(parent, { x, y: at });
}

/** One arc for each pair of agents. Arcs curve to the side, opposite directions to different sides. */
function arcsOf(messages: readonly Message[], places: ReadonlyMap<string, Box>): GraphArc[] {
  return [...Map.groupBy(messages, ({ from, to }) => `${from} ${to}`).values()].flatMap((list): GraphArc[] => {
    const [first] = list;
    const [from, to] = [places.get(first?.from ?? ""), places.get(first?.to ?? "")];
    if (first === undefined || from === undefined || to === undefined) return [];
    const [side, end] = [from.height / 2, to.height / 2];
    const [startY, endY] = from.y <= to.y ? [from.y + side, to.y - end] : [from.y - side, to.y + end];
    const isLevel = Math.abs(from.y - to.y) < side + end;
    const [x1, x2] = [from.x + from.width * 0.72, to.x + to.width * 0.28];
    const bulge = 18 + Math.abs(from.y - to.y) * 0.12;
    const path = isLevel
      ? `M${n(x1)} ${n(from.y - side)}C${n(x1)} ${n(from.y - side - bulge)} ${n(x2)} ${n(to.y - end - bulge)} ${n(x2)} ${n(to.y - end)}`
      : `M${n(x1)} ${n(startY)}C${n(x1 + bulge)} ${n((startY + endY) / 2)} ${n(x2 - bulge)} ${n((startY + endY) / 2)} ${n(x2)} ${n(endY)}`;
    return [{ from: first.from, to: first.to, messages: list.length, path }];
  });
}

const WIDE = /[mwMW@%\u1100-\uffff]/;
const NARROW = /[ijlftrI.,:;'|!()[\] ]/;

const widthOf = (char: string) => (WIDE.test(char) ? 12 : NARROW.test(char) ? 4.6 : /[A-Z]/.test(char) ? 8.6 : 7.2);

/**
 * The beginning of a text that fits into a width. The width is estimated by character classes, because measuring
 * thousands of texts is slow.
 */
export function fitted(text: string, px: number): string {
  let [width, kept] = [0, ""];
  for (const char of text) {
    width += widthOf(char);
    if (width > px) return `${kept.trimEnd()}…`;
    if (width <= px - 9) kept += char;
  }
  return text;
}

/** A text on at most two lines of a width, broken between words if possible. */
export function twoLines(text: string, px: number): [first: string, second: string] {
  let [width, end, blank] = [0, 0, 0];
  for (const char of text) {
    width += widthOf(char);
    if (width > px) {
      const at = blank > end / 2 ? blank : end;
      return [text.slice(0, at).trimEnd(), fitted(text.slice(at).trimStart(), px)];
    }
    end += char.length;
    if (char === " ") blank = end;
  }
  return [text, ""];
}
