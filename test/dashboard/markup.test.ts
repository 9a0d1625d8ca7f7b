/** Markup that a product writes for its model, as the dashboard shows it. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

const TREE = "claude://f99d99e0-0001-4c08-865d-e32964e15b93";
const SENTENCE = "Leaf B3 late finished: Late leaf result.";
let browser: Browser;
let server: Running;
let tab: Visit;

beforeAll(async () => {
  [browser, server] = await Promise.all([
    sharedBrowser(),
    serve(homeWith(["claude/c3-nested-parallel", "claude/d-background"])),
  ]);
  tab = await visit(browser, server.url);
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
});

describe("the notification that a background agent ended", () => {
  it("is a sentence on the page of the agent, with the raw record", async () => {
    await tab.goto(`#/agent/${TREE}`);
    const note = tab.page.locator(".step[data-kind=note]", { hasText: SENTENCE });
    await note.waitFor();
    expect(await note.textContent()).not.toContain("task-notification");
    await note.getByRole("button").click();
    const raw = note.locator("details.raw-text");
    expect(await raw.getByText("<task-notification>").isVisible()).toBe(false);
    await raw.locator("summary").click();
    await raw.getByText("<task-notification>").waitFor();
  });

  it("is a sentence in the log", async () => {
    await tab.goto("#/log/claude://16ff625c-81fc-41a2-88cf-4b4069d6af28");
    await tab.page.getByText("Background A finished: ").first().waitFor();
    expect(await tab.page.locator("main").textContent()).not.toContain("<task-notification>");
    expect(tab.errors).toEqual([]);
  });
});
