import { type Accessor, createEffect, createMemo, createSignal, on, onMount, Show } from "solid-js";
import {
  around,
  concurrency,
  panned,
  spanAt,
  type View,
  type Waterfall,
  type WaterfallRow,
} from "../data/waterfall.ts";
import { useKeys } from "../state/keys.ts";
import { go, route } from "../state/navigation.ts";
import { prepare, usePainting, usePalette, useSize } from "./canvas.ts";
import { PictureButtons } from "./picture-buttons.tsx";
import { type Hovered, SpanTip, spanDescription } from "./span-tip.tsx";
import { createTimeViewport, type TimeViewport } from "./time-viewport.ts";
import {
  AXIS_PX,
  COLORS,
  type Drawn,
  paintMinimap,
  paintWaterfall,
  ROW_PX,
  roomOf,
  rowAt,
  type Scene,
  timeAt,
} from "./waterfall-paint.ts";

const MINIMAP_PX = 44;
const ZOOM = 1.6;
/** Fraction of the view that `<` and `>` move it by. */
const PAN = 0.3;
/** A span this close to the pointer counts as under it. */
const SLACK_PX = 3;
/** A pointer that moves less than this is a click, not a drag. */
const DRAG_PX = 3;

/** What a canvas shows, for tests. */
export interface ShownPicture {
  picture(): Waterfall;
  view(): View;
  drawn(): Drawn;
  /** Number of paints. */
  frames(): number;
}

interface WaterfallProps {
  readonly picture: Waterfall;
  readonly now: number;
  readonly selected: string | null;
  readonly onSelect: (uri: string) => void;
}

/** When agents worked. A canvas over a scroll container, so that the cost of painting depends on the visible rows. */
export function WaterfallView(props: WaterfallProps) {
  let canvas: HTMLCanvasElement | undefined;
  let scroller: HTMLDivElement | undefined;
  const palette = usePalette(COLORS);
  const size = useSize(() => scroller);
  const [scrollTop, setScrollTop] = createSignal(0);
  const [span, setSpan] = createSignal(-1);
  const [hovered, setHovered] = createSignal<Hovered | null>(null);
  /** Width of the column of names. */
  const names = () => (size().width < 560 ? 120 : size().width < 1000 ? 190 : 250);
  const viewport = createTimeViewport(() => props.picture);
  const row = createMemo(() => (props.selected === null ? -1 : (props.picture.indexOf.get(props.selected) ?? -1)));
  const current = (): WaterfallRow | undefined => props.picture.rows[row()];
  const scene = createMemo(
    (): Scene => ({
      picture: props.picture,
      view: viewport.view(),
      ...size(),
      names: names(),
      scrollTop: scrollTop(),
      selected: { row: row(), span: span() },
      showPath: route().params.path !== "0",
      now: props.now,
      palette: palette(),
    }),
  );
  usePaintedScene(scene, () => canvas);

  /** Scrolls until a row is visible. */
  const reveal = (index: number) => {
    if (scroller === undefined) return;
    const [top, room] = [index * ROW_PX, scroller.clientHeight - AXIS_PX];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + ROW_PX > scroller.scrollTop + room) scroller.scrollTop = top + ROW_PX - room;
  };
  createEffect(on([row, () => size().height > 0], ([index]) => index >= 0 && reveal(index)));
  useWaterfallKeys(props, { row, current, span, setSpan, viewport, height: () => size().height });
  const pointer = createPointer(props, { scene, viewport, scrollTop, hovered, setHovered, setSpan }, () => canvas);
  onMount(() => scroller?.addEventListener("wheel", pointer.onWheel, { passive: false }));

  return (
    <div class="waterfall">
      <Minimap scene={scene()} viewport={viewport} />
      <div
        class="picture-scroll"
        ref={scroller}
        tabindex="0"
        role="application"
        aria-label={`Waterfall of ${props.picture.rows.length} agents. Up and down move between agents, left and right between spans.`}
        onScroll={(event) => setScrollTop(event.currentTarget.scrollTop)}
      >
        <canvas
          ref={canvas}
          class="picture"
          classList={{ names: hovered()?.at === null }}
          onPointerDown={pointer.onDown}
          onPointerMove={pointer.onMove}
          onPointerUp={pointer.onUp}
          onPointerCancel={pointer.onCancel}
          onPointerLeave={() => setHovered(null)}
          onDblClick={pointer.onDoubleClick}
        />
        <div
          class="spacer"
          ref={(element) =>
            createEffect(() => {
              const below = props.picture.rows.length * ROW_PX + AXIS_PX - size().height;
              element.style.setProperty("height", `${Math.max(0, below)}px`);
            })
          }
        />
      </div>
      <PictureButtons by={ZOOM} onZoom={viewport.zoom} onAll={viewport.showAll} isAll={viewport.isAll()} />
      <p class="sr" role="status">
        {current() === undefined
          ? ""
          : spanDescription(current() as WaterfallRow, span(), props.picture.from, props.now)}
      </p>
      <Show when={hovered()}>{(at) => <SpanTip hovered={at()} picture={props.picture} now={props.now} />}</Show>
    </div>
  );
}

/** Paints the scene. Tests read what was drawn from the canvas element. */
function usePaintedScene(scene: Accessor<Scene>, canvas: () => HTMLCanvasElement | undefined): void {
  let drawn: Drawn = { rows: [], connectors: 0 };
  let frames = 0;
  usePainting(scene, (shown) => {
    const element = canvas();
    const context = element === undefined || shown.width === 0 ? null : prepare(element, shown.width, shown.height);
    if (context === null) return;
    drawn = paintWaterfall(context, shown);
    frames += 1;
  });
  onMount(() => {
    const element = canvas();
    if (element !== undefined)
      Object.assign(element, {
        picture: () => scene().picture,
        view: () => scene().view,
        drawn: () => drawn,
        frames: () => frames,
      } satisfies ShownPicture);
  });
}

/** An overview of the whole thread; dragging in it moves the view. */
function Minimap(props: { scene: Scene; viewport: TimeViewport }) {
  let canvas: HTMLCanvasElement | undefined;
  const most = createMemo(() => concurrency(props.scene.picture.rows, props.viewport.whole(), roomOf(props.scene)));
  usePainting(
    () => ({ ...props.scene, height: MINIMAP_PX, most: most() }),
    (shown) => {
      const context = canvas === undefined || shown.width === 0 ? null : prepare(canvas, shown.width, MINIMAP_PX);
      if (context !== null) paintMinimap(context, shown, shown.most);
    },
  );
  const onDrag = (event: PointerEvent) => {
    if (event.buttons === 0 && event.type !== "pointerdown") return;
    const { left } = (canvas as HTMLCanvasElement).getBoundingClientRect();
    const { width, names } = props.scene;
    props.viewport.centerAt(timeAt({ view: props.viewport.whole(), width, names }, event.clientX - left));
  };
  return (
    <canvas
      class="minimap"
      ref={canvas}
      height={MINIMAP_PX}
      aria-label="Overview"
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        onDrag(event);
      }}
      onPointerMove={onDrag}
    />
  );
}

/** Moves between agents and spans, zooms and pans, and opens the selected agent. */
function useWaterfallKeys(
  props: WaterfallProps,
  state: {
    readonly row: Accessor<number>;
    readonly current: Accessor<WaterfallRow | undefined>;
    readonly span: Accessor<number>;
    readonly setSpan: (index: number) => void;
    readonly viewport: TimeViewport;
    readonly height: Accessor<number>;
  },
): void {
  const { row, current, span, setSpan, viewport } = state;
  const select = (index: number) => {
    const to = props.picture.rows[Math.max(0, Math.min(props.picture.rows.length - 1, index))];
    if (to === undefined) return;
    setSpan(-1);
    props.onSelect(to.uri);
  };
  const selectSpan = (step: 1 | -1) => {
    const spans = current()?.list.spans ?? [];
    if (current() === undefined) return select(0);
    const next = Math.max(0, Math.min(spans.length - 1, span() < 0 && step < 0 ? spans.length - 1 : span() + step));
    const found = spans[next];
    if (found === undefined) return;
    setSpan(next);
    revealSpan(viewport, found.from, found.to ?? props.now);
  };
  const page = () => Math.max(1, Math.floor((state.height() - AXIS_PX) / ROW_PX) - 1);
  const [down, up] = [() => select(row() + 1), () => select(row() < 0 ? 0 : row() - 1)];
  useKeys({
    ArrowDown: down,
    ArrowUp: up,
    j: down,
    k: up,
    PageDown: () => select(row() + page()),
    PageUp: () => select(row() - page()),
    Home: () => select(0),
    End: () => select(props.picture.rows.length - 1),
    ArrowRight: () => selectSpan(1),
    ArrowLeft: () => selectSpan(-1),
    "+": () => viewport.zoom(ZOOM),
    "=": () => viewport.zoom(ZOOM),
    "-": () => viewport.zoom(1 / ZOOM),
    "0": viewport.showAll,
    "<": () => viewport.pan(-PAN),
    ">": () => viewport.pan(PAN),
    z: () => {
      const life = current()?.life;
      if (life !== undefined) viewport.show(around(life, viewport.whole()));
    },
    Enter: () => {
      const at = current();
      if (at !== undefined) go("agent", at.uri);
    },
  });
}

/** Centres a span unless it is in view; zooms out if it is longer than the view. */
function revealSpan({ view, whole, show }: TimeViewport, from: number, to: number): void {
  if (from >= view().from && to <= view().to) return;
  const length = Math.max(view().to - view().from, (to - from) * 1.2);
  show(panned({ from: (from + to - length) / 2, to: (from + to + length) / 2 }, whole(), 0));
}

/** Pointer handlers of the canvas: drag to move, click to select, wheel to zoom, and the tooltip. */
function createPointer(
  props: WaterfallProps,
  state: {
    readonly scene: Accessor<Scene>;
    readonly viewport: TimeViewport;
    readonly scrollTop: Accessor<number>;
    readonly hovered: Accessor<Hovered | null>;
    readonly setHovered: (hovered: Hovered | null) => void;
    readonly setSpan: (index: number) => void;
  },
  canvas: () => HTMLCanvasElement | undefined,
) {
  const { scene, viewport, hovered, setHovered, setSpan } = state;
  let drag: { readonly x: number; readonly from: View; moved: boolean } | null = null;
  const inCanvas = (event: MouseEvent) => {
    const { left, top } = (canvas() as HTMLCanvasElement).getBoundingClientRect();
    return { x: event.clientX - left, y: event.clientY - top };
  };
  const rowUnder = (event: MouseEvent) => {
    const { y } = inCanvas(event);
    return y < AXIS_PX ? undefined : props.picture.rows[rowAt(state.scrollTop(), y)];
  };
  const hoveredAt = (event: MouseEvent): Hovered | null => {
    const row = rowUnder(event);
    if (row === undefined) return null;
    const { x } = inCanvas(event);
    const { view, names } = scene();
    const slackMs = (SLACK_PX / roomOf(scene())) * (view.to - view.from);
    const at = x < names ? null : timeAt(scene(), x);
    const span = at === null ? -1 : spanAt(row.list, at, slackMs, props.now);
    return { row, span, at, x: event.clientX, y: event.clientY };
  };
  return {
    onDown: (event: PointerEvent & { currentTarget: HTMLCanvasElement }) => {
      if (event.button !== 0) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      drag = { x: inCanvas(event).x, from: viewport.view(), moved: false };
    },
    onMove: (event: PointerEvent) => {
      if (drag === null) return setHovered(hoveredAt(event));
      const px = drag.x - inCanvas(event).x;
      drag.moved ||= Math.abs(px) > DRAG_PX;
      if (drag.moved) viewport.move(drag.from, (px / roomOf(scene())) * (drag.from.to - drag.from.from));
      setHovered(null);
    },
    onUp: (event: PointerEvent) => {
      const [wasDragged, row] = [drag?.moved === true, rowUnder(event)];
      drag = null;
      if (wasDragged || row === undefined) return;
      props.onSelect(row.uri);
      setSpan(inCanvas(event).x < scene().names ? -1 : (hovered()?.span ?? -1));
    },
    onCancel: () => {
      drag = null;
    },
    onDoubleClick: (event: MouseEvent) => {
      const row = rowUnder(event);
      if (row !== undefined) go("agent", row.uri);
    },
    onWheel: (event: WheelEvent) => {
      const { x, y } = inCanvas(event);
      if (event.ctrlKey || event.metaKey || y < AXIS_PX) {
        event.preventDefault();
        viewport.zoom(Math.exp(-event.deltaY / 300), timeAt(scene(), Math.max(scene().names, x)));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        viewport.pan((event.shiftKey ? event.deltaY : event.deltaX) / roomOf(scene()));
      }
    },
  };
}
