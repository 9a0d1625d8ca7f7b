/** The requests of an agent in a real browser: the request, the response, the changes, and the resulting sub-tasks. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Proxied, startProxied } from "../proxy/proxied.ts";
import type { Upstream } from "../proxy/upstream.ts";
import { replay, startUpstream, wireOf } from "../proxy/wires.ts";
import { startServer, type TestServer, until } from "../support/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { visit } from "./visit.ts";

const WIRE = wireOf("claude", "c-nested");
const SESSION = WIRE[0]?.headers["x-claude-code-session-id"] ?? "";
let [browser, server, upstream, proxied]: [Browser, TestServer, Upstream, Proxied] = [] as never;

beforeAll(async () => {
  [browser, server, upstream] = await Promise.all([sharedBrowser(), startServer(null), startUpstream()]);
  proxied = await startProxied(upstream.url, { env: server.env });
  await replay(WIRE.slice(0, -1), proxied.url, upstream);
  await until(
    async () => (await server.json<{ items: unknown[] }>("/api/requests?limit=100")).items.length === WIRE.length - 1,
  );
});
afterAll(async () => {
  await closeTabs(browser);
  await proxied.dispose();
  await upstream.close();
  await server.close();
});

it("leads from an agent to its requests, and shows new ones live, with their content and sub-tasks", async () => {
  const { page, errors, goto } = await visit(browser, server.url.replace(/\/$/, ""));
  await goto(`#/agent/claude://${SESSION}`);
  await page.getByRole("link", { name: "API requests" }).click();
  await page.locator(".request").first().waitFor();
  expect(await page.locator(".request").count()).toBe(1);
  await replay(WIRE.slice(-1), proxied.url, upstream);
  await page.locator(".request").nth(1).waitFor();

  await page.locator(".request-line").first().click();
  await page
    .getByText(/messages? as in the previous request/)
    .first()
    .waitFor();
  await page.locator(".piece.answer").getByText("main done").waitFor();
  expect(await page.locator(".piece.new").count()).toBeGreaterThan(0);

  const subtask = page.locator(".subtask");
  await subtask.hover();
  await page.locator(".subtask-tip").getByText("Sub-task 1").waitFor();
  expect(await subtask.innerText()).toMatch(/L1|sub-task 1/);
  await subtask.click();
  await page.waitForURL(/#\/agent\//);
  expect(errors).toEqual([]);
});

it("fits a narrow screen in dark mode", async () => {
  const { page, errors, goto } = await visit(browser, server.url.replace(/\/$/, ""), {
    width: 400,
    height: 800,
    scheme: "dark",
  });
  await goto(`#/requests/claude://${SESSION}`);
  await page.locator(".request").first().waitFor();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(400);
  await goto(`#/requests/claude://${SESSION}?work=1`);
  await page.locator(".request").first().waitFor();
  expect(errors).toEqual([]);
  await page.context().close();
});

it("explains how to record requests if there are none", async () => {
  const { page, errors } = await visit(browser, server.url.replace(/\/$/, ""));
  await page.route("**/api/requests?*", (route) => route.fulfill({ json: { items: [], next: null } }));
  await page.goto(`${server.url}#/requests/claude://${SESSION}`);
  await page.getByText("No requests of this agent were recorded.").waitFor();
  expect(await page.locator(".request").count()).toBe(0);
  expect(errors).toEqual([]);
});
