import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Browser } from "playwright-core";
import { serve } from "../../../test/dashboard/server.ts";
import { growThread, THREAD_ID, writeThread } from "./thread.ts";

const AGENTS = 10;
const WRITTEN = 15;

/**
 * Milliseconds from writing a record until the first frame of a page that shows it: the median of several.
 */
export async function arrivalMs(browser: Browser): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), "retinue-bench-arrival-"));
  writeThread(home, { agents: AGENTS, eventsEach: 20, ends: Date.now() - 1_000 });
  const server = await serve(home);
  try {
    const page = await browser.newPage();
    await page.goto(`${server.url}/#/tree/claude://${THREAD_ID}`);
    await page.locator(".row[role=treeitem]").nth(AGENTS).waitFor();
    const times: number[] = [];
    for (let n = 0; n < WRITTEN; n += 1) {
      // A pause, as between two steps of an agent.
      await wait(400);
      const total = () => page.locator(".row.root [data-column='Σtokens']").getAttribute("title");
      const before = await total();
      const shown = page.evaluate(
        (old) =>
          new Promise<number>((resolve) => {
            const now = () => document.querySelector(".row.root [data-column='Σtokens']")?.getAttribute("title");
            const check = () => (now() === old ? requestAnimationFrame(check) : resolve(Date.now()));
            check();
          }),
        before,
      );
      const written = Date.now();
      growThread(home, 1 + (n % AGENTS));
      times.push((await shown) - written);
    }
    await page.close();
    return times.sort((a, b) => a - b)[Math.floor(WRITTEN / 2)] ?? Number.NaN;
  } finally {
    await server.stop();
  }
}
