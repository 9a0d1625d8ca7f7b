/** The pages that only a team server has, in a real browser. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { RULES } from "../../src/server/team/access.ts";
import { agentDocument, eventDocument } from "../team/documents.ts";
import { documentsOf, fillTeam, nameOf, threadOf } from "./people.ts";
import { teamSite } from "./team-site.ts";
import { keepScreenshots } from "./visit.ts";

const PEOPLE = 8;
/** More for screenshots. */
const MANY = process.env.LOOK === undefined ? 150 : 501;
const site = teamSite(PEOPLE);

const keep = (page: Page, name: string) =>
  keepScreenshots(page, name, [
    [1280, 800],
    [375, 700],
  ]);

const names = (page: Page, selector: string) => page.locator(selector).allTextContents();
describe("Now", () => {
  const people = () => names(site.tab.page, ".now .group a");

  it("shows who runs what, by person, and leads to the thread by keyboard", async () => {
    await site.tab.goto("#/now");
    await site.tab.page.locator(".now .thread").nth(2).waitFor();
    expect((await people()).toSorted()).toEqual([nameOf(0), nameOf(3), nameOf(6)].toSorted());
    const first = site.tab.page.locator(".now .thread").first();
    expect(await first.textContent()).toContain("Bash: npm test");
    expect(await site.tab.page.locator(".now .chip.bad").allTextContents()).toEqual([
      expect.stringMatching(/^runs for 4 h/),
      "$42.50",
    ]);
    await keep(site.tab.page, "now");
    await site.tab.page.keyboard.press("j");
    await site.tab.page.keyboard.press("Enter");
    await site.tab.page.locator(".row.root").waitFor();
    expect(new URL(site.tab.page.url()).hash).toMatch(/^#\/tree\/claude:\/\/bbbbbbbb.*\?owner=ann$/);
  });

  it("is up to date without a reload", async () => {
    await site.tab.page.keyboard.press("N");
    await site.tab.page.locator(".now .thread").nth(2).waitFor();
    const token = await site.team.token(nameOf(2), "ship");
    const uri = threadOf(500);
    const [root] = documentsOf(0);
    const record = root?.is === "agent" ? root.record : undefined;
    await site.team.ship(token, [agentDocument(uri, uri, 1, { ...record, uri, title: "It has just begun" })]);
    await site.tab.page.locator(".now .thread", { hasText: "It has just begun" }).waitFor();
    expect(await people()).toContain(nameOf(2));
    await site.team.ship(token, [agentDocument(uri, uri, 2, { title: "It has just begun" })]);
    await site.tab.page.locator(".now .thread", { hasText: "It has just begun" }).waitFor({ state: "detached" });
    expect(await people()).not.toContain(nameOf(2));
  });

  it("marks people whose machines have sent nothing for a while, on one line on a narrow screen too", async () => {
    const { page, goto } = await site.visitAs("lead", "read", "core", "web");
    await page.setViewportSize({ width: 375, height: 700 });
    await page.clock.setFixedTime(Date.now() + 3_600_000);
    const name = "a-long-name-of-a-person";
    const uri = threadOf(501);
    await site.team.ship(await site.team.token(name, "ship", "core"), [
      agentDocument(uri, uri, 1, { status: "running" }),
    ]);
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
    await site.team.ship(await site.team.token(name, "ship", "core"), [
      { is: "removed", thread: uri, uri, revision: 2 },
    ]);
    await page.context().close();
  });

  it("misses nothing that is sent after its response and before its live stream", async () => {
    const other = await site.visitAs("lead", "read", "core", "web");
    const { promise: mayFollow, resolve: follow } = Promise.withResolvers<void>();
    await other.page.route(/api\/live/, async (request) => {
      await mayFollow;
      await request.continue();
    });
    await other.goto("#/now");
    await other.page.locator(".now .thread").first().waitFor();
    const uri = threadOf(903);
    const [root] = documentsOf(0);
    const record = root?.is === "agent" ? root.record : undefined;
    const token = await site.team.token(nameOf(2), "ship");
    await site.team.ship(token, [agentDocument(uri, uri, 1, { ...record, uri, title: "It began in between" })]);
    follow();
    await other.page.locator(".now .thread", { hasText: "It began in between" }).waitFor();
    expect(other.errors).toEqual([]);
    await site.team.ship(token, [{ is: "removed", thread: uri, uri, revision: 2 }]);
    await other.page.context().close();
  });

  it("is limited to one person, which stays in the URL from page to page", async () => {
    await site.tab.page.getByLabel("Person").selectOption(nameOf(2));
    await site.tab.page.getByText(`${nameOf(2)} has no running agents.`).waitFor();
    await site.tab.page.getByLabel("Person").selectOption(nameOf(3));
    await site.tab.page.locator(".now .thread").waitFor();
    expect(new URL(site.tab.page.url()).hash).toBe(`#/now?owner=${nameOf(3)}`);
    for (const name of ["Threads", "Stats", "Costs", "Failures"]) {
      await site.tab.page.getByRole("link", { name, exact: true }).click();
      await site.tab.page.waitForURL((at) => at.hash.endsWith(`?owner=${nameOf(3)}`));
    }
    await site.tab.page.getByRole("link", { name: "Threads", exact: true }).click();
    await site.tab.page.waitForFunction((name) => {
      const owners = [...document.querySelectorAll(".thread .owner")].map((element) => element.textContent);
      return owners.length > 0 && owners.every((owner) => owner === name);
    }, nameOf(3));
    await site.tab.page.getByLabel("Person").selectOption("");
    await site.tab.page
      .locator(".thread")
      .nth(PEOPLE - 1)
      .waitFor();
    expect(site.tab.errors).toEqual([]);
  });
});

it("pages and keys that only a machine has are not offered", async () => {
  const { page, goto, errors } = await site.visitAs("lead", "read", "core", "web");
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
  const nobody = await site.visitAs("zoe", "read", "empty");
  await nobody.goto("#/");
  await nobody.page.getByText("No threads are shared with you yet.").waitFor();
  expect(await nobody.page.locator(".nothing").textContent()).toContain(`retinue ship --to ${site.url}`);
  expect(await nobody.page.getByLabel("Person").locator("option").allTextContents()).toEqual(["Everybody", "zoe"]);
  await keep(nobody.page, "nothing-shared");
  await nobody.page.context().close();
});

it("the totals below the threads are those of the threads shown", async () => {
  await site.tab.goto("#/");
  await site.tab.page.locator(".foot", { hasText: /threads with/ }).waitFor();
  await site.tab.page.getByLabel("Status").selectOption("running");
  await expect
    .poll(() => site.tab.page.locator(".foot").textContent())
    .toBe("3 threads with 6 agents below them · $46.30 known cost");
});

it("pages that wait for the server show their head, and that they wait", async () => {
  const { page, goto } = await site.visitAs("lead", "read", "core", "web");
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
  await site.tab.goto("#/?q=zebra+crossing");
  await site.tab.page
    .locator(".found")
    .nth(PEOPLE - 1)
    .waitFor();
  const owners = Array.from({ length: PEOPLE }, (_, n) => nameOf(n));
  expect((await names(site.tab.page, ".found .owner")).toSorted()).toEqual(owners.toSorted());
  await keep(site.tab.page, "search");
  await site.tab.page.getByLabel("Person").selectOption(nameOf(4));
  await site.tab.page.waitForFunction(() => document.querySelectorAll(".found").length === 1);
  await site.tab.page.locator(".found").click();
  await site.tab.page.waitForURL((at) => at.hash.includes(`owner=${nameOf(4)}`));
  await site.tab.page.locator(".step.selected").waitFor();
});

describe("Costs", () => {
  it("shows the sums of everybody, with budgets, and leads to a person and to the threads", async () => {
    const { total, by, budgets } = await site.team.json<{
      total: { costUsd: number };
      by: { owner: { key: string }[] };
      budgets: { name: string }[];
    }>("/api/team/costs", site.tab.token);
    await site.tab.goto("#/costs?since=all");
    await site.tab.page.locator("[data-chart=owner] tbody tr").first().waitFor();
    expect(await site.tab.page.locator("[data-total=cost]").textContent()).toBe(`$${total.costUsd.toFixed(2)}`);
    expect(
      await site.tab.page
        .locator("[data-chart=owner] tbody tr")
        .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-key"))),
    ).toEqual(by.owner.slice(0, 8).map(({ key }) => key));
    expect(budgets.length).toBeGreaterThan(2);
    expect(await site.tab.page.locator(".budgets tr").count()).toBe(budgets.length);
    expect(await site.tab.page.locator(`[data-budget="owner ${nameOf(0)}"]`).textContent()).toContain("over by");
    await keep(site.tab.page, "costs");
    await site.tab.page.locator(`[data-chart=owner] tr[data-key="${nameOf(5)}"] a`).click();
    await site.tab.page.waitForURL((at) => at.hash === `#/costs?owner=${nameOf(5)}&since=all`);
    await site.tab.page.locator("[data-chart=owner]").waitFor({ state: "detached" });
    await site.tab.page.locator("[data-chart=project] tbody a").first().click();
    await site.tab.page.locator(".behind li").first().waitFor();
    expect(await site.tab.page.locator(".behind li .owner").allTextContents()).toEqual([nameOf(5)]);
    expect(site.tab.errors).toEqual([]);
  });

  it("shows no numbers of everybody as those of a person while the response is on its way", async () => {
    await site.tab.goto("#/costs?since=all");
    await site.tab.page.locator("[data-total=cost]").waitFor();
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { promise: mayAnswer, resolve: answer } = Promise.withResolvers<void>();
    const costs = /api\/team\/costs.*owner=/;
    await site.tab.page.route(costs, async (request) => {
      asked();
      await mayAnswer;
      await request.continue();
    });
    await site.tab.page.getByLabel("Person").selectOption(nameOf(5));
    await isAsked;
    expect(await site.tab.page.locator("[data-total=cost]").count()).toBe(0);
    expect(await site.tab.page.locator(".costs [role=status]").textContent()).toContain("Loading");
    answer();
    await site.tab.page.locator("[data-total=cost]").waitFor();
    await site.tab.page.unroute(costs);
  });
});

it("the sum of this month is the same on Costs and People", async () => {
  await site.tab.goto("#/people");
  await site.tab.page.locator("tr[data-owner]").first().waitFor();
  const costs = await names(site.tab.page, "tr[data-owner] td.number");
  const sum = costs.reduce((total, text) => total + Number(text.replace(/[$,]/g, "")), 0);
  expect(costs.length).toBeGreaterThanOrEqual(PEOPLE);
  await site.tab.goto("#/costs");
  expect(await site.tab.page.locator("[data-total=cost]").textContent()).toBe(`$${sum.toFixed(2)}`);
  expect(sum).toBeGreaterThan(0);
});

it("nothing that only a machine has is offered or requested, also before the server has said anything", async () => {
  const other = await site.visitAs("lead", "read", "core", "web");
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
    await site.tab.goto("#/failures");
    await site.tab.page.getByTestId("runaways").waitFor();
    expect(await site.tab.page.getByTestId("runaways").textContent()).toContain("$42.50");
    const failed = site.tab.page.locator(`.problems li[data-owner="${nameOf(1)}"]`);
    await failed.locator("summary").click();
    await keep(site.tab.page, "failures");
    expect(await failed.textContent()).toMatch(/1 failed.*1 shut down.*API error 529/s);
    await failed.getByRole("link", { name: "Run the slow tests" }).click();
    await site.tab.page.locator(".agent h1").waitFor();
    expect(new URL(site.tab.page.url()).hash).toBe(`#/agent/${threadOf(1)}/a2?owner=${nameOf(1)}`);
  });
});

describe("People and Audit", () => {
  it("shows who shares from where, and the audit log only to admins", async () => {
    // From a second machine.
    const removed = { is: "removed", thread: threadOf(902), uri: threadOf(902), revision: 1 } as const;
    await site.team.ship(await site.team.token(nameOf(0), "ship"), [removed]);
    await site.tab.goto("#/people");
    await site.tab.page.locator(`tr[data-owner=${nameOf(0)}]`).waitFor();
    expect(await site.tab.page.locator(`tr[data-owner=${nameOf(0)}]`).textContent()).toMatch(
      /core.*2 · retinue 0\.1\.0.*over by/s,
    );
    await keep(site.tab.page, "people");
    expect(await site.tab.page.getByRole("link", { name: "Audit" }).count()).toBe(0);
    const other = await site.visitAs("root", "admin");
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
    await site.tab.goto("#/audit");
    await site.tab.page.getByRole("alert").waitFor();
    expect(await site.tab.page.getByRole("alert").textContent()).toContain("scope read");
  });
});

it("hundreds of people fit a narrow screen and a wide one", async () => {
  await fillTeam(site.team, MANY);
  const large = threadOf(901);
  await site.team.ship(await site.team.token(nameOf(0), "ship", "core"), [
    agentDocument(large, large, 1),
    ...Array.from({ length: 30 }, (_, n) => agentDocument(large, `${large}/a${n}`, 1)),
    eventDocument(large, large, 0, 1),
  ]);
  const other = await site.visitAs("root", "admin");
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
