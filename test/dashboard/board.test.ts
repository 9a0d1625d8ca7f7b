/**
 * The board in a real browser, with a server that is followed: live cards, waits, moves by mouse and keyboard, the log
 * of all threads, notifications.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeServer, followed } from "../support/opencode-server.ts";
import { until } from "../support/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

const THREAD = "claude://f99d99e0-0001-4c08-865d-e32964e15b93";
const recording = followed("permission");
const [{ root, agents } = { root: "", agents: [] }] = recording.threads;
const child = agents[1]?.agentId ?? "";

let browser: Browser;
let product: FakeServer;
let address = "";
let server: Running;
let tab: Visit;

beforeAll(async () => {
  const home = homeWith(["claude/c3-nested-parallel"]);
  mkdirSync(join(home, ".config/retinue"), { recursive: true });
  // The recording is old, and must not count as silent.
  writeFileSync(join(home, ".config/retinue/config.yaml"), "stale_after: 3650d\n");
  product = new FakeServer();
  address = await product.start();
  [browser, server] = await Promise.all([sharedBrowser(), serve(home)]);
  tab = await visit(browser, server.url);
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
  await product?.stop();
});

const column = (stage: string) => tab.page.locator(`.column[data-stage="${stage}"]`);
const frameOf = (type: string) =>
  recording.frames.findIndex((frame) => frame.includes(`"type":"${type}"`) && frame.includes(child));

describe("the board", () => {
  it("is empty at first, and gets a card for a thread of any product by keyboard", async () => {
    await tab.goto("#/board");
    await tab.page.getByText("No cards yet.").waitFor();
    await tab.page.keyboard.press("n");
    await tab.page.getByLabel("Title").fill("Nest in parallel");
    await tab.page.locator(`[data-add="${THREAD}"]`).click();
    await tab.page.getByLabel("Title").press("Enter");
    await column("done").getByText("Nest in parallel").waitFor();
    expect(await column("done").locator(".card").textContent()).toContain("Claude Code");
  });

  it("follows a server, and shows immediately which agent waits for a permission", async () => {
    await tab.page.getByRole("button", { name: "Follow a server" }).click();
    await tab.page.getByLabel("Address").fill(address);
    await tab.page.getByRole("button", { name: "Follow", exact: true }).click();
    await tab.page.locator('.relays [data-state="following"]').waitFor();
    await tab.page.keyboard.press("Escape");
    const card = { title: "Ask first", threads: [`opencode://${root}`] };
    await fetch(`${server.url}/api/cards`, {
      method: "POST",
      body: JSON.stringify(card),
      headers: { "Content-Type": "application/json" },
    });
    await column("queued").getByText("Ask first").waitFor();
    await until(() => product.listeners > 0);
    for (const frame of recording.frames.slice(0, frameOf("permission.asked") + 1)) product.send(frame);
    const wait = column("working").locator(".wait");
    await wait.waitFor();
    expect(await wait.textContent()).toMatch(/^Needs bash waits for a permission · since .*bash: echo allowed once$/);
    expect(await column("working").locator(".card").textContent()).toContain("2 agents, 2 running");
  });

  it("unchecks the box if the browser denies notifications after asking", async () => {
    await tab.page.evaluate(() => {
      const requestPermission = () => new Promise((resolve) => setTimeout(resolve, 0, "denied"));
      Object.assign(window, { Notification: { permission: "default", requestPermission } });
    });
    await tab.page.getByLabel("Notify me").click();
    await tab.page.getByText("The browser blocks notifications").waitFor();
    await expect.poll(() => tab.page.getByLabel("Notify me").isChecked()).toBe(false);
    expect(tab.errors).toEqual([]);
  });

  it("shows a desktop notification when a card has ended, if enabled", async () => {
    await tab.page.context().grantPermissions(["notifications"]);
    await tab.page.evaluate(() => {
      const shown: string[] = [];
      class FakeNotification {
        static permission = "granted";
        static requestPermission = async () => "granted";
        onclick: (() => void) | null = null;
        constructor(title: string, { body }: { body: string }) {
          shown.push(`${title}: ${body}`);
        }
        close() {}
      }
      Object.assign(window, { Notification: FakeNotification, shown });
    });
    const known = tab.page.waitForResponse((response) => response.url().endsWith("/api/cards"));
    await tab.page.getByLabel("Notify me").check();
    await known;
    for (const frame of recording.frames.slice(frameOf("permission.asked") + 1)) product.send(frame);
    await column("done").getByText("Ask first").waitFor();
    await tab.page.waitForFunction(() =>
      (window as unknown as { shown: string[] }).shown.includes("Ask first: is done"),
    );
    expect(await column("working").locator(".card").count()).toBe(0);
    await tab.page.getByLabel("Notify me").uncheck();
  });

  it("moves a card by keyboard only to valid stages, and by dragging", async () => {
    await tab.goto("#/board");
    await column("done").locator(".card").nth(1).waitFor();
    await column("done").getByText("Ask first").focus();
    await tab.page.keyboard.press("q");
    await column("queued").getByText("Ask first").waitFor();
    await column("done").locator(".card", { hasText: "Nest" }).dragTo(column("working"));
    expect(await column("working").locator(".card").count()).toBe(0);
    await column("done").locator(".card", { hasText: "Nest" }).dragTo(column("queued"));
    await column("queued").getByText("Nest in parallel").waitFor();
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("ArrowRight");
    expect(await column("queued").locator(".card.selected").count()).toBe(1);
  });

  it("opens the log of a card over all its threads, with a chip and a count for every agent", async () => {
    await tab.goto("#/board");
    await column("queued").getByText("Ask first").click();
    await tab.page.waitForURL((url) => url.hash.startsWith("#/card/card_"));
    await tab.page.locator(".entry").first().waitFor();
    const chips = tab.page.locator(".agent-chip");
    await tab.page.waitForFunction(() => document.querySelectorAll(".agent-chip").length === 2);
    const id = tab.page.url().split("/card/")[1] ?? "";
    const activity = (await (await fetch(`${server.url}/api/cards/${id}/agent-activity`)).json()) as {
      agents: { session_id: string; event_count: number }[];
    };
    const counted = await chips.evaluateAll((all) =>
      all.map((chip) => [chip.getAttribute("data-chip"), Number(chip.querySelector(".number")?.textContent)]),
    );
    expect(counted).toEqual(activity.agents.map(({ session_id, event_count }) => [session_id, event_count]));
    await tab.page.locator(".group-line").first().click();
    await tab.page.locator(`.entry[data-agent="${child}"]`, { hasText: "bash" }).first().waitFor();
    await chips.nth(1).click();
    await tab.page.waitForFunction(
      (agent) => document.querySelectorAll(`.entry[data-agent="${agent}"]`).length === 0,
      child,
    );
    await tab.page.keyboard.press("u");
    await tab.page.waitForURL((url) => url.hash === "#/board");
  });

  it("deletes a card, and undoes that", async () => {
    await column("queued").locator(".card", { hasText: "Nest" }).getByRole("button").click();
    await tab.page.getByRole("menuitem", { name: "Delete" }).click();
    await tab.page.waitForFunction(() => document.querySelectorAll(".card").length === 1);
    await tab.page.getByRole("button", { name: "Undo" }).click();
    await column("done").getByText("Nest in parallel").waitFor();
    expect(await tab.page.locator(".card").count()).toBe(2);
  });

  it.each([
    [380, 700, "dark"],
    [2560, 1200, "light"],
  ] as const)("fits into %i pixels", async (width, height, scheme) => {
    const other = await visit(browser, server.url, { width, height, scheme });
    await other.goto("#/board");
    await other.page.locator(".card").first().waitFor();
    expect(await other.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    expect(other.errors).toEqual([]);
    await other.page.context().close();
  });

  it("has no errors in the console", () => {
    expect(tab.errors).toEqual([]);
  });
});
