import { stratify, tree } from "d3-hierarchy";
import type { AgentSet } from "./agent-set.ts";
import type { AgentRecord, Message } from "./types.ts";

/** How an agent came to be there. */
export const EDGE_KINDS = ["spawned", "forked", "revived", "external"] as const;
export type EdgeKind = (typeof EDGE_KINDS)[number];

export interface GraphNode {
  readonly uri: string;
  readonly record: AgentRecord;
  /** The middle of its left edge. */
  readonly x: number;
  readonly y: number;
}

export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly kind: EdgeKind;
  /** Null for one of a block: one line leads to all of them. */
  readonly path: string | null;
}

/** Many agents that came the same way from the same parent and have nobody below them: framed, with one line to the frame. */
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
}

export const NODE = { width: 150, height: 22 } as const;
const GAP = { level: 36, sibling: 5, cousin: 8, frame: 5, around: 20 } as const;
const LEVEL = NODE.width + GAP.level;
/** So many agents without agents of their own stand below each other; more are set in columns. */
const FEW = 5;
const MOST_COLUMNS = 16;

/**
 * Something that takes a place in the drawing: an agent, or a column of agents that have nobody below them.
 * A further column is the child of the one before it, so that it has its own room a level further on.
 */
interface Item {
  readonly id: string;
  readonly parent: string | null;
  readonly agents: readonly string[];
  /** As high as the first column, which is the highest. */
  readonly rows: number;
  readonly block: { readonly from: string; readonly kind: EdgeKind } | null;
}

export function edgeKind(record: AgentRecord, revived: ReadonlySet<string>): EdgeKind {
  if (record.kind === "external") return "external";
  if (record.kind === "fork") return "forked";
  return revived.has(record.uri) ? "revived" : "spawned";
}

/** The tree as a drawing that fits a room of this shape as well as can be. */
export function graph(set: AgentSet, root: string, messages: readonly Message[], room: { readonly width: number; readonly height: number }): Graph {
  const revived = new Set(messages.filter(({ revives }) => revives).map(({ to }) => to));
  const kindOf = (uri: string) => edgeKind(set.get(uri) as AgentRecord, revived);
  let best: { placed: Placed; scale: number } | null = null;
  for (let columns = 1; columns <= MOST_COLUMNS; columns += 1) {
    const placed = place(itemsOf(set, root, kindOf, columns));
    const scale = Math.min(1, room.width / placed.width, room.height / placed.height);
    // A little larger is not worth another column.
    if (best === null || scale > best.scale * 1.03) best = { placed, scale };
    if (scale === 1) break;
  }
  const { places, blocks, width, height } = (best as { placed: Placed }).placed;
  const framed = new Set(blocks.flatMap(({ from, kind }) => `${kind} ${from}`));
  const nodes = [...places].map(([uri, at]): GraphNode => ({ uri, record: set.get(uri) as AgentRecord, ...at }));
  const edges = nodes.flatMap(({ uri, record }): GraphEdge[] => {
    const parent = record.parent === null ? undefined : places.get(record.parent);
    const child = places.get(uri) as Point;
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
  };
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Placed {
  readonly places: ReadonlyMap<string, Point>;
  readonly blocks: readonly Omit<GraphBlock, "path">[];
  readonly width: number;
  readonly height: number;
}

function itemsOf(set: AgentSet, root: string, kindOf: (uri: string) => EdgeKind, columns: number): Item[] {
  const items: Item[] = [{ id: root, parent: null, agents: [root], rows: 1, block: null }];
  for (const uri of set.subtree(root)) {
    const children = set.childrenOf(uri).filter((child) => set.has(child));
    const leaves = Map.groupBy(
      children.filter((child) => set.childrenOf(child).length === 0),
      kindOf,
    );
    const blocks = [...leaves].filter(([, agents]) => agents.length > FEW);
    const inBlocks = new Set(blocks.flatMap(([, agents]) => agents));
    for (const child of children) if (!inBlocks.has(child)) items.push({ id: child, parent: uri, agents: [child], rows: 1, block: null });
    for (const [kind, agents] of blocks) items.push(...columnsOf(agents, columns, uri, kind));
  }
  return items;
}

function columnsOf(agents: readonly string[], columns: number, parent: string, kind: EdgeKind): Item[] {
  const rows = Math.ceil(agents.length / columns);
  const name = (column: number) => `${kind} ${column} below ${parent}`;
  return Array.from({ length: Math.ceil(agents.length / rows) }, (_, column) => ({
    id: name(column),
    parent: column === 0 ? parent : name(column - 1),
    agents: agents.slice(column * rows, (column + 1) * rows),
    rows,
    block: { from: parent, kind },
  }));
}

const heightOf = ({ rows }: Item) => rows * (NODE.height + GAP.sibling) - GAP.sibling;

const roomFor = (item: Item) => heightOf(item) + (item.block === null ? 0 : 2 * GAP.frame);

/** Every item at its level, no two over each other. */
function place(items: readonly Item[]): Placed {
  const hierarchy = stratify<Item>()
    .id(({ id }) => id)
    .parentId(({ parent }) => parent)(items);
  const nodes = tree<Item>()
    .nodeSize([1, 1])
    .separation((a, b) => (roomFor(a.data) + roomFor(b.data)) / 2 + (a.parent === b.parent ? GAP.sibling : GAP.cousin))(hierarchy)
    .descendants();
  const top = nodes.reduce((least, { x, data }) => Math.min(least, x - heightOf(data) / 2), Number.POSITIVE_INFINITY) - GAP.around;
  const bottom = nodes.reduce((most, { x, data }) => Math.max(most, x + heightOf(data) / 2), Number.NEGATIVE_INFINITY) + GAP.around;
  const places = new Map<string, Point>();
  const blocks = new Map<string, Omit<GraphBlock, "path">>();
  for (const { depth, x, data } of nodes) {
    const first = x - heightOf(data) / 2 - top + NODE.height / 2;
    const left = GAP.around + depth * LEVEL;
    if (data.block !== null) {
      const name = `${data.block.kind} ${data.block.from}`;
      const known = blocks.get(name) ?? { ...data.block, agents: 0, x: left - GAP.frame, y: first - NODE.height / 2 - GAP.frame, height: roomFor(data) };
      blocks.set(name, { ...known, agents: known.agents + data.agents.length, width: left + NODE.width + GAP.frame - known.x });
    }
    for (const [row, uri] of data.agents.entries()) places.set(uri, { x: left, y: first + row * (NODE.height + GAP.sibling) });
  }
  const levels = nodes.reduce((most, { depth }) => Math.max(most, depth + 1), 1);
  return { places, blocks: [...blocks.values()], width: levels * LEVEL - GAP.level + 2 * GAP.around, height: bottom - top };
}

const n = (value: number) => Math.round(value * 10) / 10;

/** From the right of the parent to the left of the child. */
function edgePath(parent: Point, child: Point): string {
  const from = parent.x + NODE.width;
  const turn = (from + child.x) / 2;
  return `M${n(from)} ${n(parent.y)}C${n(turn)} ${n(parent.y)} ${n(turn)} ${n(child.y)} ${n(child.x)} ${n(child.y)}`;
}

/** To the middle of the frame's left side, or as near to it as the parent stands. */
function blockPath(parent: Point | undefined, { x, y, height }: Omit<GraphBlock, "path">): string {
  if (parent === undefined) return "";
  const at = Math.max(y + NODE.height / 2, Math.min(parent.y, y + height - NODE.height / 2));
  return edgePath(parent, { x, y: at });
}

/** Bulges to the side, so that it lies on no edge; a message and its answer lie on different sides. */
function arcsOf(messages: readonly Message[], places: ReadonlyMap<string, Point>): GraphArc[] {
  return [...Map.groupBy(messages, ({ from, to }) => `${from} ${to}`).values()].flatMap((list): GraphArc[] => {
    const [first] = list;
    const [from, to] = [places.get(first?.from ?? ""), places.get(first?.to ?? "")];
    if (first === undefined || from === undefined || to === undefined) return [];
    const side = NODE.height / 2;
    const [startY, endY] = from.y <= to.y ? [from.y + side, to.y - side] : [from.y - side, to.y + side];
    const isLevel = Math.abs(from.y - to.y) < NODE.height;
    const [x1, x2] = [from.x + NODE.width * 0.72, to.x + NODE.width * 0.28];
    const bulge = 18 + Math.abs(from.y - to.y) * 0.12;
    const path = isLevel
      ? `M${n(x1)} ${n(from.y - side)}C${n(x1)} ${n(from.y - side - bulge)} ${n(x2)} ${n(to.y - side - bulge)} ${n(x2)} ${n(to.y - side)}`
      : `M${n(x1)} ${n(startY)}C${n(x1 + bulge)} ${n((startY + endY) / 2)} ${n(x2 - bulge)} ${n((startY + endY) / 2)} ${n(x2)} ${n(endY)}`;
    return [{ from: first.from, to: first.to, messages: list.length, path }];
  });
}

const WIDE = /[mwMW@%\u1100-\uffff]/;
const NARROW = /[ijlftrI.,:;'|!()[\] ]/;

/** As much of a text as fits into so many pixels, at twelve pixels a letter; nothing is measured, so that thousands are laid out in no time. */
export function fitted(text: string, px: number): string {
  let [width, kept] = [0, ""];
  for (const char of text) {
    width += WIDE.test(char) ? 12 : NARROW.test(char) ? 4.6 : /[A-Z]/.test(char) ? 8.6 : 7.2;
    if (width > px) return `${kept.trimEnd()}…`;
    if (width <= px - 9) kept += char;
  }
  return text;
}
