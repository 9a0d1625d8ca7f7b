/** The pages that only a team server has, and who may open them, in a real browser. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Scope } from "../../src/core/ports/team.ts";
import { RULES } from "../../src/server/team/access.ts";
import { needsPosix } from "../support/needs.ts";
import { agentDocument, eventDocument } from "../team/documents.ts";
import { startTeam, type TestTeam } from "../team/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { documentsOf, fillTeam, nameOf, threadOf } from "./people.ts";
import { cookieOf } from "./server.ts";
import { keepScreenshots, type Visit, visit } from "./visit.ts";

const PEOPLE = 8;
/** More for screenshots. */
const MANY = process.env.LOOK === undefined ? 150 : 501;
let browser: Browser;
let team: TestTeam;
let url = "";
let tab: Awaited<ReturnType<typeof visitAs>>;

beforeEach(needsPosix("PostgreSQL for tests"));
beforeAll(async () => {
  if (process.platform === "win32") return;
  [browser, team] = await Promise.all([sharedBrowser(), startTeam()]);
  url = (team.servers[0]?.url ?? "").replace(/\/$/, "");
  await fillTeam(team, PEOPLE);
  tab = await visitAs("lead", "read", "core", "web");
}, 180_000);
afterAll(async () => {
  await closeTabs(browser);
  await team?.close();
});

/** A tab with the session of a new token. */
async function visitAs(owner: string, scope: Scope, ...teams: string[]): Promise<Visit & { readonly token: string }> {
  const token = await team.token(owner, scope, ...teams);
  return { ...(await visit(browser, { url, cookie: await cookieOf(url, token) })), token };
}

const keep = (page: Page, name: string) =>
  keepScreenshots(page, name, [
    [1280, 800],
    [375, 700],
  ]);

const names = (page: Page, selector: string) => page.locator(selector).allTextContents();
const enter = async (page: Page, token: string) => {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
};

describe("signing in", () => {
  it("shows only what a browser without a session can use, on a narrow screen too", async () => {
    const { page, goto } = await visit(browser, url, { width: 390 });
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
    const { page, goto } = await visit(browser, url);
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
    await page.keyboard.type(await team.token("eve", "read", "core"));
    await page.keyboard.press("Enter");
    await page.locator("[data-chart=owner]").waitFor();
    expect(new URL(page.url()).hash).toBe("#/costs?since=7d");
    await page.context().close();
  });
});

describe("a link to a thread", () => {
  const link = `#/tree/${threadOf(1)}?owner=${nameOf(1)}`;

  it("asks a browser without a session for a token, then shows the thread", async () => {
    const { page, goto } = await visit(browser, url);
    await goto(link);
    await page.getByTestId("sign-in").waitFor();
    await enter(page, await team.token("bob", "ship"));
    await page.getByText("this token can only ship").waitFor();
    await enter(page, await team.token("bob", "read", "web"));
    await page.locator(".row.root").waitFor();
    expect(new URL(page.url()).hash).toBe(link);
    expect(await page.locator(".thread-head .owner").textContent()).toBe(nameOf(1));
    await page.context().close();
  });

  it("looks the same for a thread that is not shared with the viewer and for one that does not exist", async () => {
    const { page, goto } = await visitAs("eve", "read", "core");
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
      await team.ship(await team.token(owner, "ship"), [
        agentDocument(shared, shared, 1, { title: `seen by ${owner}` }),
      ]);
    await tab.goto("#/");
    const lines = tab.page.locator(`.thread[data-uri="${shared}"]`);
    await lines.nth(1).waitFor();
    for (const owner of [nameOf(0), nameOf(1)]) {
      await tab.goto("#/");
      await lines.filter({ hasText: `seen by ${owner}` }).click();
      await tab.page.locator(".thread-head h1", { hasText: `seen by ${owner}` }).waitFor();
      expect(new URL(tab.page.url()).hash).toBe(`#/tree/${shared}?owner=${owner}`);
    }
    await tab.page.getByRole("link", { name: "Log" }).click();
    expect(new URL(tab.page.url()).hash).toBe(`#/log/${shared}?owner=${nameOf(1)}`);
    for (const owner of [nameOf(0), nameOf(1)])
      await team.ship(await team.token(owner, "ship"), [{ is: "removed", thread: shared, uri: shared, revision: 2 }]);
    expect(tab.errors).toEqual([]);
  });
});

describe("Now", () => {
  const people = () => names(tab.page, ".now .group a");

  it("shows who runs what, by person, and leads to the thread by keyboard", async () => {
    await tab.goto("#/now");
    await tab.page.locator(".now .thread").nth(2).waitFor();
    expect((await people()).toSorted()).toEqual([nameOf(0), nameOf(3), nameOf(6)].toSorted());
    const first = tab.page.locator(".now .thread").first();
    expect(await first.textContent()).toContain("Bash: npm test");
    expect(await tab.page.locator(".now .chip.bad").allTextContents()).toEqual([
      expect.stringMatching(/^runs for 4 h/),
      "$42.50",
    ]);
    await keep(tab.page, "now");
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("Enter");
    await tab.page.locator(".row.root").waitFor();
    expect(new URL(tab.page.url()).hash).toMatch(/^#\/tree\/claude:\/\/bbbbbbbb.*\?owner=ann$/);
  });

  it("is up to date without a reload", async () => {
    await tab.page.keyboard.press("N");
    await tab.page.locator(".now .thread").nth(2).waitFor();
    const token = await team.token(nameOf(2), "ship");
    const uri = threadOf(500);
    const [root] = documentsOf(0);
    const record = root?.is === "agent" ? root.record : undefined;
    await team.ship(token, [agentDocument(uri, uri, 1, { ...record, uri, title: "It has just begun" })]);
    await tab.page.locator(".now .thread", { hasText: "It has just begun" }).waitFor();
    expect(await people()).toContain(nameOf(2));
    await team.ship(token, [agentDocument(uri, uri, 2, { title: "It has just begun" })]);
    await tab.page.locator(".now .thread", { hasText: "It has just begun" }).waitFor({ state: "detached" });
    expect(await people()).not.toContain(nameOf(2));
  });

  it("marks people whose machines have sent nothing for a while, on one line on a narrow screen too", async () => {
    const { page, goto } = await visitAs("lead", "read", "core", "web");
    await page.setViewportSize({ width: 375, height: 700 });
    await page.clock.setFixedTime(Date.now() + 3_600_000);
    const name = "a-long-name-of-a-person";
    const uri = threadOf(501);
    await team.ship(await team.token(name, "ship", "core"), [agentDocument(uri, uri, 1, { status: "running" })]);
    await goto("#/now");
    const heading = page.locator(`.group[data-owner="${name}"]`);
    await heading.filter({ hasText: "last sent 59 m ago" }).waitFor();
    await keepScreenshots(page, "now-silent");
    for (const group of await page.locator(".now .group").all()) {
      const [box, chip] = await Promise.all([group.boundingBox(), group.locator(".chip").boundingBox()]);
      expect(box?.height).toBeLessThanOrEqual(40);
      expect((chip?.x ?? 0) + (chip?.width ?? 0)).toBeLessThanOrEqual(375);
      expect(await group.evaluate((element) => element.scrollHeight - element.clientHeight)).toBeLessThanOrEqual(0);
    }
    await team.ship(await team.token(name, "ship", "core"), [{ is: "removed", thread: uri, uri, revision: 2 }]);
    await page.context().close();
  });

  it("is limited to one person, which stays in the URL from page to page", async () => {
    await tab.page.getByLabel("Person").selectOption(nameOf(2));
    await tab.page.getByText(`${nameOf(2)} has no running agents.`).waitFor();
    await tab.page.getByLabel("Person").selectOption(nameOf(3));
    await tab.page.locator(".now .thread").waitFor();
    expect(new URL(tab.page.url()).hash).toBe(`#/now?owner=${nameOf(3)}`);
    for (const name of ["Threads", "Stats", "Costs", "Failures"]) {
      await tab.page.getByRole("link", { name, exact: true }).click();
      await tab.page.waitForURL((at) => at.hash.endsWith(`?owner=${nameOf(3)}`));
    }
    await tab.page.getByRole("link", { name: "Threads", exact: true }).click();
    await tab.page.waitForFunction((name) => {
      const owners = [...document.querySelectorAll(".thread .owner")].map((element) => element.textContent);
      return owners.length > 0 && owners.every((owner) => owner === name);
    }, nameOf(3));
    await tab.page.getByLabel("Person").selectOption("");
    await tab.page
      .locator(".thread")
      .nth(PEOPLE - 1)
      .waitFor();
    expect(tab.errors).toEqual([]);
  });
});

it("pages and keys that only a machine has are not offered", async () => {
  const { page, goto, errors } = await visitAs("lead", "read", "core", "web");
  await goto("#/");
  await page.locator(".thread").first().waitFor();
  await goto("#/board");
  await page.getByText("A team server does not have this page.").waitFor();
  await page.keyboard.press("?");
  const keys = await page.getByRole("dialog").textContent();
  expect(keys).toContain("running threads, costs, failures");
  expect(keys).not.toMatch(/Board|board,|health|continue this agent|permission/);
  await keep(page, "keys");
  expect(errors).toEqual([]);
  await page.context().close();
});

it("a list without threads says that none are shared with the viewer, or that there are none", async () => {
  const nobody = await visitAs("zoe", "read", "empty");
  await nobody.goto("#/");
  await nobody.page.getByText("No threads are shared with you yet.").waitFor();
  expect(await nobody.page.locator(".nothing").textContent()).toContain(`retinue ship --to ${url}`);
  expect(await nobody.page.getByLabel("Person").locator("option").allTextContents()).toEqual(["Everybody", "zoe"]);
  await keep(nobody.page, "nothing-shared");
  await nobody.page.context().close();
});

it("the totals below the threads are those of the threads shown", async () => {
  await tab.goto("#/");
  await tab.page.locator(".foot", { hasText: /threads with/ }).waitFor();
  await tab.page.getByLabel("Status").selectOption("running");
  await expect
    .poll(() => tab.page.locator(".foot").textContent())
    .toBe("3 threads with 6 agents below them · $46.30 known cost");
});

it("pages that wait for the server show their head, and that they wait", async () => {
  const { page, goto } = await visitAs("lead", "read", "core", "web");
  for (const [request, hash, head, text] of [
    ["**/api/search?*", "#/?q=zebra", "h1", "Searching …"],
    [
      "**/api/agents/*/explain*",
      `#/explain/${threadOf(0)}?owner=ann`,
      ".thread-head",
      "Reading the records of all agents …",
    ],
  ] as const) {
    const { promise, resolve } = Promise.withResolvers<void>();
    await page.route(request, async (route) => {
      await promise;
      await route.continue();
    });
    await goto(hash);
    await page.getByText(text).waitFor();
    await expect.poll(() => page.locator(head).count()).toBe(1);
    resolve();
    await page.getByText(text).waitFor({ state: "detached" });
  }
  await page.context().close();
});

it("a search covers everybody who shares, and names them", async () => {
  await tab.goto("#/?q=zebra+crossing");
  await tab.page
    .locator(".found")
    .nth(PEOPLE - 1)
    .waitFor();
  const owners = Array.from({ length: PEOPLE }, (_, n) => nameOf(n));
  expect((await names(tab.page, ".found .owner")).toSorted()).toEqual(owners.toSorted());
  await keep(tab.page, "search");
  await tab.page.getByLabel("Person").selectOption(nameOf(4));
  await tab.page.waitForFunction(() => document.querySelectorAll(".found").length === 1);
  await tab.page.locator(".found").click();
  await tab.page.waitForURL((at) => at.hash.includes(`owner=${nameOf(4)}`));
  await tab.page.locator(".step.selected").waitFor();
});

describe("Costs", () => {
  it("shows the sums of everybody, with budgets, and leads to a person and to the threads", async () => {
    const { total, by, budgets } = await team.json<{
      total: { costUsd: number };
      by: { owner: { key: string }[] };
      budgets: { name: string }[];
    }>("/api/team/costs", tab.token);
    await tab.goto("#/costs?since=all");
    await tab.page.locator("[data-chart=owner] tbody tr").first().waitFor();
    expect(await tab.page.locator("[data-total=cost]").textContent()).toBe(`$${total.costUsd.toFixed(2)}`);
    expect(
      await tab.page
        .locator("[data-chart=owner] tbody tr")
        .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key"))),
    ).toEqual(by.owner.slice(0, 8).map(({ key }) => key));
    expect(budgets.length).toBeGreaterThan(2);
    expect(await tab.page.locator(".budgets tr").count()).toBe(budgets.length);
    expect(await tab.page.locator(`[data-budget="owner ${nameOf(0)}"]`).textContent()).toContain("over by");
    await keep(tab.page, "costs");
    await tab.page.locator(`[data-chart=owner] tr[data-key="${nameOf(5)}"] a`).click();
    await tab.page.waitForURL((at) => at.hash === `#/costs?owner=${nameOf(5)}&since=all`);
    await tab.page.locator("[data-chart=owner]").waitFor({ state: "detached" });
    await tab.page.locator("[data-chart=project] tbody a").first().click();
    await tab.page.locator(".behind li").first().waitFor();
    expect(await tab.page.locator(".behind li .owner").allTextContents()).toEqual([nameOf(5)]);
    expect(tab.errors).toEqual([]);
  });

  it("shows no numbers of everybody as those of a person while the response is on its way", async () => {
    await tab.goto("#/costs?since=all");
    await tab.page.locator("[data-total=cost]").waitFor();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    const costs = /api\/team\/costs.*owner=/;
    await tab.page.route(costs, async (request) => {
      asked();
      await mayAnswer;
      await request.continue();
    });
    await tab.page.getByLabel("Person").selectOption(nameOf(5));
    await isAsked;
    expect(await tab.page.locator("[data-total=cost]").count()).toBe(0);
    expect(await tab.page.locator(".costs [role=status]").textContent()).toContain("Loading");
    answer();
    await tab.page.locator("[data-total=cost]").waitFor();
    await tab.page.unroute(costs);
  });
});

it("the sum of this month is the same on Costs and People", async () => {
  await tab.goto("#/people");
  await tab.page.locator("tr[data-owner]").first().waitFor();
  const costs = await names(tab.page, "tr[data-owner] td.number");
  const sum = costs.reduce((total, text) => total + Number(text.replace(/[$,]/g, "")), 0);
  expect(costs.length).toBeGreaterThanOrEqual(PEOPLE);
  await tab.goto("#/costs");
  expect(await tab.page.locator("[data-total=cost]").textContent()).toBe(`$${sum.toFixed(2)}`);
  expect(sum).toBeGreaterThan(0);
});

it("nothing that only a machine has is offered or requested, also before the server has said anything", async () => {
  const other = await visitAs("lead", "read", "core", "web");
  const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
  await other.page.route(/api\/(?:health|session)/, async (request) => {
    await mayAnswer;
    await request.continue();
  });
  await other.goto(`#/agent/${threadOf(1)}?owner=${nameOf(1)}`);
  await other.page.locator(".agent h1").waitFor();
  for (const name of ["Board", "Health"])
    expect(await other.page.getByRole("link", { name, exact: true }).count()).toBe(0);
  expect(await other.page.getByRole("button", { name: "Continue this agent" }).count()).toBe(0);
  answer();
  await other.page.getByRole("link", { name: "Costs" }).waitFor();
  expect(other.errors).toEqual([]);
  await other.page.context().close();
});

describe("Failures", () => {
  it("lists failed agents with the reason, and runaway threads", async () => {
    await tab.goto("#/failures");
    await tab.page.getByTestId("runaways").waitFor();
    expect(await tab.page.getByTestId("runaways").textContent()).toContain("$42.50");
    const failed = tab.page.locator(`.problems li[data-owner="${nameOf(1)}"]`);
    await failed.locator("summary").click();
    await keep(tab.page, "failures");
    expect(await failed.textContent()).toMatch(/1 failed.*1 shut down.*API error 529/s);
    await failed.getByRole("link", { name: "Run the slow tests" }).click();
    await tab.page.locator(".agent h1").waitFor();
    expect(new URL(tab.page.url()).hash).toBe(`#/agent/${threadOf(1)}/a2?owner=${nameOf(1)}`);
  });
});

describe("People and Audit", () => {
  it("shows who shares from where, and the audit log only to admins", async () => {
    await tab.goto("#/people");
    await tab.page.locator(`tr[data-owner=${nameOf(0)}]`).waitFor();
    expect(await tab.page.locator(`tr[data-owner=${nameOf(0)}]`).textContent()).toMatch(
      /core.*2 · retinue 0\.1\.0.*over by/s,
    );
    await keep(tab.page, "people");
    expect(await tab.page.getByRole("link", { name: "Audit" }).count()).toBe(0);
    const other = await visitAs("root", "admin");
    await other.goto("#/people");
    await other.page.getByRole("link", { name: "Audit" }).click();
    await other.page.getByLabel("Action").selectOption("created a token");
    expect(await other.page.locator(".audited tbody tr").first().textContent()).toMatch(
      /created the token [0-9a-f]+ with scope admin for root$/,
    );
    const actions = await other.page.getByLabel("Action").locator("option").allTextContents();
    const logged = RULES.flatMap(({ audit }) => audit ?? []);
    expect(actions.filter((action) => logged.includes(action))).toEqual([]);
    await other.page.getByLabel("Action").selectOption("viewed a thread");
    await other.page.getByLabel("Who").selectOption("lead");
    const entry = other.page.locator(".audited tbody tr", { hasText: threadOf(0) }).first();
    expect(await entry.textContent()).toMatch(/lead.*viewed the thread claude:\/\/bbbbbbbb\S+ of ann$/s);
    await keep(other.page, "audit");
    await entry.getByRole("link").click();
    await other.page.locator(".row.root").waitFor();
    expect(new URL(other.page.url()).hash).toBe(`#/tree/${threadOf(0)}?owner=ann`);
    expect(other.errors).toEqual([]);
    await other.page.context().close();
    await tab.goto("#/audit");
    await tab.page.getByRole("alert").waitFor();
    expect(await tab.page.getByRole("alert").textContent()).toContain("scope read");
  });
});

describe("a session", () => {
  it("that ends while the page is open asks for a token again, and returns to the page", async () => {
    const { id, token } = await team.store.tokens.create({
      owner: "eve",
      scope: "read",
      teams: ["core"],
      expiresAt: null,
    });
    const { page, goto } = await visit(browser, { url, cookie: await cookieOf(url, token) });
    await goto("#/costs?since=7d");
    await page.locator("[data-chart=owner]").waitFor();
    await team.store.tokens.revoke(id);
    await page.keyboard.press("r");
    await page.getByTestId("sign-in").waitFor();
    expect(await page.locator("[data-chart=owner]").count()).toBe(0);
    await enter(page, await team.token("eve", "read", "core"));
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

it("hundreds of people fit a narrow screen and a wide one", async () => {
  await fillTeam(team, MANY);
  const large = threadOf(901);
  await team.ship(await team.token(nameOf(0), "ship", "core"), [
    agentDocument(large, large, 1),
    ...Array.from({ length: 30 }, (_, n) => agentDocument(large, `${large}/a${n}`, 1)),
    eventDocument(large, large, 0, 1),
  ]);
  const other = await visitAs("root", "admin");
  for (const [width, height] of [
    [375, 700],
    [2560, 1300],
  ] as const) {
    await other.page.setViewportSize({ width, height });
    for (const hash of [
      "#/now",
      "#/costs?since=all",
      "#/failures",
      "#/people",
      ...(width === 375 ? ["#/audit", "#/", `#/log/${large}?owner=${nameOf(0)}`] : []),
    ]) {
      await other.goto(hash);
      await other.page
        .locator(".thread, .chart tr, .problems li, .people tbody tr, .audited tr, .entry")
        .first()
        .waitFor();
      const wide = await other.page.evaluate(() =>
        [document.documentElement, ...document.querySelectorAll(".list, .page")].map(
          (box) => box.scrollWidth - box.clientWidth,
        ),
      );
      expect(Math.max(...wide), `${hash} at ${width}`).toBeLessThanOrEqual(0);
      if (width === 375) await keep(other.page, `many-${hash.replace(/\W/g, "")}`);
      await other.page.setViewportSize({ width, height });
    }
  }
  await other.goto("#/");
  await other.page.locator(".foot", { hasText: /^The latest 100 threads with/ }).waitFor();
  await other.goto("#/now");
  // Only the visible rows are in the document.
  await other.page.locator(".foot", { hasText: `${MANY / 3} people with ${MANY / 3} running threads` }).waitFor();
  expect(await other.page.locator(".now .thread").count()).toBeLessThan(40);
  expect(other.errors).toEqual([]);
}, 240_000);
