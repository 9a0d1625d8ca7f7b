/** Signing in to a team server, sessions, and links to threads, in a real browser. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { agentDocument } from "../team/documents.ts";
import { nameOf, threadOf } from "./people.ts";
import { cookieOf } from "./server.ts";
import { teamSite } from "./team-site.ts";
import { keepScreenshots, visit } from "./visit.ts";

const site = teamSite(4);

const enter = async (page: Page, token: string) => {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
};

describe("signing in", () => {
  it("shows only what a browser without a session can use, on a narrow screen too", async () => {
    const { page, goto } = await visit(site.browser, site.url, { width: 390 });
    await goto("#/costs?since=7d");
    await page.getByTestId("sign-in").waitFor();
    expect(await page.locator("a, select, button, input").evaluateAll((all) => all.map((one) => one.tagName))).toEqual([
      "INPUT",
      "BUTTON",
    ]);
    expect(await page.getByTestId("sign-in").textContent()).toMatch(/retinue.*scope read or admin.*docs\/team\.md/);
    const [field, button] = await Promise.all(
      ["input", "button"].map((name) => page.locator(`.sign-in ${name}`).boundingBox()),
    );
    expect((button?.y ?? 0) - ((field?.y ?? 0) + (field?.height ?? 0))).toBeGreaterThanOrEqual(6);
    await keepScreenshots(page, "sign-in", [
      [1280, 800],
      [390, 700],
    ]);
    await page.context().close();
  });

  it("works by keyboard, says what is wrong with a token, and opens the page that was asked for", async () => {
    const { page, goto } = await visit(site.browser, site.url);
    await goto("#/costs?since=7d");
    const isInField = () => page.evaluate(() => document.activeElement?.getAttribute("name") === "token");
    await expect.poll(isInField).toBe(true);
    await page.keyboard.type("rtn_wrong");
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "the token is unknown, expired or revoked" }).waitFor();
    expect(await isInField()).toBe(true);
    // Keys of pages do nothing: they would change the page that was asked for.
    await page.keyboard.press("Escape");
    await page.locator("body").click({ position: { x: 5, y: 5 } });
    await page.keyboard.press("T");
    await page.keyboard.press("Tab");
    expect(await isInField()).toBe(true);
    // The wrong token is replaced.
    await page.keyboard.type(await site.team.token("eve", "read", "core"));
    await page.keyboard.press("Enter");
    await page.locator("[data-chart=owner]").waitFor();
    expect(new URL(page.url()).hash).toBe("#/costs?since=7d");
    await page.context().close();
  });
});

describe("a link to a thread", () => {
  const link = `#/tree/${threadOf(1)}?owner=${nameOf(1)}`;

  it("asks a browser without a session for a token, then shows the thread", async () => {
    const { page, goto } = await visit(site.browser, site.url);
    await goto(link);
    await page.getByTestId("sign-in").waitFor();
    await enter(page, await site.team.token("bob", "ship"));
    await page.getByText("this token can only ship").waitFor();
    await enter(page, await site.team.token("bob", "read", "web"));
    await page.locator(".row.root").waitFor();
    expect(new URL(page.url()).hash).toBe(link);
    expect(await page.locator(".thread-head .owner").textContent()).toBe(nameOf(1));
    await page.context().close();
  });

  it("looks the same for a thread that is not shared with the viewer and for one that does not exist", async () => {
    const { page, goto } = await site.visitAs("eve", "read", "core");
    const seen = async (uri: string) => {
      await goto(`#/tree/${uri}?owner=${nameOf(1)}`);
      const text = (await page.getByRole("alert").filter({ hasText: uri }).textContent()) ?? "";
      return text.replace(uri, "URI");
    };
    const hidden = await seen(threadOf(1));
    expect(hidden).toContain("no thread URIit does not exist, or is not shared with you");
    expect(hidden).toBe(await seen(threadOf(998)));
    await page.context().close();
  });

  it("leads to the thread of its owner, also if another person has it too", async () => {
    const shared = threadOf(900);
    for (const owner of [nameOf(0), nameOf(1)])
      await site.team.ship(await site.team.token(owner, "ship"), [
        agentDocument(shared, shared, 1, { title: `seen by ${owner}` }),
      ]);
    await site.tab.goto("#/");
    const lines = site.tab.page.locator(`.thread[data-uri="${shared}"]`);
    await lines.nth(1).waitFor();
    for (const owner of [nameOf(0), nameOf(1)]) {
      await site.tab.goto("#/");
      await lines.filter({ hasText: `seen by ${owner}` }).click();
      await site.tab.page.locator(".thread-head h1", { hasText: `seen by ${owner}` }).waitFor();
      expect(new URL(site.tab.page.url()).hash).toBe(`#/tree/${shared}?owner=${owner}`);
    }
    await site.tab.page.getByRole("link", { name: "Log" }).click();
    expect(new URL(site.tab.page.url()).hash).toBe(`#/log/${shared}?owner=${nameOf(1)}`);
    for (const owner of [nameOf(0), nameOf(1)])
      await site.team.ship(await site.team.token(owner, "ship"), [
        { is: "removed", thread: shared, uri: shared, revision: 2 },
      ]);
    expect(site.tab.errors).toEqual([]);
  });
});

describe("a session", () => {
  it("that ends while the page is open asks for a token again, and returns to the page", async () => {
    const { id, token } = await site.team.store.tokens.create({
      owner: "eve",
      scope: "read",
      teams: ["core"],
      expiresAt: null,
    });
    const { page, goto } = await visit(site.browser, { url: site.url, cookie: await cookieOf(site.url, token) });
    await goto("#/costs?since=7d");
    await page.locator("[data-chart=owner]").waitFor();
    await site.team.store.tokens.revoke(id);
    await page.keyboard.press("r");
    await page.getByTestId("sign-in").waitFor();
    expect(await page.locator("[data-chart=owner]").count()).toBe(0);
    await enter(page, await site.team.token("eve", "read", "core"));
    await page.locator("[data-chart=owner]").waitFor();
    expect(new URL(page.url()).hash).toBe("#/costs?since=7d");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByTestId("sign-in").waitFor();
    await page.reload();
    await page.getByTestId("sign-in").waitFor();
    expect(await page.locator(".team-bar").count()).toBe(0);
    await page.context().close();
  });
});
