import { createMemo, createSignal, For, onMount, Show } from "solid-js";
import { exact, percent } from "../data/format.ts";
import { boxesOf, type Icicle, type IcicleBox, type IcicleNode, type Measure } from "../data/icicle.ts";
import { useKeys } from "../state/keys.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { CANVAS_FONT, prepare, usePainting, usePalette, useSize } from "./canvas.ts";
import { amountText, ICICLE_COLORS, ICICLE_ROW_PX, paintIcicleBox } from "./icicle-paint.ts";
import { PictureTip } from "./picture-tip.tsx";
import { StatusMark } from "./status.tsx";
import { useTypeColors } from "./type-colors.ts";

interface IcicleViewProps {
  readonly picture: Icicle;
  readonly measure: Measure;
  readonly selected: string | null;
  readonly onSelect: (uri: string) => void;
}

/**
 * Shows where time, money or tokens were used: the width of an agent is the total of its subtree, and its children are
 * below it.
 */
export function IcicleView(props: IcicleViewProps) {
  let canvas: HTMLCanvasElement | undefined;
  let scroller: HTMLDivElement | undefined;
  const size = useSize(() => scroller);
  const [scrollTop, setScrollTop] = createSignal(0);
  const [hovered, setHovered] = createSignal<{
    readonly box: IcicleBox;
    readonly x: number;
    readonly y: number;
  } | null>(null);
  const byUri = createMemo(() => new Map(props.picture.nodes.map((node) => [node.uri, node])));
  const root = () => props.picture.nodes[0];
  /** The topmost agent shown: the root, or the agent that was zoomed to. */
  const top = (): IcicleNode | undefined => byUri().get(route().params.below ?? "") ?? root();
  const topDepth = () => top()?.depth ?? 0;
  const view = createMemo(() => {
    const node = top();
    return node === undefined || node.to <= node.from ? { from: 0, to: 1 } : { from: node.from, to: node.to };
  });
  const boxes = createMemo(() => boxesOf(props.picture, view(), size().width, topDepth()));
  const levels = () => boxes().reduce((most, { node }) => Math.max(most, node.depth + 1), 0) - topDepth();
  usePaintedBoxes(props, () => canvas, { boxes, size, scrollTop, topDepth });

  const boxUnder = (event: MouseEvent): IcicleBox | undefined => {
    const area = (canvas as HTMLCanvasElement).getBoundingClientRect();
    const x = event.clientX - area.left;
    const level = Math.floor((event.clientY - area.top + scrollTop()) / ICICLE_ROW_PX) + topDepth();
    return boxes().findLast((box) => box.node.depth === level && x >= box.x && x <= box.x + box.width);
  };
  const zoomTo = (node: IcicleNode | undefined) =>
    setParams({ below: node === undefined || node === root() ? null : node.uri });
  const selectedNode = () => byUri().get(props.selected ?? "");
  useIcicleKeys(props, { byUri, top, selectedNode, zoomTo });
  const describe = (node: IcicleNode) =>
    `${node.name}, ${node.record.status}: ${amountText(props.measure, node.own)} own, ${amountText(props.measure, node.total)} subtree`;
  /** From the root to the topmost agent shown. */
  const path = () => {
    const nodes: IcicleNode[] = [];
    for (let node = top(); node !== undefined; node = byUri().get(node.record.parent ?? "")) nodes.unshift(node);
    return nodes;
  };
  return (
    <div class="icicle">
      <Show when={path().length > 1}>
        <nav class="crumbs" aria-label="Shown part">
          <For each={path()}>
            {(node) => (
              <button type="button" class="quiet" onClick={() => zoomTo(node)} disabled={node === top()}>
                {node.name}
              </button>
            )}
          </For>
        </nav>
      </Show>
      <div
        class="picture-scroll"
        ref={scroller}
        tabindex="0"
        role="application"
        aria-label={`Icicle of ${props.picture.nodes.length} agents by ${props.measure}. Down and up move to children and parents, left and right to neighbours.`}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      >
        <canvas
          ref={canvas}
          class="picture boxes"
          onPointerMove={(event) => {
            const box = boxUnder(event);
            setHovered(box === undefined ? null : { box, x: event.clientX, y: event.clientY });
          }}
          onPointerLeave={() => setHovered(null)}
          onClick={(event) => {
            const box = boxUnder(event);
            if (box !== undefined) props.onSelect(box.node.uri);
          }}
          onDblClick={(event) => zoomTo(boxUnder(event)?.node)}
        />
        <div
          class="spacer"
          ref={(element) => {
            const below = () => Math.max(0, levels() * ICICLE_ROW_PX - size().height);
            usePainting(below, (px) => element.style.setProperty("height", `${px}px`));
          }}
        />
      </div>
      <p class="sr" role="status">
        {selectedNode() === undefined ? "" : describe(selectedNode() as IcicleNode)}
      </p>
      <Show when={props.picture.unknown > 0}>
        <p class="note">
          The {props.measure} of {exact(props.picture.unknown)} of {exact(props.picture.nodes.length)} agents is unknown
          and counted as zero.
        </p>
      </Show>
      <Show when={hovered()}>
        {(at) => (
          <PictureTip x={at().x} y={at().y}>
            <BoxTip box={at().box} measure={props.measure} total={props.picture.total} />
          </PictureTip>
        )}
      </Show>
    </div>
  );
}

function BoxTip(props: { box: IcicleBox; measure: Measure; total: number }) {
  const node = () => props.box.node;
  return (
    <>
      <div class="tip-title">
        <StatusMark status={node().record.status} /> {node().name}
      </div>
      <p>
        {amountText(props.measure, node().total)} subtree
        {props.total > 0 ? ` · ${percent(node().total / props.total)} of all` : ""}
      </p>
      <p class="muted">
        {amountText(props.measure, node().own)} own · {node().record.type ?? "no type"}
        {props.box.agents > 1 ? ` · and ${exact(props.box.agents - 1)} more, too small to distinguish` : ""}
      </p>
    </>
  );
}

/** Paints the boxes in view. Tests read what was drawn from the canvas element. */
function usePaintedBoxes(
  props: IcicleViewProps,
  canvas: () => HTMLCanvasElement | undefined,
  scene: {
    readonly boxes: () => readonly IcicleBox[];
    readonly size: () => { readonly width: number; readonly height: number };
    readonly scrollTop: () => number;
    readonly topDepth: () => number;
  },
): void {
  const palette = usePalette(ICICLE_COLORS);
  const colorOf = useTypeColors(() => props.picture.nodes.map(({ record }) => record));
  let drawn: readonly IcicleBox[] = [];
  let frames = 0;
  usePainting(
    () => ({
      boxes: scene.boxes(),
      ...scene.size(),
      scrollTop: scene.scrollTop(),
      topDepth: scene.topDepth(),
      palette: palette(),
      selected: props.selected,
      measure: props.measure,
    }),
    ({ boxes, width, height, scrollTop, topDepth, selected, ...style }) => {
      const element = canvas();
      const context = element === undefined || width === 0 ? null : prepare(element, width, height);
      if (context === null) return;
      context.font = CANVAS_FONT;
      context.textBaseline = "middle";
      const topOf = ({ node }: IcicleBox) => (node.depth - topDepth) * ICICLE_ROW_PX - scrollTop;
      drawn = boxes.filter((box) => topOf(box) > -ICICLE_ROW_PX && topOf(box) < height);
      for (const box of drawn)
        paintIcicleBox(context, box, topOf(box), {
          ...style,
          color: colorOf(box.node.record),
          isSelected: box.node.uri === selected,
        });
      frames += 1;
    },
  );
  onMount(() => {
    const element = canvas();
    if (element !== undefined)
      Object.assign(element, { picture: () => props.picture, drawn: () => drawn, frames: () => frames });
  });
}

/** Moves the selection to parents, children and neighbours, zooms to the selected agent, and opens it. */
function useIcicleKeys(
  props: IcicleViewProps,
  {
    byUri,
    top,
    selectedNode,
    zoomTo,
  }: {
    readonly byUri: () => ReadonlyMap<string, IcicleNode>;
    readonly top: () => IcicleNode | undefined;
    readonly selectedNode: () => IcicleNode | undefined;
    readonly zoomTo: (node: IcicleNode | undefined) => void;
  },
): void {
  const moveTo = (find: (from: IcicleNode) => string | undefined | null) => () => {
    const from = selectedNode();
    const next = from === undefined ? top()?.uri : find(from);
    if (next != null && byUri().has(next)) props.onSelect(next);
  };
  const neighbour = (step: 1 | -1) => (node: IcicleNode) => {
    const level = props.picture.nodes.filter(({ depth }) => depth === node.depth);
    return level[level.indexOf(node) + step]?.uri;
  };
  useKeys({
    ArrowDown: moveTo(({ uri }) => props.picture.nodes.find(({ record }) => record.parent === uri)?.uri),
    ArrowUp: moveTo(({ record }) => record.parent),
    ArrowRight: moveTo(neighbour(1)),
    ArrowLeft: moveTo(neighbour(-1)),
    z: () => zoomTo(selectedNode()),
    "0": () => zoomTo(undefined),
    Enter: () => {
      const node = selectedNode();
      if (node !== undefined) go("agent", node.uri);
    },
  });
}
