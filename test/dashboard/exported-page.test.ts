/** The page that `retinue export html` writes, opened from disk in a real browser. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { everyone, type Story } from "../../src/core/views/story.ts";
import { htmlPage } from "../../src/exporters/html/page.ts";
import { recordedHome } from "../support/fixtures.ts";
import { storiesOf } from "../support/stories.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";

const HOSTILE = `</script></pre><script>alert(1)</script><img src="http://beacon.invalid/x.png" onerror="alert(2)"><style>body{display:none}</style>`;
const scratch = mkdtempSync(join(tmpdir(), "retinue-page-"));
let browser: Browser;
let recorded: Story;

beforeAll(async () => {
  browser = await sharedBrowser();
  recorded = (await storiesOf(recordedHome("claude", "c3-nested-parallel").home))[0] as Story;
});
afterAll(async () => {
  await closeTabs(browser);
  rmSync(scratch, { recursive: true });
});

interface Opened {
  readonly page: Page;
  /** The errors, the requests and the dialogs of the browser. */
  readonly errors: string[];
}

let number = 0;
async function open(
  story: Story,
  options: { readonly width?: number; readonly dark?: boolean; readonly script?: boolean } = {},
): Promise<Opened> {
  const file = join(scratch, `page-${number++}.html`);
  writeFileSync(file, htmlPage(story));
  const page = await browser.newPage({
    viewport: { width: options.width ?? 1200, height: 800 },
    colorScheme: options.dark === true ? "dark" : "light",
    javaScriptEnabled: options.script !== false,
  });
  const errors: string[] = [];
  page.on("console", (message) => errors.push(message.text()));
  page.on("pageerror", (error) => errors.push(String(error)));
  page.on("dialog", (dialog) => {
    errors.push(dialog.message());
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!request.url().startsWith("file:")) errors.push(request.url());
  });
  await page.goto(pathToFileURL(file).href);
  return { page, errors };
}

/** Copies of one agent, each with its own name. */
function crowd(story: Story, size: number): Story {
  const [first] = story.children;
  const clone = (one: Story, n: number): Story => ({
    ...one,
    record: { ...one.record, uri: `${one.record.uri}-${n}`, description: `Worker ${n}` },
    children: [],
  });
  return { ...story, children: Array.from({ length: size }, (_, n) => clone(first as Story, n)) };
}

describe("an exported page", () => {
  it("shows the tree, a bar per agent and their events; links to it work, and nothing is loaded", async () => {
    const { page, errors } = await open(recorded);
    const agents = [...everyone(recorded)].length;
    expect(await page.locator(".tree .row[data-agent]").count()).toBe(agents);
    expect(await page.locator(".tree svg").count()).toBe(agents);
    await page.getByRole("link", { name: /Leaf B3 late/ }).click();
    const log = page.locator(".agent[open]", { hasText: "Leaf B3 late" }).last();
    await expect.poll(() => log.isVisible()).toBe(true);
    expect(await log.locator(".step").count()).toBeGreaterThan(1);
    await page.locator(".fold").nth(1).click();
    expect(await page.getByRole("link", { name: /Leaf A1/ }).isVisible()).toBe(false);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("finds agents by their text", async () => {
    const { page, errors } = await open(recorded);
    await page.keyboard.press("/");
    await page.keyboard.type("late leaf");
    await expect.poll(() => page.locator("#found").innerText()).toMatch(/^[1-9] of 9 agents$/);
    await page.locator("#words").fill("");
    await expect.poll(() => page.locator(".agent:visible").count()).toBe(9);
    await page.locator("#all").click();
    expect(await page.locator(".agent[open]").count()).toBe(9);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("stays usable with 300 agents, on a narrow screen and in dark mode", async () => {
    const { page, errors } = await open(crowd(recorded, 300), { width: 380, dark: true });
    expect(await page.locator(".tree .row[data-agent]").count()).toBe(301);
    expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
    await page.locator("#words").fill("Worker 299");
    await expect.poll(() => page.locator("#found").innerText()).toBe("1 of 301 agents");
    expect(errors).toEqual([]);
    await page.close();
  });

  it("runs no code from a transcript", async () => {
    const hostile = (story: Story): Story => ({
      ...story,
      record: {
        ...story.record,
        title: HOSTILE,
        description: HOSTILE,
        statusReason: HOSTILE,
        uri: `${story.record.uri}"><b>`,
      },
      steps: story.steps.map((step) => ({
        ...step,
        event: {
          ...step.event,
          text: HOSTILE,
          tool: step.event.tool && { ...step.event.tool, name: HOSTILE, input: { a: HOSTILE } },
        },
      })),
      children: story.children.map(hostile),
    });
    const { page, errors } = await open(hostile(recorded));
    await page.locator("#all").click();
    expect(await page.locator("main img, main script, main b b").count()).toBe(0);
    expect(await page.locator("h1").innerText()).toContain("<script>alert(1)</script>");
    expect(await page.locator("body").isVisible()).toBe(true);
    expect(errors).toEqual([]);
    await page.close();
  });

  it("shows everything without JavaScript, too", async () => {
    const { page } = await open(recorded, { script: false });
    expect(await page.locator(".tree .row[data-agent]").count()).toBe(9);
    expect(await page.locator("#find").isVisible()).toBe(false);
    await page.locator(".agent > summary").nth(1).click();
    expect(await page.locator(".agent").nth(1).locator(".step").first().isVisible()).toBe(true);
    await page.close();
  });
});
