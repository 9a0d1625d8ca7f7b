/** Threads of all products on one machine: each is listed under its product's name, with its tree, log and agents. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import { PRODUCTS as ALL_PRODUCTS } from "../../src/providers/loaded.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { until } from "../support/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { treeOnScreen, type Visit, visit } from "./visit.ts";

/** Products that are read by their sources alone have no recordings. */
const PRODUCTS = ALL_PRODUCTS.filter(({ name }) => existsSync(join(FIXTURES, name)));

let browser: Browser;
let server: Running;
let tab: Visit;
let threads: readonly AgentRecord[];

/** The largest recording of a product by name: new products are included automatically. */
function recordingOf(provider: string): string {
  const names = readdirSync(join(FIXTURES, provider)).sort();
  return `${provider}/${names.find((name) => /nested/.test(name)) ?? names.find((name) => /parallel/.test(name)) ?? names[0]}`;
}

beforeAll(async () => {
  [browser, server] = await Promise.all([
    sharedBrowser(),
    serve(homeWith(PRODUCTS.map(({ name }) => recordingOf(name)))),
  ]);
  await until(async () => ((await (await fetch(`${server.url}/api/health`)).json()) as { watching: boolean }).watching);
  tab = await visit(browser, server.url);
  await tab.goto("#/");
  await tab.page.locator(".thread").first().waitFor();
  threads = ((await (await fetch(`${server.url}/api/threads`)).json()) as { items: AgentRecord[] }).items;
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
});

describe("a machine with many products", () => {
  it("lists them all, and filters by each", async () => {
    for (const { name, product } of PRODUCTS) {
      await tab.page.getByLabel("Product").selectOption(name);
      await tab.page.waitForFunction(
        ([words, count]) => {
          const shown = [...document.querySelectorAll(".thread .product")].map((element) => element.textContent);
          return shown.length === count && shown.every((text) => text === words);
        },
        [product, threads.filter((thread) => thread.provider === name).length] as const,
      );
    }
    expect(new Set(threads.map((thread) => thread.provider)).size).toBe(PRODUCTS.length);
  });

  it.each(PRODUCTS.map(({ name }) => name))("shows the tree, the agents and the log of %s", async (provider) => {
    const [thread] = threads
      .filter((one) => one.provider === provider)
      .toSorted((a, b) => b.counts.descendants - a.counts.descendants);
    await tab.goto(`#/tree/${thread?.uri}`);
    await tab.page.waitForFunction(
      (count) => document.querySelectorAll(".row[role=treeitem]").length === count,
      1 + (thread?.counts.descendants ?? 0),
    );
    expect(await treeOnScreen(tab.page)).toHaveLength(1 + (thread?.counts.descendants ?? 0));
    await tab.page.keyboard.press("End");
    await tab.page.keyboard.press("Enter");
    await tab.page.locator(".step").first().waitFor();
    await tab.goto(`#/log/${thread?.uri}`);
    await tab.page.locator(".entry").first().waitFor();
    expect(await tab.page.locator(".agent-chip").count()).toBe(1 + (thread?.counts.descendants ?? 0));
    expect(tab.errors).toEqual([]);
  });
});
