import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show } from "solid-js";
import { ownTime } from "../data/columns.ts";
import { displayName, duration, money, STATUS_MARKS } from "../data/format.ts";
import { EDGE_KINDS, type EdgeKind, fitted, type Graph, type GraphNode, twoLines } from "../data/graph.ts";
import { oneLine, visible } from "../data/text.ts";
import type { AgentRecord, Status } from "../data/types.ts";
import { shortName } from "../data/waterfall.ts";
import { now } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { go } from "../state/navigation.ts";
import { productOf } from "../state/server.ts";
import { AgentTip } from "./agent-tip.tsx";
import { usePalette, useSize } from "./canvas.ts";
import { PictureButtons } from "./picture-buttons.tsx";
import { hideTip, showTip } from "./tip.tsx";
import { colorOfType, KIND_COLORS, typeNames, typeOf } from "./type-colors.ts";
import { TypeLegend } from "./type-legend.tsx";

export type Tint = "status" | "type";

const COLORS = [
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
const STATUS_COLORS: Readonly<Record<Status, (typeof COLORS)[number]>> = {
  pendingInit: "running",
  running: "running",
  completed: "completed",
  errored: "errored",
  shutdown: "shutdown",
  notFound: "idle",
};
/** Distinguished by pattern, because colours have another meaning. */
const DASHES: Readonly<Record<EdgeKind, string | undefined>> = {
  spawned: undefined,
  forked: "7 3",
  revived: "10 3 2 3",
  external: "2 3",
};
const EDGE_LABELS: Readonly<Record<EdgeKind, string>> = {
  spawned: "spawned",
  forked: "forked",
  revived: "revived by a message",
  external: "external",
};
const FONT = 'system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';
const LABEL_X = 28;
const ZOOM = 1.4;
const CLOSEST = 3;

interface Look {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

/** The tree as an SVG drawing. Colours are inline, so that it can be saved. */
export function GraphView(props: {
  picture: Graph;
  /** The current record of an agent. */
  agent: (uri: string) => AgentRecord | undefined;
  tint: Tint;
  selected: string | null;
  onSelect: (uri: string) => void;
  onRoom: (room: { width: number; height: number }) => void;
  ref: (element: SVGSVGElement) => void;
}) {
  let box: HTMLDivElement | undefined;
  const palette = usePalette(COLORS);
  const size = useSize(() => box);
  createEffect(() => size().width > 0 && props.onRoom(size()));
  const types = createMemo(() => typeNames(props.picture.nodes.map(({ record }) => record)));
  const colorOf = (record: AgentRecord) =>
    palette()[props.tint === "type" ? colorOfType(types(), typeOf(record)) : STATUS_COLORS[record.status]];
  const byUri = createMemo(() => new Map(props.picture.nodes.map((node) => [node.uri, node])));

  // --- view; null: everything
  const [look, setLook] = createSignal<Look | null>(null);
  const fitting = createMemo((): Look => {
    const { width, height } = props.picture;
    const scale = Math.min(1.4, size().width / width || 1, size().height / height || 1);
    return {
      scale,
      x: Math.max(0, (size().width - width * scale) / 2),
      y: Math.max(0, (size().height - height * scale) / 2),
    };
  });
  const shown = () => look() ?? fitting();
  const zoom = (factor: number, x = size().width / 2, y = size().height / 2) => {
    const at = shown();
    const scale = Math.max(Math.min(0.05, fitting().scale), Math.min(CLOSEST, at.scale * factor));
    const by = scale / at.scale;
    setLook({ scale, x: x - (x - at.x) * by, y: y - (y - at.y) * by });
  };
  const pan = (dx: number, dy: number) => setLook({ ...shown(), x: shown().x + dx, y: shown().y + dy });
  const reveal = (node: GraphNode) => {
    const { scale, x, y } = shown();
    const [left, top] = [node.x * scale + x, node.y * scale + y];
    if (left < 0 || top < 12 || left + node.width * scale > size().width || top > size().height - 12)
      setLook({
        scale,
        x: size().width / 2 - (node.x + node.width / 2) * scale,
        y: size().height / 2 - node.y * scale,
      });
  };
  const current = () => byUri().get(props.selected ?? "");
  createEffect(
    on([() => props.selected, () => size().width > 0], () => {
      const at = current();
      if (at !== undefined && size().width > 0) reveal(at);
    }),
  );

  // --- keyboard
  const to = (find: (from: GraphNode) => string | null | undefined) => {
    const from = current();
    const next = from === undefined ? props.picture.nodes[0]?.uri : find(from);
    if (next != null && byUri().has(next)) props.onSelect(next);
  };
  const children = (uri: string) => props.picture.nodes.filter(({ record }) => record.parent === uri);
  const beside = (step: 1 | -1) => (from: GraphNode) => {
    const siblings = children(from.record.parent ?? "").toSorted((a, b) => a.x - b.x || a.y - b.y);
    return siblings[siblings.findIndex(({ uri }) => uri === from.uri) + step]?.uri;
  };
  useKeys({
    ArrowLeft: () => to(({ record }) => record.parent),
    ArrowRight: () => to(({ uri }) => children(uri)[0]?.uri),
    ArrowDown: () => to(beside(1)),
    ArrowUp: () => to(beside(-1)),
    "+": () => zoom(ZOOM),
    "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
    "0": () => setLook(null),
    Enter: () => {
      const at = current();
      if (at !== undefined) go("agent", at.uri);
    },
  });

  // --- pointer
  let grabbed: { readonly x: number; readonly y: number; readonly look: Look; moved: boolean } | null = null;
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const at = (box as HTMLDivElement).getBoundingClientRect();
    if (event.shiftKey || (!event.ctrlKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)))
      pan(-event.deltaX || -event.deltaY, 0);
    else zoom(Math.exp(-event.deltaY / 400), event.clientX - at.left, event.clientY - at.top);
  };
  onMount(() => box?.addEventListener("wheel", wheel, { passive: false }));
  const uriAt = (event: Event) => (event.target as Element).closest("[data-uri]")?.getAttribute("data-uri") ?? null;
  const numbers = (record: AgentRecord) => {
    // Only the duration of running agents changes.
    const time = duration(record.status === "running" ? ownTime(record, now()) : record.durationMs);
    const product = record.kind === "external" ? [productOf(record.provider)] : [];
    return [...product, record.status, time, money(record.usage.own.costUsd)].join(" · ");
  };
  /** The name in a box: on two lines, or truncated to one. */
  const lines = (record: AgentRecord, width: number) => {
    const room = width - LABEL_X - 6;
    const name = props.picture.isDetailed ? oneLine(displayName(record)) : shortName(record);
    const label = props.tint === "type" ? `${name} · ${typeOf(record)}` : name;
    return props.picture.isDetailed ? twoLines(label, room).filter((line) => line !== "") : [fitted(label, room)];
  };
  const tipOf = (uri: string) => {
    const found = byUri().get(uri);
    return found === undefined ? null : () => <AgentTip agent={props.agent(uri) ?? found.record} whole />;
  };
  // Keyboard users get the same tooltip.
  const isWalking = () => document.activeElement?.matches(".drawing-box:focus-visible") === true;
  createEffect(
    on(
      () => props.selected,
      (uri) => {
        const content = uri === null || !isWalking() ? null : tipOf(uri);
        if (content === null) return hideTip();
        requestAnimationFrame(() => {
          const node = box?.querySelector(`[data-uri="${CSS.escape(uri ?? "")}"]`);
          if (node != null) showTip(node, content, 350);
        });
      },
      { defer: true },
    ),
  );
  onCleanup(hideTip);
  return (
    <div class="graph" ref={box}>
      <div
        class="drawing-box"
        tabindex="0"
        role="tree"
        aria-label={`Graph of ${props.picture.nodes.length} agents. Right and left move to children and parents, up and down to siblings.`}
        aria-activedescendant={props.selected === null ? undefined : `node-${props.selected}`}
        aria-describedby="graph-prompt"
        onFocusOut={hideTip}
      >
        <svg
          class="drawing"
          xmlns="http://www.w3.org/2000/svg"
          font-family={FONT}
          font-size="12"
          ref={(element) => props.ref(element)}
          onPointerDown={(event) => {
            if (event.button === 0) grabbed = { x: event.clientX, y: event.clientY, look: shown(), moved: false };
          }}
          onPointerMove={(event) => {
            if (grabbed === null || event.buttons === 0) return;
            const [dx, dy] = [event.clientX - grabbed.x, event.clientY - grabbed.y];
            if (!grabbed.moved && Math.hypot(dx, dy) < 4) return;
            grabbed.moved = true;
            hideTip();
            event.currentTarget.setPointerCapture(event.pointerId);
            setLook({ ...grabbed.look, x: grabbed.look.x + dx, y: grabbed.look.y + dy });
          }}
          onPointerUp={(event) => {
            const uri = uriAt(event);
            if (grabbed?.moved !== true && uri !== null) props.onSelect(uri);
            grabbed = null;
          }}
          onDblClick={(event) => {
            const uri = uriAt(event);
            if (uri !== null) go("agent", uri);
          }}
          onPointerOver={(event) => {
            const [node, uri] = [(event.target as Element).closest("[data-uri]"), uriAt(event)];
            const found = byUri().get(uri ?? "");
            if (node === null || found === undefined || event.pointerType === "touch") hideTip();
            else showTip(node, () => <AgentTip agent={props.agent(found.uri) ?? found.record} whole />, 350);
          }}
          onPointerLeave={hideTip}
        >
          <title>Agents and their parents</title>
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
              <path d="M0 0L8 4L0 8z" fill={palette().accent} />
            </marker>
          </defs>
          <g data-layer="all" transform={`translate(${shown().x} ${shown().y}) scale(${shown().scale})`}>
            <g data-layer="edges" fill="none" stroke={palette()["line-strong"]} stroke-width="1.4">
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
                    <rect
                      x={block.x}
                      y={block.y}
                      width={block.width}
                      height={block.height}
                      rx="8"
                      fill={palette().sunk}
                    />
                  </g>
                )}
              </For>
            </g>
            <For each={props.picture.nodes}>
              {(node) => {
                const record = () => props.agent(node.uri) ?? node.record;
                return (
                  <g
                    data-uri={node.uri}
                    id={`node-${node.uri}`}
                    transform={`translate(${node.x} ${node.y - node.height / 2})`}
                    role="treeitem"
                    aria-level={record().depth + 1}
                    aria-selected={node.uri === props.selected}
                    aria-label={`${shortName(record())}, ${typeOf(record())}, ${numbers(record())}`}
                  >
                    <rect
                      width={node.width}
                      height={node.height}
                      rx="5"
                      fill={palette().raised}
                      stroke={node.uri === props.selected ? palette().accent : palette()["line-strong"]}
                      stroke-width={node.uri === props.selected ? 2.5 : 1}
                    />
                    <rect width="22" height={node.height} rx="5" fill={colorOf(record())} />
                    <text
                      x="11"
                      y={node.height / 2 + 4.5}
                      text-anchor="middle"
                      fill={palette()["on-kind"]}
                      font-weight="600"
                    >
                      {STATUS_MARKS[record().status]}
                    </text>
                    <For each={lines(record(), node.width)}>
                      {(line, index) => (
                        <text
                          x={LABEL_X}
                          y={props.picture.isDetailed ? 15.5 + index() * 15 : node.height / 2 + 4.5}
                          fill={palette().ink}
                        >
                          {line}
                        </text>
                      )}
                    </For>
                    <Show when={props.picture.isDetailed}>
                      <text
                        data-numbers
                        x={LABEL_X}
                        y={17 + lines(record(), node.width).length * 15}
                        fill={palette().muted}
                        font-size="11"
                      >
                        {numbers(record())}
                      </text>
                    </Show>
                  </g>
                );
              }}
            </For>
            <g data-layer="messages" fill="none" stroke={palette().accent} stroke-width="1.6">
              <For each={props.picture.arcs}>
                {(arc) => (
                  <path
                    d={arc.path}
                    marker-end="url(#arrow)"
                    data-arc={arc.messages}
                    data-from={arc.from}
                    data-to={arc.to}
                  >
                    <title>{`${arc.messages} ${arc.messages === 1 ? "message" : "messages"}`}</title>
                  </path>
                )}
              </For>
            </g>
          </g>
        </svg>
      </div>
      <p id="graph-prompt" class="sr">
        {visible(props.agent(props.selected ?? "")?.prompt ?? "")}
      </p>
      <PictureButtons by={ZOOM} onZoom={zoom} onAll={() => setLook(null)} isAll={look() === null} />
    </div>
  );
}

export function GraphLegend(props: { records: readonly AgentRecord[]; tint: Tint; messages: number }) {
  const statuses = () =>
    (Object.keys(STATUS_COLORS) as Status[]).filter((status) =>
      props.records.some((record) => record.status === status),
    );
  return (
    <>
      <Show when={props.tint === "status"} fallback={<TypeLegend records={props.records} />}>
        <ul class="legend" aria-label="Colours">
          <For each={statuses()}>
            {(status) => (
              <li ref={(element) => element.style.setProperty("--swatch", `var(--${STATUS_COLORS[status]})`)}>
                {STATUS_MARKS[status]} {status}
              </li>
            )}
          </For>
        </ul>
      </Show>
      <ul class="legend edges" aria-label="Lines">
        <For each={EDGE_KINDS}>{(kind) => <li data-edge={kind}>{EDGE_LABELS[kind]}</li>}</For>
        <Show when={props.messages > 0}>
          <li data-edge="message">message</li>
        </Show>
      </ul>
    </>
  );
}
