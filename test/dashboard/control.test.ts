/** Permission requests and steering in a real browser: everything that would run is shown, and a click answers. */
import type { Browser } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { run } from "../../src/app/api.ts";
import { needsPosix } from "../support/needs.ts";
import { replayedRun } from "../support/replayed-run.ts";
import { startServer, type TestServer, until } from "../support/server.ts";
import { openBrowser } from "./browser.ts";
import { keepScreenshots, visit } from "./visit.ts";

beforeEach(needsPosix("scripts that name their interpreter"));

let browser: Browser;
let server: TestServer;
beforeAll(async () => {
  browser = await openBrowser();
});
afterAll(() => browser?.close());
// Every run of a recording has the same ids.
beforeEach(async () => {
  server = await startServer(null);
});
afterEach(() => server?.close());

it.each([
  ["light", 1280],
  ["dark", 1280],
  ["light", 380],
] as const)("an agent that waits is answered: %s, %i pixels wide", async (scheme, width) => {
  const { program, recorded, received, home } = replayedRun("claude-permissions");
  const env = { ...server.env, HOME: home };
  const handle = await run([program, "-p", "Begin. @@main"], { env, isShared: true, onPermission: () => null });
  const ended = (async () => {
    for await (const _ of handle);
  })();
  const waiting = async () =>
    (await server.json<{ items: { uri: string; input: object }[] }>("/api/permissions")).items[0];
  await until(async () => (await waiting())?.uri != null);
  const agent = encodeURIComponent((await waiting())?.uri ?? "");
  await until(async () =>
    ((await server.json<{ activity?: string | null }>(`/api/agents/${agent}`)).activity ?? "").startsWith(
      "waits for a permission",
    ),
  );
  const tab = await visit(browser, server.url.replace(/\/$/, ""), { scheme, width });
  await tab.goto(`#/agent/${agent}`);
  await tab.page.getByRole("button", { name: "Answer permission request" }).click();
  const dialog = tab.page.getByRole("dialog", { name: "Control this agent" });
  const request = dialog.getByRole("region", { name: "Permission request" });
  await request.getByText("touch first && touch second", { exact: true }).waitFor();
  const box = await dialog.boundingBox();
  expect((box?.x ?? -1) >= 0 && (box?.x ?? 0) + (box?.width ?? 0) <= width).toBe(true);
  expect(await dialog.evaluate((element) => element.scrollWidth > element.clientWidth)).toBe(false);
  await dialog.getByRole("button", { name: "Stop this agent" }).waitFor();
  await keepScreenshots(tab.page, "control");
  await request.getByRole("button", { name: "Allow once" }).click();
  await request.getByText("touch third", { exact: true }).waitFor();
  const reason = request.getByLabel("Message to the model if you reject");
  await reason.fill("Not today.");
  // The dialog polls meanwhile. The entered text is kept, even if one response does not list the request.
  let responses = 0;
  await tab.page.route("**/api/permissions", (route) => {
    responses += 1;
    return responses === 1 ? route.fulfill({ json: { items: [] } }) : route.continue();
  });
  await request.waitFor({ state: "detached" });
  await request.waitFor();
  expect(await reason.inputValue()).toBe("Not today.");
  await request.getByRole("button", { name: "Reject" }).click();
  await ended;
  expect(received()).toEqual(recorded);
  await dialog.getByText("retinue does not control this agent").waitFor();
  expect(tab.errors).toEqual([]);
  await tab.page.context().close();
});
