/** The pictures in the README: the dashboard on the demo, as anybody gets to see it. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openBrowser } from "../test/dashboard/browser.ts";

const ROOT = join(import.meta.dirname, "..");
/** By then agents of agents are at work, and some have failed. */
const INTO_THE_DEMO_MS = 22_000;

const demo = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), "demo", "--no-open"], { stdio: ["ignore", "pipe", "inherit"] });
const url = await new Promise<string>((resolve) => {
  demo.stdout.on("data", (chunk: Buffer) => {
    const [found] = /http:\/\/\S+?(?=\/?\s)/.exec(chunk.toString()) ?? [];
    if (found !== undefined) resolve(found);
  });
});
const browser = await openBrowser();
try {
  await wait(INTO_THE_DEMO_MS);
  const { items } = (await (await fetch(`${url}/api/threads`)).json()) as { items: { uri: string; counts: { descendants: number } }[] };
  const [newest] = items.toSorted((a, b) => b.counts.descendants - a.counts.descendants).slice(0, 1);
  for (const scheme of ["light", "dark"] as const) {
    const context = await browser.newContext({ viewport: { width: 1360, height: 640 }, deviceScaleFactor: 1.5, colorScheme: scheme });
    const page = await context.newPage();
    await page.goto(`${url}/#/${scheme === "light" ? "tree" : "log"}/${newest?.uri}`);
    await page
      .locator(scheme === "light" ? ".row.root" : ".entry")
      .first()
      .waitFor();
    await wait(800);
    await page.screenshot({ path: join(ROOT, `docs/dashboard-${scheme}.png`) });
  }
} finally {
  await browser.close();
  demo.kill("SIGTERM");
}
