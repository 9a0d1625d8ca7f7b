/** Measures the waterfall of a thread of 1,000 agents: frames while it is scrolled, zoomed and panned. */
import type { CDPSession, Page } from "playwright-core";

export interface PictureNumbers {
  readonly firstDrawnMs: number;
  readonly spans: number;
  readonly frames: number;
  /** Frames that took longer than `LATE_MS`, which is noticeable. */
  readonly lateFrames: number;
  readonly longestFrameMs: number;
  /** Average script time per frame. */
  readonly scriptMs: number;
  /** Maximum number of bars in one frame: bars narrower than a pixel are merged. */
  readonly mostBars: number;
  readonly graphMs: number;
}

/** Three frames at 60 frames per second. */
export const LATE_MS = 50;

interface Picture extends HTMLCanvasElement {
  drawn(): { rows: { bars: unknown[] }[] };
  picture(): { rows: { list: { spans: unknown[] } }[] };
}

export async function measurePictures(
  page: Page,
  session: CDPSession,
  url: string,
  thread: string,
): Promise<PictureNumbers> {
  const firstDrawnMs = await untilDrawn(page, `${url}/#/waterfall/${thread}`, "waterfall");
  await session.send("Performance.enable");
  const before = await scriptSeconds(session);
  const found = await move(page);
  const moved = { ...found, scriptMs: ((await scriptSeconds(session)) - before) * (1_000 / found.frames) };
  const graphMs = await untilDrawn(page, `${url}/#/graph/${thread}`, "graph");
  return { firstDrawnMs, graphMs, ...moved };
}

async function scriptSeconds(session: CDPSession): Promise<number> {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "ScriptDuration")?.value ?? 0;
}

/** The median of three visits. */
async function untilDrawn(page: Page, address: string, what: "waterfall" | "graph"): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 3; run += 1) times.push(await visitUntilDrawn(page, address, what));
  return times.toSorted((a, b) => a - b)[1] ?? Number.NaN;
}

/** Time from the start of the navigation to the frame that shows the picture. */
async function visitUntilDrawn(page: Page, address: string, what: "waterfall" | "graph"): Promise<number> {
  await page.goto("about:blank");
  await page.goto(address, { waitUntil: "commit" });
  return page.evaluate(
    (picture) =>
      new Promise<number>((resolve) => {
        const isThere = () => {
          const canvas = document.querySelector(".waterfall canvas.picture") as Partial<Picture> | null;
          return picture === "graph"
            ? document.querySelectorAll(".drawing [data-uri]").length > 10
            : (canvas?.drawn?.().rows.length ?? 0) > 10;
        };
        const check = () =>
          isThere() ? requestAnimationFrame(() => resolve(performance.now())) : requestAnimationFrame(check);
        check();
      }),
    what,
  );
}

/** Scrolls, zooms and pans, so that every frame shows something else. */
async function move(page: Page): Promise<Omit<PictureNumbers, "firstDrawnMs" | "graphMs" | "scriptMs">> {
  return page.evaluate(async (late) => {
    const canvas = document.querySelector(".waterfall canvas.picture") as Picture;
    const scroller = document.querySelector(".picture-scroll") as HTMLElement;
    const box = canvas.getBoundingClientRect();
    const wheel = (more: WheelEventInit) =>
      scroller.dispatchEvent(
        new WheelEvent("wheel", {
          bubbles: true,
          cancelable: true,
          clientX: box.left + box.width * 0.6,
          clientY: box.top + 200,
          ...more,
        }),
      );
    const steps: (() => void)[] = [
      ...Array<() => void>(80).fill(() => {
        scroller.scrollTop += 300;
      }),
      ...Array<() => void>(60).fill(() => wheel({ deltaY: -60, ctrlKey: true })),
      ...Array<() => void>(60).fill(() => wheel({ deltaX: 40 })),
      ...Array<() => void>(60).fill(() => wheel({ deltaY: 60, ctrlKey: true })),
      ...Array<() => void>(80).fill(() => {
        scroller.scrollTop -= 300;
      }),
    ];
    const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
    let [last, frames, lateFrames, longestFrameMs, mostBars] = [await frame(), 0, 0, 0, 0];
    for (const step of steps) {
      step();
      const at = await frame();
      frames += 1;
      longestFrameMs = Math.max(longestFrameMs, at - last);
      if (at - last > late) lateFrames += 1;
      last = at;
      mostBars = Math.max(
        mostBars,
        canvas.drawn().rows.reduce((sum, row) => sum + row.bars.length, 0),
      );
    }
    return {
      spans: canvas.picture().rows.reduce((sum, row) => sum + row.list.spans.length, 0),
      frames,
      lateFrames,
      longestFrameMs,
      mostBars,
    };
  }, LATE_MS);
}
