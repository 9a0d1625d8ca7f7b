/** The Explain and Files views of a thread, and two threads side by side. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openBrowser } from "./browser.ts";
import { localDescribe, start } from "./place.ts";
import { homeWith, type Running } from "./server.ts";
import { keepScreenshots, type Visit, visit } from "./visit.ts";

const FAILING = "claude://5891a169-1e39-4b84-8481-5552c2a22d13";
const CLEAN = "claude://21c2d5cf-22df-46f8-9d93-f17c04dc0e30";
const TIMEOUT_MS = 60_000;
let browser: Browser;
let server: Running;
let tab: Visit;

beforeAll(async () => {
  [browser, server] = await Promise.all([openBrowser(), start(homeWith(["claude/e-fail", "claude/a-single"]))]);
  tab = await visit(browser, server);
  await tab.goto("#/");
  await tab.page.locator(".thread").nth(1).waitFor({ timeout: TIMEOUT_MS });
});
afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

describe("the Explain view", () => {
  it("lists what went wrong, with links to the agents and records", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto(`#/explain/${FAILING}`);
    const findings = tab.page.locator(".findings > li");
    await findings.first().waitFor();
    expect(await findings.evaluateAll((all) => all.map((one) => one.getAttribute("data-kind")))).toEqual([
      "failed",
      "failed",
      "failed",
      "failed",
    ]);
    await keepScreenshots(tab.page, "explain");
    await findings.first().locator("ul a").first().click();
    await tab.page.locator(".step.selected").waitFor();
    expect(new URL(tab.page.url()).hash).toMatch(/^#\/agent\/claude:\/\/5891a169[^?]*\?event=/);
    expect(tab.errors).toEqual([]);
  });

  it("shows nothing of one thread while another one is read", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto(`#/explain/${FAILING}`);
    await tab.page.locator(".findings > li").first().waitFor();
    const held = Promise.withResolvers<void>();
    await tab.page.route("**/explain", async (route) => {
      await held.promise;
      await route.continue();
    });
    await tab.goto(`#/explain/${CLEAN}`);
    await tab.page.getByText("Reading the records of all agents …").waitFor();
    expect(await tab.page.locator(".findings").count()).toBe(0);
    held.resolve();
    await tab.page.getByRole("heading", { name: "Nothing to report" }).waitFor();
    await tab.page.unroute("**/explain");
  });

  it("states that there are no findings", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto(`#/explain/${CLEAN}`);
    await tab.page.getByRole("heading", { name: "Nothing to report" }).waitFor();
    expect(await tab.page.locator(".findings > li").count()).toBe(0);
    expect(await tab.page.locator(".explain table").count()).toBe(2);
    expect(tab.errors).toEqual([]);
  });
});

describe("the Files view", () => {
  it("lists files, and who used them", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto(`#/files/${CLEAN}`);
    const file = tab.page.locator(".used-files > li");
    await file.first().waitFor();
    expect(await file.locator("code").allTextContents()).toEqual(["/home/dev/trial/runs/a-single/repo/a.txt"]);
    await file.getByRole("button").click();
    expect(await file.locator("ul li").count()).toBe(1);
    await keepScreenshots(tab.page, "files");
    expect(tab.errors).toEqual([]);
  });
});

localDescribe("the Compare page", () => {
  it("shows two trees side by side, agent by agent", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto("#/compare");
    await tab.page.getByLabel("Left").fill(FAILING);
    await tab.page.getByLabel("Right").fill(CLEAN);
    await tab.page.getByRole("button", { name: "Compare" }).click();
    const pairs = tab.page.locator(".compare-agents tbody tr");
    await pairs.first().waitFor();
    expect(new URL(tab.page.url()).hash).toContain("left=claude");
    const texts = (await pairs.locator("td:nth-child(3)").allTextContents()).map((text) => text.trim());
    expect(texts[0]).toBe("thread");
    // The failing thread has more agents than the other one.
    expect(texts.filter((text) => text === "only left").length).toBeGreaterThan(0);
    expect(texts).not.toContain("only right");
    expect(await tab.page.locator("[data-measure=failed] td").allTextContents()).toEqual(["4", "0", expect.anything()]);
    await keepScreenshots(tab.page, "compare");
    await pairs.first().locator("a").first().click();
    expect(new URL(tab.page.url()).hash).toBe(`#/agent/${FAILING}`);
    expect(tab.errors).toEqual([]);
  });

  it("shows the spread of two groups instead", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto(`#/compare?left=${FAILING},${CLEAN}&right=${CLEAN}`);
    await tab.page.locator("[data-measure=tokens]").waitFor();
    expect(await tab.page.locator(".compare-agents").count()).toBe(0);
    expect(await tab.page.locator(".compare thead").textContent()).toContain("2 threads");
    expect(tab.errors).toEqual([]);
  });

  it("reports a thread that does not exist", { timeout: TIMEOUT_MS }, async () => {
    const other = await visit(browser, server.url);
    await other.goto(`#/compare?left=${CLEAN}&right=claude://00000000-0000-4000-8000-000000000000`);
    await other.page.getByRole("button", { name: /again|retry/i }).waitFor();
    expect(await other.page.locator(".compare").textContent()).toContain("00000000");
    await other.page.close();
  });
});
