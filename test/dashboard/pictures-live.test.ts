/** Pictures grow while agents work, and in the end equal those of a fresh page. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordingIn, replay } from "../../src/app/demo/replay.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { type Shown, waterfallOn } from "./picture.ts";
import { type Running, serve } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

const LASTS_MS = 6_000;
/** A slow machine replays slowly. */
const TIMEOUT_MS = 60_000;
let browser: Browser;
let server: Running;
let tab: Visit;
let root = "";
const stop = new AbortController();
let replayed: Promise<unknown>;

beforeAll(async () => {
  [browser, server] = await Promise.all([
    sharedBrowser(),
    serve(mkdtempSync(join(tmpdir(), "retinue-pictures-live-"))),
  ]);
  tab = await visit(browser, server.url);
  await tab.goto("#/");
  await tab.page.getByTestId("nothing-yet").waitFor();
  const recording = recordingIn(join(FIXTURES, "claude/c3-nested-parallel/home/.claude"));
  replayed = replay(recording, {
    to: join(server.home, ".claude"),
    begins: Date.now(),
    lasts: LASTS_MS,
    seed: 0,
    signal: stop.signal,
  });
  await tab.page.locator(".thread").waitFor();
  root = (await tab.page.locator(".thread").getAttribute("data-uri")) ?? "";
}, TIMEOUT_MS);
afterAll(async () => {
  stop.abort();
  await replayed;
  expect(tab.errors).toEqual([]);
  await closeTabs(browser);
  await server?.stop();
});

const shape = ({ rows, path }: Shown) => ({ rows, path });

describe("while agents work", () => {
  it("the waterfall gets their rows and their bars, and its right edge moves", {
    timeout: TIMEOUT_MS * 2,
  }, async () => {
    await tab.goto(`#/waterfall/${root}`);
    const sizes = new Set<number>();
    const ends = new Set<number>();
    let frames = 0;
    await expect
      .poll(
        async () => {
          const shown = await waterfallOn(tab.page, root);
          sizes.add(shown.rows.length);
          ends.add(shown.whole.to);
          frames = shown.frames;
          return shown.rows.length;
        },
        { timeout: TIMEOUT_MS },
      )
      .toBe(9);
    // How many steps are seen depends on the machine.
    expect(sizes.size).toBeGreaterThan(1);
    expect(ends.size).toBeGreaterThan(1);
    expect(frames).toBeGreaterThan(1);
  });

  it("a fresh page shows the same in the end", { timeout: TIMEOUT_MS * 2 }, async () => {
    await replayed;
    const shapeOn = async (page: Page) => shape(await waterfallOn(page, root));
    await expect
      .poll(async () => (await shapeOn(tab.page)).rows.every(({ to }) => to !== null), { timeout: TIMEOUT_MS })
      .toBe(true);
    const fresh = await visit(browser, server.url);
    await fresh.goto(`#/waterfall/${root}`);
    await expect
      .poll(
        async () => {
          await fresh.page.reload();
          return isDeepStrictEqual(await shapeOn(fresh.page), await shapeOn(tab.page));
        },
        { timeout: TIMEOUT_MS },
      )
      .toBe(true);
    expect((await waterfallOn(tab.page, root)).rows.reduce((sum, row) => sum + row.spans, 0)).toBeGreaterThan(25);
    expect(fresh.errors).toEqual([]);
  });

  it("the graph has all agents with their final status", { timeout: TIMEOUT_MS }, async () => {
    await tab.goto(`#/graph/${root}`);
    await tab.page.locator(".drawing [data-uri]").nth(8).waitFor();
    await tab.page.waitForFunction(
      () =>
        [...document.querySelectorAll(".drawing [role=treeitem]")].every((node) =>
          /completed/.test(node.getAttribute("aria-label") ?? ""),
        ),
      undefined,
      {
        timeout: TIMEOUT_MS,
      },
    );
    expect(await tab.page.locator(".drawing [data-uri]").count()).toBe(9);
  });
});
