/** "Continue this agent", in a real browser: from the agent's page, from the tree, light and dark, wide and narrow. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { eventually } from "../support/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { keepScreenshots, visit } from "./visit.ts";

let browser: Browser;
let server: Running;
let agent: AgentTree;

const json = async <T>(path: string) => (await (await fetch(`${server.url}/api/${path}`)).json()) as T;
/** The server responds before it has read all files. */
const threadOf = async (provider: string) =>
  eventually(async () => (await json<{ items: AgentTree[] }>(`threads?provider=${provider}`)).items[0]?.uri);

beforeAll(async () => {
  [browser, server] = await Promise.all([sharedBrowser(), serve(homeWith(["claude/c-nested", "copilot/nested"]))]);
  const tree = await json<AgentTree>(`agents/${encodeURIComponent(await threadOf("claude"))}`);
  const deepest = (node: AgentTree): AgentTree => (node.children[0] === undefined ? node : deepest(node.children[0]));
  agent = deepest(tree);
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
});

it.each([
  ["light", 1280],
  ["dark", 1280],
  ["light", 380],
] as const)("shows the command to copy: %s, %i pixels wide", async (scheme, width) => {
  const tab = await visit(browser, server.url, { scheme, width });
  await tab.goto(`#/agent/${encodeURIComponent(agent.uri)}`);
  await tab.page.getByRole("button", { name: "Continue this agent" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Continue this agent" });
  await dialog.getByText("Run this in a terminal").waitFor();
  expect(await dialog.locator(".command code").textContent()).toBe(`retinue attach ${agent.uri}`);
  expect(await dialog.textContent()).toContain("with this agent's whole history");
  const box = await dialog.boundingBox();
  expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= width).toBe(true);
  const wide = await dialog.evaluate((element) => element.scrollWidth > element.clientWidth);
  expect(wide).toBe(false);
  await keepScreenshots(tab.page, "attach");
  await tab.page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  expect(tab.errors).toEqual([]);
  await tab.page.context().close();
});

it("says why a command cannot be copied over plain HTTP", async () => {
  const tab = await visit(browser, server.url);
  await tab.page.addInitScript(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
  await tab.goto(`#/agent/${encodeURIComponent(agent.uri)}?attach=${encodeURIComponent(agent.uri)}`);
  await tab.page.locator(".command").getByRole("button", { name: /^Copy/ }).click();
  await tab.page.getByText("The browser does not allow copying here").waitFor();
  expect(tab.errors).toEqual([]);
  await tab.page.context().close();
});

it("opens from the tree by keyboard, and states if the history can only be text", async () => {
  const tab = await visit(browser, server.url);
  await tab.goto(`#/tree/${encodeURIComponent(await threadOf("copilot"))}`);
  await tab.page.locator(".row[role=treeitem]").nth(1).waitFor();
  await tab.page.keyboard.press("j");
  await tab.page.keyboard.press("a");
  const dialog = tab.page.getByRole("dialog", { name: "Continue this agent" });
  await dialog.getByText("Run this in a terminal").waitFor();
  expect(await dialog.textContent()).toContain("with this agent's history as its first message");
  expect(await dialog.textContent()).toContain("Copilot CLI cannot resume this agent");
  expect(tab.errors).toEqual([]);
  await tab.page.context().close();
});
