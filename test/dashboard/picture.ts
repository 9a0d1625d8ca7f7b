import type { Page } from "playwright-core";

/** What a waterfall shows, as reported by its canvas element. */
export interface Shown {
  readonly rows: readonly {
    readonly uri: string;
    readonly from: number | null;
    readonly to: number | null;
    readonly spans: number;
  }[];
  readonly path: readonly { readonly uri: string; readonly from: number; readonly to: number }[];
  readonly view: { readonly from: number; readonly to: number };
  readonly whole: { readonly from: number; readonly to: number };
  readonly drawn: readonly {
    readonly uri: string;
    readonly y: number;
    readonly bars: readonly {
      readonly kind: string;
      readonly x: number;
      readonly width: number;
      readonly failed: boolean;
    }[];
  }[];
  readonly frames: number;
}

interface PictureElement extends HTMLCanvasElement {
  picture(): {
    rows: { uri: string; life?: { from: number; to: number }; list: { spans: unknown[] } }[];
    path: { uri: string; from: number; to: number }[];
    from: number;
    to: number;
  };
  view(): { from: number; to: number };
  drawn(): { rows: Shown["drawn"] };
  frames(): number;
}

/** Waits until the waterfall of this thread is drawn. */
export async function waterfallOn(page: Page, root: string): Promise<Shown> {
  await page.waitForFunction((uri) => {
    const canvas = document.querySelector(".waterfall canvas.picture") as Partial<PictureElement> | null;
    return canvas?.drawn?.().rows[0]?.uri === uri;
  }, root);
  return page.evaluate(() => {
    const canvas = document.querySelector(".waterfall canvas.picture") as PictureElement;
    const { rows, path, from, to } = canvas.picture();
    return {
      rows: rows.map(({ uri, life, list }) => ({
        uri,
        from: life?.from ?? null,
        to: life?.to ?? null,
        spans: list.spans.length,
      })),
      path: [...path],
      view: { ...canvas.view() },
      whole: { from, to },
      drawn: canvas.drawn().rows.map((row) => ({ ...row, bars: [...row.bars] })),
      frames: canvas.frames(),
    };
  });
}

/** The colours of a canvas at these positions of the page, as `r,g,b`. */
export function pixelsOf(
  page: Page,
  selector: string,
  places: readonly { readonly x: number; readonly y: number }[],
): Promise<string[]> {
  return page.evaluate(
    ([which, at]) => {
      const canvas = document.querySelector(which) as HTMLCanvasElement;
      const context = canvas.getContext("2d") as CanvasRenderingContext2D;
      const ratio = canvas.width / canvas.clientWidth;
      return at.map(({ x, y }) =>
        [...context.getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data.slice(0, 3)].join(","),
      );
    },
    [selector, places] as const,
  );
}

/** The computed value of a colour of the style sheet, as `r,g,b`. */
export function colorOf(page: Page, variable: string): Promise<string> {
  return page.evaluate((name) => {
    const probe = document.body.appendChild(document.createElement("span"));
    probe.style.color = `var(--${name})`;
    const found = getComputedStyle(probe).color.match(/\d+/g)?.slice(0, 3).join(",") ?? "";
    probe.remove();
    return found;
  }, variable);
}
