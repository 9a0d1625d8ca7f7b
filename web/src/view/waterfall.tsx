import { createEffect, createMemo, createSignal, on, onCleanup, onMount, Show } from "solid-js";
import {
  around,
  concurrency,
  isWhole,
  panned,
  spanAt,
  type View,
  type Waterfall,
  type WaterfallRow,
  zoomed,
} from "../data/waterfall.ts";
import { useKeys } from "../state/keys.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { prepare, usePainting, usePalette, useSize } from "./canvas.ts";
import { PictureButtons } from "./picture-buttons.tsx";
import { type At, SpanTip, spanDescription } from "./span-tip.tsx";
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
const SETTLED_MS = 250;

/** What a canvas shows, for tests. */
export interface ShownPicture {
  picture(): Waterfall;
  view(): View;
  drawn(): Drawn;
  /** Number of paints. */
  frames(): number;
}

/** When agents worked: a canvas over a scroll container, so that the cost depends on the visible rows only. */
export function WaterfallView(props: {
  picture: Waterfall;
  now: number;
  selected: string | null;
  onSelect: (uri: string) => void;
}) {
  let canvas: HTMLCanvasElement | undefined;
  let minimap: HTMLCanvasElement | undefined;
  let scroller: HTMLDivElement | undefined;
  let drawn: Drawn = { rows: [], connectors: 0 };
  let frames = 0;
  const palette = usePalette(COLORS);
  const size = useSize(() => scroller);
  const [scrollTop, setScrollTop] = createSignal(0);
  const [span, setSpan] = createSignal(-1);
  const [hover, setHover] = createSignal<At | null>(null);
  const names = () => (size().width < 560 ? 120 : size().width < 1000 ? 190 : 250);
  const room = () => roomOf({ width: size().width, names: names() });
  const whole = (): View => ({ from: props.picture.from, to: props.picture.to });

  // Relative to the start; `to` is null if the right edge follows the present.
  const [look, setLook] = createSignal<{ from: number; to: number | null } | null>(
    lookIn(route().params.from, route().params.to),
  );
  const view = createMemo((): View => {
    const { from, to } = props.picture;
    const at = look();
    if (at === null) return { from, to };
    const length = at.to === null ? -at.from : at.to - at.from;
    return panned(at.to === null ? { from: to - length, to } : { from: from + at.from, to: from + at.to }, whole(), 0);
  });
  let settling: ReturnType<typeof setTimeout> | undefined;
  const lookAt = (next: View) => {
    const { from, to, isLive } = props.picture;
    if (isWhole(next, whole())) setLook(null);
    else if (isLive && next.to >= to) setLook({ from: next.from - next.to, to: null });
    else setLook({ from: next.from - from, to: next.to - from });
    clearTimeout(settling);
    settling = setTimeout(() => {
      const at = look();
      setParams({
        from: at === null ? null : String(Math.round(at.from)),
        to: at?.to == null ? null : String(Math.round(at.to)),
      });
    }, SETTLED_MS);
  };
  onCleanup(() => clearTimeout(settling));

  const row = createMemo(() => (props.selected === null ? -1 : (props.picture.indexOf.get(props.selected) ?? -1)));
  const showPath = () => route().params.path !== "0";
  const scene = createMemo(
    (): Scene => ({
      picture: props.picture,
      view: view(),
      ...size(),
      names: names(),
      scrollTop: scrollTop(),
      selected: { row: row(), span: span() },
      showPath: showPath(),
      now: props.now,
      palette: palette(),
    }),
  );
  usePainting(scene, (at) => {
    const context = canvas === undefined || at.width === 0 ? null : prepare(canvas, at.width, at.height);
    if (context === null) return;
    drawn = paintWaterfall(context, at);
    frames += 1;
  });
  const most = createMemo(() => concurrency(props.picture.rows, whole(), room()));
  usePainting(
    () => ({ ...scene(), height: MINIMAP_PX, most: most() }),
    (at) => {
      const context = minimap === undefined || at.width === 0 ? null : prepare(minimap, at.width, MINIMAP_PX);
      if (context !== null) paintMinimap(context, at, at.most);
    },
  );
  onMount(() => {
    if (canvas !== undefined)
      Object.assign(canvas, {
        picture: () => props.picture,
        view,
        drawn: () => drawn,
        frames: () => frames,
      } satisfies ShownPicture);
  });

  // --- navigation

  const center = () => (view().from + view().to) / 2;
  const zoom = (factor: number, at = center()) => lookAt(zoomed(view(), whole(), factor, at));
  const pan = (part: number) => lookAt(panned(view(), whole(), part * (view().to - view().from)));
  const reveal = (index: number) => {
    if (scroller === undefined) return;
    const [top, room] = [index * ROW_PX, scroller.clientHeight - AXIS_PX];
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + ROW_PX > scroller.scrollTop + room) scroller.scrollTop = top + ROW_PX - room;
  };
  createEffect(on([row, () => size().height > 0], ([index]) => index >= 0 && reveal(index)));
  const select = (index: number) => {
    const to = props.picture.rows[Math.max(0, Math.min(props.picture.rows.length - 1, index))];
    if (to === undefined) return;
    setSpan(-1);
    props.onSelect(to.uri);
  };
  const current = (): WaterfallRow | undefined => props.picture.rows[row()];
  const walk = (step: 1 | -1) => {
    const spans = current()?.list.spans ?? [];
    if (current() === undefined) return select(0);
    const next = Math.max(0, Math.min(spans.length - 1, span() < 0 && step < 0 ? spans.length - 1 : span() + step));
    const found = spans[next];
    if (found === undefined) return;
    setSpan(next);
    const end = found.to ?? props.now;
    if (found.from < view().from || end > view().to) {
      const width = Math.max(view().to - view().from, (end - found.from) * 1.2);
      lookAt(panned({ from: (found.from + end - width) / 2, to: (found.from + end + width) / 2 }, whole(), 0));
    }
  };
  const page = () => Math.max(1, Math.floor((size().height - AXIS_PX) / ROW_PX) - 1);
  useKeys({
    ArrowDown: () => select(row() + 1),
    ArrowUp: () => select(row() < 0 ? 0 : row() - 1),
    j: () => select(row() + 1),
    k: () => select(row() < 0 ? 0 : row() - 1),
    PageDown: () => select(row() + page()),
    PageUp: () => select(row() - page()),
    Home: () => select(0),
    End: () => select(props.picture.rows.length - 1),
    ArrowRight: () => walk(1),
    ArrowLeft: () => walk(-1),
    "+": () => zoom(ZOOM),
    "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
    "0": () => lookAt(whole()),
    "<": () => pan(-0.3),
    ">": () => pan(0.3),
    z: () => {
      const life = current()?.life;
      if (life !== undefined) lookAt(around(life, whole()));
    },
    Enter: () => {
      const at = current();
      if (at !== undefined) go("agent", at.uri);
    },
  });

  // --- pointer

  let grabbed: { readonly x: number; readonly from: View; moved: boolean } | null = null;
  const inCanvas = (event: { clientX: number; clientY: number }) => {
    const box = (canvas as HTMLCanvasElement).getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const rowUnder = (y: number) => (y < AXIS_PX ? undefined : props.picture.rows[rowAt(scrollTop(), y)]);
  const point = (event: PointerEvent) => {
    const { x, y } = inCanvas(event);
    if (grabbed !== null) {
      const ms = ((grabbed.x - x) / room()) * (grabbed.from.to - grabbed.from.from);
      grabbed.moved ||= Math.abs(grabbed.x - x) > 3;
      if (grabbed.moved) lookAt(panned(grabbed.from, whole(), ms));
      return setHover(null);
    }
    const under = rowUnder(y);
    if (under === undefined) return setHover(null);
    const slack = (3 / room()) * (view().to - view().from);
    const at = x < names() ? null : timeAt(scene(), x);
    setHover({
      row: under,
      span: at === null ? -1 : spanAt(under.list, at, slack, props.now),
      at,
      x: event.clientX,
      y: event.clientY,
    });
  };
  const release = (event: PointerEvent) => {
    const [was, under] = [grabbed, rowUnder(inCanvas(event).y)];
    grabbed = null;
    if (was?.moved === true || under === undefined) return;
    props.onSelect(under.uri);
    setSpan(inCanvas(event).x < names() ? -1 : (hover()?.span ?? -1));
  };
  const wheel = (event: WheelEvent) => {
    if (event.ctrlKey || event.metaKey || inCanvas(event).y < AXIS_PX) {
      event.preventDefault();
      zoom(Math.exp(-event.deltaY / 300), timeAt(scene(), Math.max(names(), inCanvas(event).x)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((event.shiftKey ? event.deltaY : event.deltaX) / room());
    }
  };
  const drag = (event: PointerEvent) => {
    if (event.buttons === 0 && event.type !== "pointerdown") return;
    const box = (minimap as HTMLCanvasElement).getBoundingClientRect();
    const at = timeAt({ view: whole(), width: size().width, names: names() }, event.clientX - box.left);
    lookAt(panned(view(), whole(), at - center()));
  };
  onMount(() => scroller?.addEventListener("wheel", wheel, { passive: false }));

  return (
    <div class="waterfall">
      <canvas
        class="minimap"
        ref={minimap}
        height={MINIMAP_PX}
        aria-label="Overview"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          drag(event);
        }}
        onPointerMove={drag}
      />
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
          classList={{ names: hover()?.at === null }}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            grabbed = { x: inCanvas(event).x, from: view(), moved: false };
          }}
          onPointerMove={point}
          onPointerUp={release}
          onPointerCancel={() => {
            grabbed = null;
          }}
          onPointerLeave={() => setHover(null)}
          onDblClick={(event) => {
            const under = rowUnder(inCanvas(event).y);
            if (under !== undefined) go("agent", under.uri);
          }}
        />
        <div
          class="spacer"
          ref={(element) =>
            createEffect(() =>
              element.style.setProperty(
                "height",
                `${Math.max(0, props.picture.rows.length * ROW_PX + AXIS_PX - size().height)}px`,
              ),
            )
          }
        />
      </div>
      <PictureButtons by={ZOOM} onZoom={zoom} onAll={() => lookAt(whole())} isAll={look() === null} />
      <p class="sr" role="status">
        {current() === undefined
          ? ""
          : spanDescription(current() as WaterfallRow, span(), props.picture.from, props.now)}
      </p>
      <Show when={hover()}>{(at) => <SpanTip at={at()} picture={props.picture} now={props.now} />}</Show>
    </div>
  );
}

function lookIn(from: string | undefined, to: string | undefined): { from: number; to: number | null } | null {
  const [begin, end] = [Number(from), to === undefined ? null : Number(to)];
  if (from === undefined || !Number.isFinite(begin) || (end === null ? begin >= 0 : !(end > begin))) return null;
  return { from: begin, to: end };
}
