import { createMemo, For, Show } from "solid-js";
import { ownTime } from "../data/columns.ts";
import { displayName, duration, money, plural, STATUS_MARKS } from "../data/format.ts";
import { type EdgeKind, fitted, type Graph, type GraphNode, twoLines } from "../data/graph.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { shortName } from "../data/waterfall.ts";
import { now } from "../state/clock.ts";
import { productOf } from "../state/server.ts";
import type { Palette } from "./canvas.ts";
import { STATUS_COLORS, type Tint } from "./graph-legend.tsx";
import { colorOfType, KIND_COLORS, typeNames, typeOf } from "./type-colors.ts";

export const GRAPH_COLORS = [
  "surface",
  "raised",
  "sunk",
  "line-strong",
  "ink",
  "muted",
  "accent",
  "running",
  "completed",
  "errored",
  "shutdown",
  "idle",
  ...KIND_COLORS,
] as const;
export type GraphPalette = Palette<(typeof GRAPH_COLORS)[number]>;

/** Kinds of edges differ by pattern, because colours show the status or type. */
const DASHES: Readonly<Record<EdgeKind, string | undefined>> = {
  spawned: undefined,
  forked: "7 3",
  revived: "10 3 2 3",
  external: "2 3",
};
const LABEL_X = 28;
const LINE_PX = 15;

export interface DrawingProps {
  readonly picture: Graph;
  /** The current record of an agent. */
  readonly agent: (uri: string) => AgentRecord | undefined;
  readonly tint: Tint;
  readonly selected: string | null;
}

/** The content of the SVG. Colours are inline, so that the drawing can be saved. */
export function Drawing(props: DrawingProps & { palette: GraphPalette; transform: string }) {
  const types = createMemo(() => typeNames(props.picture.nodes.map(({ record }) => record)));
  const colorOf = (record: AgentRecord) =>
    props.palette[props.tint === "type" ? colorOfType(types(), typeOf(record)) : STATUS_COLORS[record.status]];
  return (
    <>
      <ArrowHead color={props.palette.accent} />
      <g data-layer="all" transform={props.transform}>
        <Edges picture={props.picture} palette={props.palette} />
        <For each={props.picture.nodes}>
          {(node) => {
            const record = () => props.agent(node.uri) ?? node.record;
            return (
              <Node
                node={node}
                record={record()}
                color={colorOf(record())}
                palette={props.palette}
                isDetailed={props.picture.isDetailed}
                showsType={props.tint === "type"}
                isSelected={node.uri === props.selected}
              />
            );
          }}
        </For>
        <Messages picture={props.picture} color={props.palette.accent} />
      </g>
    </>
  );
}

function ArrowHead(props: { color: string }) {
  return (
    <defs>
      <marker
        id="arrow"
        viewBox="0 0 8 8"
        refX="7"
        refY="4"
        markerWidth="7"
        markerHeight="7"
        orient="auto-start-reverse"
      >
        <path d="M0 0L8 4L0 8z" fill={props.color} />
      </marker>
    </defs>
  );
}

function Edges(props: { picture: Graph; palette: GraphPalette }) {
  return (
    <g data-layer="edges" fill="none" stroke={props.palette["line-strong"]} stroke-width="1.4">
      <For each={props.picture.edges}>
        {(edge) => (
          <Show when={edge.path}>
            {(path) => (
              <path
                d={path()}
                stroke-dasharray={DASHES[edge.kind]}
                data-edge={edge.kind}
                data-from={edge.from}
                data-to={edge.to}
              />
            )}
          </Show>
        )}
      </For>
      <For each={props.picture.blocks}>
        {(block) => (
          <g data-block={block.from} data-edge={block.kind} stroke-dasharray={DASHES[block.kind]}>
            <path d={block.path} />
            <rect x={block.x} y={block.y} width={block.width} height={block.height} rx="8" fill={props.palette.sunk} />
          </g>
        )}
      </For>
    </g>
  );
}

function Node(props: {
  node: GraphNode;
  record: AgentRecord;
  color: string;
  palette: GraphPalette;
  isDetailed: boolean;
  showsType: boolean;
  isSelected: boolean;
}) {
  const lines = () => labelLines(props.record, props.node.width, props.isDetailed, props.showsType);
  return (
    <g
      data-uri={props.node.uri}
      id={`node-${props.node.uri}`}
      transform={`translate(${props.node.x} ${props.node.y - props.node.height / 2})`}
      role="treeitem"
      aria-level={props.record.depth + 1}
      aria-selected={props.isSelected}
      aria-label={`${shortName(props.record)}, ${typeOf(props.record)}, ${numbers(props.record)}`}
    >
      <rect
        width={props.node.width}
        height={props.node.height}
        rx="5"
        fill={props.palette.raised}
        stroke={props.isSelected ? props.palette.accent : props.palette["line-strong"]}
        stroke-width={props.isSelected ? 2.5 : 1}
      />
      <rect width="22" height={props.node.height} rx="5" fill={props.color} />
      <text
        x="11"
        y={props.node.height / 2 + 4.5}
        text-anchor="middle"
        fill={props.palette["on-kind"]}
        font-weight="600"
      >
        {STATUS_MARKS[props.record.status]}
      </text>
      <For each={lines()}>
        {(line, index) => (
          <text
            x={LABEL_X}
            y={props.isDetailed ? 15.5 + index() * LINE_PX : props.node.height / 2 + 4.5}
            fill={props.palette.ink}
          >
            {line}
          </text>
        )}
      </For>
      <Show when={props.isDetailed}>
        <text data-numbers x={LABEL_X} y={17 + lines().length * LINE_PX} fill={props.palette.muted} font-size="11">
          {numbers(props.record)}
        </text>
      </Show>
    </g>
  );
}

/** The name in a box: on two lines if detailed, otherwise truncated to one. */
function labelLines(record: AgentRecord, width: number, isDetailed: boolean, showsType: boolean): string[] {
  const room = width - LABEL_X - 6;
  const name = isDetailed ? oneLine(displayName(record)) : shortName(record);
  const label = showsType ? `${name} · ${typeOf(record)}` : name;
  return isDetailed ? twoLines(label, room).filter((line) => line !== "") : [fitted(label, room)];
}

/** Status, time and cost. Reads the clock only for running agents, so that the others are not redrawn every second. */
function numbers(record: AgentRecord): string {
  const time = duration(record.status === "running" ? ownTime(record, now()) : record.durationMs);
  const product = record.kind === "external" ? [productOf(record.provider)] : [];
  return [...product, record.status, time, money(record.usage.own.costUsd)].join(" · ");
}

function Messages(props: { picture: Graph; color: string }) {
  return (
    <g data-layer="messages" fill="none" stroke={props.color} stroke-width="1.6">
      <For each={props.picture.arcs}>
        {(arc) => (
          <path d={arc.path} marker-end="url(#arrow)" data-arc={arc.messages} data-from={arc.from} data-to={arc.to}>
            <title>{plural(arc.messages, "message")}</title>
          </path>
        )}
      </For>
    </g>
  );
}
