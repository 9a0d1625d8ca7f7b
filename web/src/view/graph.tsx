import { createEffect, createMemo, on, onCleanup, onMount } from "solid-js";
import type { GraphNode } from "../data/graph.ts";
import { visible } from "../data/text.ts";
import { useKeys } from "../state/keys.ts";
import { go } from "../state/navigation.ts";
import { AgentTip } from "./agent-tip.tsx";
import { FONT_FAMILY, usePalette, useSize } from "./canvas.ts";
import { Drawing, type DrawingProps, GRAPH_COLORS } from "./graph-drawing.tsx";
import { createViewport, type Viewport } from "./graph-viewport.ts";
import { PictureButtons } from "./picture-buttons.tsx";
import { hideTip, showTip } from "./tip.tsx";

const ZOOM = 1.4;
const TIP_DELAY_MS = 350;
/** A pointer that moves less than this is a click, not a drag. */
const DRAG_PX = 4;

interface GraphViewProps extends DrawingProps {
  readonly onSelect: (uri: string) => void;
  /** Called with the size of the available area. */
  readonly onRoom: (room: { width: number; height: number }) => void;
  readonly ref: (element: SVGSVGElement) => void;
}

/** The tree as a drawing that can be zoomed, dragged and navigated by keyboard. */
export function GraphView(props: GraphViewProps) {
  let box: HTMLDivElement | undefined;
  const palette = usePalette(GRAPH_COLORS);
  const size = useSize(() => box);
  createEffect(() => size().width > 0 && props.onRoom(size()));
  const byUri = createMemo(() => new Map(props.picture.nodes.map((node) => [node.uri, node])));
  const selectedNode = () => byUri().get(props.selected ?? "");
  const viewport = createViewport(() => props.picture, size);
  createEffect(
    on([() => props.selected, () => size().width > 0], () => {
      const node = selectedNode();
      if (node !== undefined && size().width > 0) viewport.reveal(node);
    }),
  );
  useGraphKeys(props, byUri, selectedNode);
  useKeys({
    "+": () => viewport.zoom(ZOOM),
    "=": () => viewport.zoom(ZOOM),
    "-": () => viewport.zoom(1 / ZOOM),
    "0": viewport.showAll,
  });

  let drag: { readonly x: number; readonly y: number; readonly from: Viewport; moved: boolean } | null = null;
  const onWheel = (event: WheelEvent) => {
    event.preventDefault();
    const { left, top } = (box as HTMLDivElement).getBoundingClientRect();
    if (event.shiftKey || (!event.ctrlKey && Math.abs(event.deltaX) > Math.abs(event.deltaY)))
      viewport.move(viewport.current(), -event.deltaX || -event.deltaY, 0);
    else viewport.zoom(Math.exp(-event.deltaY / 400), event.clientX - left, event.clientY - top);
  };
  onMount(() => box?.addEventListener("wheel", onWheel, { passive: false }));
  const onDrag = (event: PointerEvent & { currentTarget: SVGSVGElement }) => {
    if (drag === null || event.buttons === 0) return;
    const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < DRAG_PX) return;
    drag.moved = true;
    hideTip();
    event.currentTarget.setPointerCapture(event.pointerId);
    viewport.move(drag.from, dx, dy);
  };

  const tipOf = (uri: string) => {
    const node = byUri().get(uri);
    return node === undefined ? null : () => <AgentTip agent={props.agent(uri) ?? node.record} whole />;
  };
  useKeyboardTip(
    () => props.selected,
    tipOf,
    () => box,
  );
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
          font-family={FONT_FAMILY}
          font-size="12"
          ref={(element) => props.ref(element)}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            drag = { x: event.clientX, y: event.clientY, from: viewport.current(), moved: false };
          }}
          onPointerMove={onDrag}
          onPointerUp={(event) => {
            const uri = uriAt(event);
            if (drag?.moved !== true && uri !== null) props.onSelect(uri);
            drag = null;
          }}
          onDblClick={(event) => {
            const uri = uriAt(event);
            if (uri !== null) go("agent", uri);
          }}
          onPointerOver={(event) => {
            const node = nodeAt(event);
            const content = tipOf(uriAt(event) ?? "");
            if (node === null || content === null || event.pointerType === "touch") hideTip();
            else showTip(node, content, TIP_DELAY_MS);
          }}
          onPointerLeave={hideTip}
        >
          <title>Agents and their parents</title>
          <Drawing
            {...props}
            palette={palette()}
            transform={`translate(${viewport.current().x} ${viewport.current().y}) scale(${viewport.current().scale})`}
          />
        </svg>
      </div>
      <p id="graph-prompt" class="sr">
        {visible(props.agent(props.selected ?? "")?.prompt ?? "")}
      </p>
      <PictureButtons by={ZOOM} onZoom={viewport.zoom} onAll={viewport.showAll} isAll={viewport.isAll()} />
    </div>
  );
}

const nodeAt = (event: Event) => (event.target as Element).closest("[data-uri]");
const uriAt = (event: Event) => nodeAt(event)?.getAttribute("data-uri") ?? null;

/** Moves the selection to parents, children and siblings, and opens the selected agent. */
function useGraphKeys(
  props: GraphViewProps,
  byUri: () => ReadonlyMap<string, GraphNode>,
  selectedNode: () => GraphNode | undefined,
): void {
  const moveTo = (find: (from: GraphNode) => string | null | undefined) => () => {
    const from = selectedNode();
    const next = from === undefined ? props.picture.nodes[0]?.uri : find(from);
    if (next != null && byUri().has(next)) props.onSelect(next);
  };
  const childrenOf = (uri: string) => props.picture.nodes.filter(({ record }) => record.parent === uri);
  const sibling = (step: 1 | -1) => (from: GraphNode) => {
    const siblings = childrenOf(from.record.parent ?? "").toSorted((a, b) => a.x - b.x || a.y - b.y);
    return siblings[siblings.findIndex(({ uri }) => uri === from.uri) + step]?.uri;
  };
  useKeys({
    ArrowLeft: moveTo(({ record }) => record.parent),
    ArrowRight: moveTo(({ uri }) => childrenOf(uri)[0]?.uri),
    ArrowDown: moveTo(sibling(1)),
    ArrowUp: moveTo(sibling(-1)),
    Enter: () => {
      const node = selectedNode();
      if (node !== undefined) go("agent", node.uri);
    },
  });
}

/** Shows the tooltip of the selected agent while the graph is navigated by keyboard. */
function useKeyboardTip(
  selected: () => string | null,
  tipOf: (uri: string) => Parameters<typeof showTip>[1] | null,
  box: () => HTMLElement | undefined,
): void {
  const hasKeyboardFocus = () => document.activeElement?.matches(".drawing-box:focus-visible") === true;
  createEffect(
    on(
      selected,
      (uri) => {
        const content = uri === null || !hasKeyboardFocus() ? null : tipOf(uri);
        if (content === null) return hideTip();
        requestAnimationFrame(() => {
          const node = box()?.querySelector(`[data-uri="${CSS.escape(uri ?? "")}"]`);
          if (node != null) showTip(node, content, TIP_DELAY_MS);
        });
      },
      { defer: true },
    ),
  );
  onCleanup(hideTip);
}
