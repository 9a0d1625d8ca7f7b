import { type Accessor, createMemo, createSignal } from "solid-js";
import type { Graph, GraphNode } from "../data/graph.ts";

/** The transformation from the coordinates of the drawing to those of its box. */
export interface Viewport {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

const MIN_SCALE = 0.05;
const MAX_SCALE = 3;
/** A small drawing is enlarged at most by this factor to fill its box. */
const MAX_FITTED_SCALE = 1.4;
/** Nodes closer than this to the upper or lower edge of the box count as out of view. */
const EDGE_PX = 12;

/** The visible part of a drawing: all of it until it is zoomed or moved. */
export function createViewport(
  picture: () => Graph,
  size: Accessor<{ readonly width: number; readonly height: number }>,
) {
  const [chosen, setChosen] = createSignal<Viewport | null>(null);
  const fitting = createMemo((): Viewport => {
    const { width, height } = picture();
    const scale = Math.min(MAX_FITTED_SCALE, size().width / width || 1, size().height / height || 1);
    return {
      scale,
      x: Math.max(0, (size().width - width * scale) / 2),
      y: Math.max(0, (size().height - height * scale) / 2),
    };
  });
  const current = () => chosen() ?? fitting();
  return {
    current,
    isAll: () => chosen() === null,
    showAll: () => setChosen(null),
    /** Moves the given viewport, such as that at the start of a drag. */
    move: (from: Viewport, dx: number, dy: number) => setChosen({ ...from, x: from.x + dx, y: from.y + dy }),
    /** Zooms around a point of the box, by default its centre. */
    zoom: (factor: number, x = size().width / 2, y = size().height / 2) => {
      const from = current();
      const least = Math.min(MIN_SCALE, fitting().scale);
      const scale = Math.max(least, Math.min(MAX_SCALE, from.scale * factor));
      const by = scale / from.scale;
      setChosen({ scale, x: x - (x - from.x) * by, y: y - (y - from.y) * by });
    },
    /** Centres a node unless it is in view. */
    reveal: (node: GraphNode) => {
      const { scale, x, y } = current();
      const { width, height } = size();
      const [left, top] = [node.x * scale + x, node.y * scale + y];
      const isInView = left >= 0 && left + node.width * scale <= width && top >= EDGE_PX && top <= height - EDGE_PX;
      if (isInView) return;
      setChosen({
        scale,
        x: width / 2 - (node.x + node.width / 2) * scale,
        y: height / 2 - node.y * scale,
      });
    },
  };
}
