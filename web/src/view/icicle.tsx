import { createMemo, createSignal, For, onMount, Show } from "solid-js";
import { count, duration, exact, money, percent, STATUS_MARKS } from "../data/format.ts";
import { boxesOf, type Icicle, type IcicleBox, type IcicleNode, type Measure } from "../data/icicle.ts";
import { useKeys } from "../state/keys.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { type Palette, prepare, usePainting, usePalette, useSize } from "./canvas.ts";
import { StatusMark } from "./status.tsx";
import { KIND_COLORS, useTypeColors } from "./type-colors.ts";

const ROW_PX = 30;
const FONT = '12px system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif';
const COLORS = ["surface", "line", "ink", "muted", "accent", "errored", ...KIND_COLORS] as const;
type Color = (typeof COLORS)[number];
/** Narrower boxes have no label. */
const LABEL_PX = 34;

const inMeasure: Readonly<Record<Measure, (value: number | null) => string>> = {
  time: duration,
  cost: money,
  tokens: count,
  calls: count,
};

/**
 * Shows where time, money or tokens were used: each agent's width is the total of its subtree, with its children below
 * it.
 */
export function IcicleView(props: {
  picture: Icicle;
  measure: Measure;
  selected: string | null;
  onSelect: (uri: string) => void;
}) {
  let canvas: HTMLCanvasElement | undefined;
  let scroller: HTMLDivElement | undefined;
  let drawn: readonly IcicleBox[] = [];
  let frames = 0;
  const palette = usePalette(COLORS);
  const size = useSize(() => scroller);
  const colorOf = useTypeColors(() => props.picture.nodes.map(({ record }) => record));
  const [scrollTop, setScrollTop] = createSignal(0);
  const [hover, setHover] = createSignal<{ readonly box: IcicleBox; readonly x: number; readonly y: number } | null>(
    null,
  );
  const byUri = createMemo(() => new Map(props.picture.nodes.map((node) => [node.uri, node])));
  const root = () => props.picture.nodes[0];
  const top = (): IcicleNode | undefined => byUri().get(route().params.below ?? "") ?? root();
  const view = createMemo(() => {
    const at = top();
    return at === undefined || at.to <= at.from ? { from: 0, to: 1 } : { from: at.from, to: at.to };
  });
  const boxes = createMemo(() => boxesOf(props.picture, view(), size().width, top()?.depth ?? 0));
  const levels = () => boxes().reduce((most, { node }) => Math.max(most, node.depth + 1), 0) - (top()?.depth ?? 0);

  usePainting(
    () => ({
      boxes: boxes(),
      size: size(),
      scrollTop: scrollTop(),
      palette: palette(),
      selected: props.selected,
      from: top()?.depth ?? 0,
      measure: props.measure,
    }),
    ({ boxes: all, size: { width, height }, scrollTop: above, palette: colors, selected, from, measure }) => {
      const context = canvas === undefined || width === 0 ? null : prepare(canvas, width, height);
      if (context === null) return;
      context.font = FONT;
      context.textBaseline = "middle";
      drawn = all.filter(
        ({ node }) => (node.depth - from + 1) * ROW_PX > above && (node.depth - from) * ROW_PX < above + height,
      );
      for (const box of drawn)
        paintBox(
          context,
          box,
          (box.node.depth - from) * ROW_PX - above,
          colors,
          colorOf(box.node.record),
          box.node.uri === selected,
          measure,
        );
      frames += 1;
    },
  );
  onMount(() => {
    if (canvas !== undefined)
      Object.assign(canvas, { picture: () => props.picture, drawn: () => drawn, frames: () => frames });
  });

  const under = (event: MouseEvent): IcicleBox | undefined => {
    const box = (canvas as HTMLCanvasElement).getBoundingClientRect();
    const [x, level] = [
      event.clientX - box.left,
      Math.floor((event.clientY - box.top + scrollTop()) / ROW_PX) + (top()?.depth ?? 0),
    ];
    return boxes().findLast((one) => one.node.depth === level && x >= one.x && x <= one.x + one.width);
  };
  const zoomTo = (node: IcicleNode | undefined) =>
    setParams({ below: node === undefined || node === root() ? null : node.uri });
  const current = () => byUri().get(props.selected ?? "");
  const step = (find: (node: IcicleNode) => string | undefined | null) => {
    const at = current() ?? top();
    const next = at === undefined ? undefined : current() === undefined ? at.uri : find(at);
    if (next != null && byUri().has(next)) props.onSelect(next);
  };
  const beside = (by: 1 | -1) => (node: IcicleNode) => {
    const level = props.picture.nodes.filter((one) => one.depth === node.depth);
    return level[level.indexOf(node) + by]?.uri;
  };
  useKeys({
    ArrowDown: () => step((node) => props.picture.nodes.find((one) => one.record.parent === node.uri)?.uri),
    ArrowUp: () => step((node) => node.record.parent),
    ArrowRight: () => step(beside(1)),
    ArrowLeft: () => step(beside(-1)),
    z: () => zoomTo(current()),
    "0": () => zoomTo(undefined),
    Enter: () => {
      const at = current();
      if (at !== undefined) go("agent", at.uri);
    },
  });
  const describe = (node: IcicleNode) =>
    `${node.name}, ${node.record.status}: ${inMeasure[props.measure](node.own)} own, ${inMeasure[props.measure](node.total)} subtree`;
  const above = () => {
    const path: IcicleNode[] = [];
    for (let at = top(); at !== undefined; at = byUri().get(at.record.parent ?? "")) path.unshift(at);
    return path;
  };
  return (
    <div class="icicle">
      <Show when={above().length > 1}>
        <nav class="crumbs" aria-label="Shown part">
          <For each={above()}>
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
            const box = under(event);
            setHover(box === undefined ? null : { box, x: event.clientX, y: event.clientY });
          }}
          onPointerLeave={() => setHover(null)}
          onClick={(event) => {
            const box = under(event);
            if (box !== undefined) props.onSelect(box.node.uri);
          }}
          onDblClick={(event) => zoomTo(under(event)?.node)}
        />
        <div
          class="spacer"
          ref={(element) => {
            const tall = () => Math.max(0, levels() * ROW_PX - size().height);
            usePainting(tall, (px) => element.style.setProperty("height", `${px}px`));
          }}
        />
      </div>
      <p class="sr" role="status">
        {current() === undefined ? "" : describe(current() as IcicleNode)}
      </p>
      <Show when={props.picture.unknown > 0}>
        <p class="note">
          Of {exact(props.picture.unknown)} of {exact(props.picture.nodes.length)} agents the {props.measure} is not
          known: they take no room.
        </p>
      </Show>
      <Show when={hover()}>
        {(at) => (
          <div
            class="tip placed picture-tip"
            role="tooltip"
            ref={(box) => requestAnimationFrame(() => placeAt(box, at()))}
          >
            <div class="tip-title">
              <StatusMark status={at().box.node.record.status} /> {at().box.node.name}
            </div>
            <p>
              {inMeasure[props.measure](at().box.node.total)} subtree
              {props.picture.total > 0 ? ` · ${percent(at().box.node.total / props.picture.total)} of all` : ""}
            </p>
            <p class="muted">
              {inMeasure[props.measure](at().box.node.own)} itself · {at().box.node.record.type ?? "no type"}
              {at().box.agents > 1 ? ` · and ${exact(at().box.agents - 1)} more, too small to distinguish` : ""}
            </p>
          </div>
        )}
      </Show>
    </div>
  );
}

function placeAt(box: HTMLElement, { x, y }: { readonly x: number; readonly y: number }): void {
  const { width, height } = box.getBoundingClientRect();
  box.style.setProperty("left", `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`);
  box.style.setProperty("top", `${y + 18 + height < innerHeight ? y + 18 : Math.max(8, y - height - 12)}px`);
}

function paintBox(
  context: CanvasRenderingContext2D,
  { node, x, width, agents }: IcicleBox,
  y: number,
  palette: Palette<Color>,
  color: Color,
  selected: boolean,
  measure: Measure,
): void {
  context.fillStyle = palette[color];
  context.globalAlpha = agents > 1 ? 0.5 : 1;
  context.fillRect(x, y + 1, Math.max(1, width - 1), ROW_PX - 2);
  context.globalAlpha = 1;
  if (selected) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 2, Math.max(2, width - 3), ROW_PX - 4);
  }
  if (width < LABEL_PX || agents > 1) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width - 5, ROW_PX);
  context.clip();
  context.fillStyle = palette["on-kind"];
  context.fillText(
    `${STATUS_MARKS[node.record.status]} ${node.name} · ${inMeasure[measure](node.total)}`,
    x + 7,
    y + ROW_PX / 2,
  );
  context.restore();
}
