/**
 * Takes the screenshots for the README from the dashboard of `retinue demo`, and those of docs/team.md from a team
 * server with generated people; with the argument `team` only the latter.
 */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openBrowser } from "../test/dashboard/browser.ts";
import { fillTeam } from "../test/dashboard/people.ts";
import { cookieOf } from "../test/dashboard/server.ts";
import { preparePostgres } from "../test/support/postgres.ts";
import { startTeam } from "../test/team/server.ts";

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

const TEAM_SHOTS: readonly Shot[] = [
  { name: "team-now", scheme: "light", hash: "#/now", shows: ".now .thread", height: 520 },
  { name: "team-costs", scheme: "light", hash: "#/costs?since=30d", shows: ".budgets tr", height: 760 },
];
const TEAM_SIZE = 12;

const browser = await openBrowser();
try {
  if (process.argv[2] !== "team") await demoShots();
  await teamShots();
} finally {
  await browser.close();
}

async function demoShots(): Promise<void> {
  const demo = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), "demo", "--no-open"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const url = await new Promise<string>((resolve) => {
    demo.stdout.on("data", (chunk: Buffer) => {
      const [found] = /http:\/\/\S+?(?=\/?\s)/.exec(chunk.toString()) ?? [];
      if (found !== undefined) resolve(found);
    });
  });
  try {
    await wait(INTO_THE_DEMO_MS);
    const { items } = (await (await fetch(`${url}/api/threads`)).json()) as {
      items: { uri: string; counts: { descendants: number } }[];
    };
    const [newest] = items.toSorted((a, b) => b.counts.descendants - a.counts.descendants).slice(0, 1);
    for (const shot of SHOTS) await take({ ...shot, hash: shot.hash.replace("URI", newest?.uri ?? "") }, url, null);
  } finally {
    demo.kill("SIGTERM");
  }
}

/** Generated people on a team server with a database of its own. */
async function teamShots(): Promise<void> {
  const stopPostgres = preparePostgres();
  const team = await startTeam();
  try {
    await fillTeam(team, TEAM_SIZE);
    const url = (team.servers[0]?.url ?? "").replace(/\/$/, "");
    const cookie = await cookieOf(url, await team.token("lead", "read", "core", "web"));
    for (const shot of TEAM_SHOTS) await take(shot, url, cookie);
  } finally {
    await team.close();
    await stopPostgres();
  }
}

async function take(shot: Shot, url: string, cookie: string | null): Promise<void> {
  const { name, scheme, hash, shows, height = 640, scale = 1 } = shot;
  const context = await browser.newContext({
    viewport: { width: 1360, height },
    deviceScaleFactor: scale,
    colorScheme: scheme,
  });
  if (cookie !== null) await context.addCookies([{ name: "retinue_team", value: cookie, url }]);
  const page = await context.newPage();
  await page.goto(`${url}/${hash}`);
  await page.locator(shows).first().waitFor();
  await wait(800);
  await page.screenshot({ path: join(ROOT, `docs/${name}.png`) });
  await context.close();
}
