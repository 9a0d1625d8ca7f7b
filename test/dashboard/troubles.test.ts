/** Troubles of the server are shown on every page, and disappear when they are over. */
import { type ChildProcess, spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { filesBelow } from "../support/fixtures.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { visit } from "./visit.ts";

let browser: Browser;
let server: Running;
let holder: ChildProcess | undefined;

beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), serve(homeWith(["claude/c-nested"]))]);
});
afterAll(async () => {
  holder?.kill("SIGKILL");
  await closeTabs(browser);
  await server?.stop();
});

/** Another process that holds the write lock of the index. */
async function lock(index: string): Promise<ChildProcess> {
  const script = `const db = new (require("node:sqlite").DatabaseSync)(process.argv[1], { timeout: 60_000 }); db.exec("BEGIN IMMEDIATE"); console.log("held"); setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["-e", script, index], { stdio: ["ignore", "pipe", "ignore"] });
  await new Promise((resolve) => child.stdout.once("data", resolve));
  return child;
}

it("shows what the server cannot do and since when, for as long as that lasts", { timeout: 180_000 }, async () => {
  const { page, goto } = await visit(browser, server.url);
  await goto("#/");
  await page.locator(".thread").first().waitFor();
  expect(await page.locator(".troubles").count()).toBe(0);
  const { home } = (await (await fetch(new URL("/api/health", server.url))).json()) as { home: string };
  holder = await lock(join(home, "index.sqlite"));
  for (const file of filesBelow(server.home).filter((path) => path.endsWith(".jsonl")))
    appendFileSync(join(server.home, file), "{}\n");
  const trouble = page.locator(".troubles li");
  await trouble.waitFor({ timeout: 60_000 });
  expect(await trouble.textContent()).toMatch(
    /^Retinue cannot read what is new \(database is locked\); retrying\. Started .+\.$/,
  );
  holder.kill("SIGKILL");
  await trouble.waitFor({ state: "detached", timeout: 60_000 });
});
