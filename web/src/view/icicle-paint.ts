import { count, duration, money, STATUS_MARKS } from "../data/format.ts";
import type { IcicleBox, Measure } from "../data/icicle.ts";
import type { Palette } from "./canvas.ts";
import { KIND_COLORS } from "./type-colors.ts";

export const ICICLE_ROW_PX = 30;
export const ICICLE_COLORS = ["surface", "line", "ink", "muted", "accent", "errored", ...KIND_COLORS] as const;
type Color = (typeof ICICLE_COLORS)[number];
/** Narrower boxes have no label. */
const LABEL_PX = 34;

const FORMATS: Readonly<Record<Measure, (value: number | null) => string>> = {
  time: duration,
  cost: money,
  tokens: count,
  calls: count,
};

export const amountText = (measure: Measure, value: number | null) => FORMATS[measure](value);

/** Paints a box with its top edge at `y`. Merged boxes are lighter and have no label. */
export function paintIcicleBox(
  context: CanvasRenderingContext2D,
  { node, x, width, agents }: IcicleBox,
  y: number,
  style: {
    readonly palette: Palette<Color>;
    readonly color: Color;
    readonly isSelected: boolean;
    readonly measure: Measure;
  },
): void {
  const { palette, color, isSelected, measure } = style;
  context.fillStyle = palette[color];
  context.globalAlpha = agents > 1 ? 0.5 : 1;
  context.fillRect(x, y + 1, Math.max(1, width - 1), ICICLE_ROW_PX - 2);
  context.globalAlpha = 1;
  if (isSelected) {
    context.strokeStyle = palette.ink;
    context.lineWidth = 2;
    context.strokeRect(x + 1, y + 2, Math.max(2, width - 3), ICICLE_ROW_PX - 4);
  }
  if (width < LABEL_PX || agents > 1) return;
  context.save();
  context.beginPath();
  context.rect(x, y, width - 5, ICICLE_ROW_PX);
  context.clip();
  context.fillStyle = palette["on-kind"];
  context.fillText(
    `${STATUS_MARKS[node.record.status]} ${node.name} · ${amountText(measure, node.total)}`,
    x + 7,
    y + ICICLE_ROW_PX / 2,
  );
  context.restore();
}
