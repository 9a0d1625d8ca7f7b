/** New records are shown without a reload. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordingIn, replay } from "../../src/app/demo/replay.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { localDescribe, startLive } from "./place.ts";
import type { Running } from "./server.ts";
import { treeOnScreen, type Visit, visit } from "./visit.ts";

let browser: Browser;
let server: Running;
let tab: Visit;
const stop = new AbortController();

beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), startLive(mkdtempSync(join(tmpdir(), "retinue-live-")))]);
  tab = await visit(browser, server);
  await tab.goto("#/");
});
afterAll(async () => {
  stop.abort();
  await closeTabs(browser);
  await server?.stop();
});

localDescribe("a machine without threads", () => {
  it("lists the searched folders, and how to start the demo", async () => {
    await tab.goto("#/");
    const nothing = tab.page.getByTestId("nothing-yet");
    await nothing.waitFor();
    await nothing.locator(".roots li").first().waitFor();
    const words = await nothing.textContent();
    expect(words).toContain("Nothing to show yet.");
    expect(words).toContain("retinue demo");
    expect(words).toContain(join(server.home, ".claude"));
    expect(words).toContain("not found");
  });

  it("shows the demo with one click, on a server of its own", async () => {
    const { page, goto } = await visit(browser, server.url);
    await goto("#/");
    await page.getByRole("button", { name: "Start the demo" }).click();
    await page.locator(".thread").first().waitFor();
    expect(page.url()).not.toContain(server.url);
    await page.context().close();
  });
});

describe("while agents work", () => {
  it("their thread appears by itself, and its tree grows to its final form", async () => {
    const recording = recordingIn(join(FIXTURES, "claude/c3-nested-parallel/home/.claude"));
    const { steps } = recording;
    const firstOfAgents = steps.findIndex(({ path }) => path.includes("agent-"));
    const options = { to: join(server.home, ".claude"), begins: Date.now(), lasts: 1, seed: 0, signal: stop.signal };
    await replay({ ...recording, steps: steps.slice(0, firstOfAgents) }, options);
    await tab.page.locator(".thread").click();
    await tab.page.locator(".row.root").waitFor();
    const before = await treeOnScreen(tab.page);
    await replay({ ...recording, steps: steps.slice(firstOfAgents) }, options);
    await tab.page.locator(".row", { hasText: "Leaf B3 late" }).waitFor();
    await expect.poll(async () => (await treeOnScreen(tab.page)).length, { timeout: 60_000 }).toBe(9);
    expect(before.length).toBeLessThan(9);
    expect(await treeOnScreen(tab.page)).toContain("    Leaf B3 late");
  });

  it("an agent is followed to its end", async () => {
    await tab.page.locator(".row.root .name").click();
    await tab.page.locator(".step").first().waitFor();
    await tab.page.keyboard.press("f");
    await tab.page.getByText("The late leaf reported.").last().waitFor({ timeout: 60_000 });
    expect(tab.page.url()).toContain("follow=1");
  });

  it("the live page and a fresh one show the same", async () => {
    await tab.page.keyboard.press("u");
    await tab.page.locator(".row[role=treeitem]").nth(8).waitFor();
    await tab.page.waitForFunction(() => document.querySelectorAll(".row .mark.running").length === 0, undefined, {
      timeout: 60_000,
    });
    const numbers = async () =>
      (await tab.page.locator(".row[role=treeitem] .cell[data-column*=okens]").allTextContents()).join(" ");
    const live = [await treeOnScreen(tab.page), await numbers()];
    await tab.page.reload();
    await tab.page.locator(".row[role=treeitem]").nth(8).waitFor();
    expect([await treeOnScreen(tab.page), await numbers()]).toEqual(live);
    expect(tab.errors).toEqual([]);
  });
});
