/** What a machine shares with its team, on its own dashboard. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import { until } from "../support/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { keepScreenshots, type Visit, visit } from "./visit.ts";

/** The discard port: no server listens there. */
const NOWHERE = "http://127.0.0.1:9";
let browser: Browser;
let [sharing, alone]: [Running, Running] = [] as never;
let tab: Visit;
let threads: readonly AgentRecord[];
const home = () => homeWith(["claude/e-fail", "claude/a-single"]);

beforeAll(async () => {
  [browser, alone] = await Promise.all([sharedBrowser(), serve(home())]);
  await until(async () => {
    threads = (await alone.json<{ items: AgentRecord[] }>("/api/threads")).items;
    return threads.length === 2;
  });
  const settings = `team:\n  url: ${NOWHERE}\n  share:\n    projects: [${threads[0]?.cwd}]\n    level: no-tool-output\n`;
  sharing = await serve(home(), { settings, env: { RETINUE_TEAM_TOKEN: "rtn_test" } });
  tab = await visit(browser, sharing);
});
afterAll(async () => {
  await closeTabs(browser);
  await Promise.all([sharing?.stop(), alone?.stop()]);
});

it("marks shared threads, and shows with which server and how much is shared", async () => {
  await tab.goto("#/");
  await tab.page.locator(".thread .shared").waitFor();
  await keepScreenshots(tab.page, "shared-list");
  const marked = tab.page.locator(".thread", { has: tab.page.locator(".shared") });
  expect(await marked.evaluateAll((all) => all.map((line) => line.getAttribute("data-uri")))).toEqual([
    threads[0]?.uri,
  ]);
  await tab.goto(`#/tree/${threads[0]?.uri}`);
  await tab.page.getByText("shared with 127.0.0.1:9, without tool results").waitFor();
  await keepScreenshots(tab.page, "shared-thread");
  await tab.goto(`#/tree/${threads[1]?.uri}`);
  await tab.page.getByText("not shared with the team").click();
  const report = tab.page.locator(".sharing");
  await report.waitFor();
  await expect
    .poll(
      async () => {
        await tab.page.keyboard.press("r");
        return report.textContent();
      },
      { timeout: 60_000 },
    )
    .toMatch(/1 thread: 1 new.*Problem.*Next attempt.*none yet/s);
  await keepScreenshots(tab.page, "sharing");
  expect(tab.errors).toEqual([]);
});

it("shows nothing of this if no team server is set", async () => {
  const { page, goto, errors } = await visit(browser, alone);
  await goto("#/health");
  await page.getByText("Root folders searched").waitFor();
  expect(await page.locator(".sharing").count()).toBe(0);
  await goto(`#/tree/${threads[0]?.uri}`);
  await page.locator(".row.root").waitFor();
  expect(await page.locator(".shared").count()).toBe(0);
  expect(await alone.json("/api/ship?waiting=true")).toEqual({ team: null });
  expect(errors).toEqual([]);
});
