/** Takes the screenshots for the README from the dashboard of `retinue demo`. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openBrowser } from "../test/dashboard/browser.ts";

const ROOT = join(import.meta.dirname, "..");
/** Nested agents are running and some have failed by then. */
const INTO_THE_DEMO_MS = 22_000;

interface Shot {
  readonly name: string;
  readonly scheme: "light" | "dark";
  /** `URI` is replaced by the URI of the thread. */
  readonly hash: string;
  /** Selector of an element to wait for. */
  readonly shows: string;
  readonly height?: number;
  readonly scale?: number;
}

const SHOTS: readonly Shot[] = [
  { name: "dashboard-light", scheme: "light", hash: "#/tree/URI", shows: ".row.root", scale: 1.5 },
  { name: "dashboard-dark", scheme: "dark", hash: "#/log/URI", shows: ".entry", scale: 1.5 },
  {
    name: "waterfall-light",
    scheme: "light",
    hash: "#/waterfall/URI",
    shows: ".waterfall canvas.picture",
    height: 520,
  },
  { name: "waterfall-dark", scheme: "dark", hash: "#/waterfall/URI", shows: ".waterfall canvas.picture", height: 520 },
  {
    name: "icicle-light",
    scheme: "light",
    hash: "#/waterfall/URI?as=icicle&by=cost",
    shows: ".icicle canvas.picture",
    height: 420,
  },
  { name: "graph-dark", scheme: "dark", hash: "#/graph/URI?color=type", shows: ".drawing [data-uri]", height: 520 },
  { name: "stats-light", scheme: "light", hash: "#/stats", shows: "[data-chart=template] tr", height: 900 },
];

const demo = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), "demo", "--no-open"], {
  stdio: ["ignore", "pipe", "inherit"],
});
const url = await new Promise<string>((resolve) => {
  demo.stdout.on("data", (chunk: Buffer) => {
    const [found] = /http:\/\/\S+?(?=\/?\s)/.exec(chunk.toString()) ?? [];
    if (found !== undefined) resolve(found);
  });
});
const browser = await openBrowser();
try {
  await wait(INTO_THE_DEMO_MS);
  const { items } = (await (await fetch(`${url}/api/threads`)).json()) as {
    items: { uri: string; counts: { descendants: number } }[];
  };
  const [newest] = items.toSorted((a, b) => b.counts.descendants - a.counts.descendants).slice(0, 1);
  for (const { name, scheme, hash, shows, height = 640, scale = 1 } of SHOTS) {
    const context = await browser.newContext({
      viewport: { width: 1360, height },
      deviceScaleFactor: scale,
      colorScheme: scheme,
    });
    const page = await context.newPage();
    await page.goto(`${url}/${hash.replace("URI", newest?.uri ?? "")}`);
    await page.locator(shows).first().waitFor();
    await wait(800);
    await page.screenshot({ path: join(ROOT, `docs/${name}.png`) });
    await context.close();
  }
} finally {
  await browser.close();
  demo.kill("SIGTERM");
}
