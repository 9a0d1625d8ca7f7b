import { createMemo, createSignal, onCleanup } from "solid-js";
import { isWhole, panned, type View, type Waterfall, zoomed } from "../data/waterfall.ts";
import { route, setParams } from "../state/navigation.ts";

/** Delay after which a changed view is written to the URL. */
const SETTLED_MS = 250;

/**
 * A view relative to the start of the thread, in milliseconds. If `to` is null, the right edge follows the present, and
 * `from` is relative to it.
 */
interface RelativeView {
  readonly from: number;
  readonly to: number | null;
}

/** The visible time range of a waterfall: all of it until it is zoomed or moved. The range is kept in the URL. */
export function createTimeViewport(picture: () => Waterfall) {
  const [chosen, setChosen] = createSignal(parseView(route().params.from, route().params.to));
  const whole = (): View => ({ from: picture().from, to: picture().to });
  const view = createMemo((): View => {
    const { from, to } = picture();
    const at = chosen();
    if (at === null) return { from, to };
    return panned(at.to === null ? { from: to + at.from, to } : { from: from + at.from, to: from + at.to }, whole(), 0);
  });
  let timer: ReturnType<typeof setTimeout> | undefined;
  const show = (next: View) => {
    const { from, to, isLive } = picture();
    if (isWhole(next, whole())) setChosen(null);
    else if (isLive && next.to >= to) setChosen({ from: next.from - next.to, to: null });
    else setChosen({ from: next.from - from, to: next.to - from });
    clearTimeout(timer);
    timer = setTimeout(() => setParams(viewParams(chosen())), SETTLED_MS);
  };
  onCleanup(() => clearTimeout(timer));
  const center = () => (view().from + view().to) / 2;
  return {
    view,
    whole,
    isAll: () => chosen() === null,
    show,
    showAll: () => show(whole()),
    /** Moves a view, such as that at the start of a drag, by some milliseconds. */
    move: (from: View, ms: number) => show(panned(from, whole(), ms)),
    /** Moves the view by a fraction of its length. */
    pan: (part: number) => show(panned(view(), whole(), part * (view().to - view().from))),
    centerAt: (time: number) => show(panned(view(), whole(), time - center())),
    zoom: (factor: number, around = center()) => show(zoomed(view(), whole(), factor, around)),
  };
}

export type TimeViewport = ReturnType<typeof createTimeViewport>;

function parseView(from: string | undefined, to: string | undefined): RelativeView | null {
  const [begin, end] = [Number(from), to === undefined ? null : Number(to)];
  if (from === undefined || !Number.isFinite(begin) || (end === null ? begin >= 0 : !(end > begin))) return null;
  return { from: begin, to: end };
}

const viewParams = (view: RelativeView | null) => ({
  from: view === null ? null : String(Math.round(view.from)),
  to: view?.to == null ? null : String(Math.round(view.to)),
});
