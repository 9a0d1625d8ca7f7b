/** The pictures in a real browser: which agents, where and when, from the reported content and by pixel. */

import { readFile } from "node:fs/promises";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { displayName } from "../../src/core/facts/display-name.ts";
import { duration, money } from "../../src/core/tools/format.ts";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import { until } from "../support/server.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { colorOf, pixelsOf, waterfallOn } from "./picture.ts";
import { localIt, owned, start } from "./place.ts";
import { homeWith, type Running } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

/** Width of the column of names on a wide screen, and the margin at the right of the time axis. */
const [NAMES_PX, MARGIN_PX] = [250, 12];
const TREE = "claude://f99d99e0-0001-4c08-865d-e32964e15b93";
let browser: Browser;
let server: Running;
let tab: Visit;
let tree: AgentTree;
let failing: AgentRecord;

const json = <T>(path: string) => server.json<T>(`/api/${path}`);
const all = (node: AgentTree): AgentTree[] => [node, ...node.children.flatMap(all)];
const named = (name: string) => all(tree).find((node) => node.description === name) as AgentTree;
const time = (at: string | null) => (at === null ? null : Date.parse(at));
/** The state of the page itself: the browser is notified later. */
const hash = () => tab.page.evaluate(() => location.hash);
const selected = async () => new URLSearchParams((await hash()).split("?")[1]).get("sel");

beforeAll(async () => {
  [browser, server] = await Promise.all([
    sharedBrowser(),
    start(homeWith(["claude/c3-nested-parallel", "claude/e-fail", "codex/v1-lifecycle", "opencode/nested"])),
  ]);
  tab = await visit(browser, server);
  await until(async () => (await json<{ reading: unknown }>("health")).reading === null);
  tree = await json<AgentTree>(`agents/${encodeURIComponent(TREE)}`);
  const { items } = await json<{ items: AgentRecord[] }>("threads");
  failing = items.find((thread) => (thread.counts.byStatus.errored ?? 0) > 0) as AgentRecord;
});
afterAll(async () => {
  expect(tab.errors).toEqual([]);
  await closeTabs(browser);
  await server?.stop();
});

describe("the waterfall", () => {
  it("has exactly the agents of the tree, at the times of their records", async () => {
    await tab.goto(`#/waterfall/${TREE}`);
    const { rows, drawn } = await waterfallOn(tab.page, TREE);
    expect(rows.map(({ uri, from, to }) => [uri, from, to])).toEqual(
      all(tree).map((agent) => [agent.uri, time(agent.startedAt), time(agent.endedAt)]),
    );
    expect(drawn.map(({ uri }) => uri)).toEqual(rows.map(({ uri }) => uri));
  });

  localIt("draws what it reports, in the colours of the legend", async () => {
    const { drawn, view } = await waterfallOn(tab.page, TREE);
    const wide = drawn.flatMap(({ y, bars }) =>
      bars.filter((bar) => bar.width > 8 && bar.kind !== "wait").map((bar) => ({ ...bar, y })),
    );
    expect(wide.length).toBeGreaterThan(10);
    const places = wide.map(({ x, width, y }) => ({ x: x + width / 3, y }));
    const colors = await Promise.all(["span-model", "span-tool"].map((name) => colorOf(tab.page, name)));
    const seen = await pixelsOf(tab.page, ".waterfall canvas.picture", places);
    expect(seen).toEqual(wide.map(({ kind }) => (kind === "model" ? colors[0] : colors[1])));
    // The first response of Parent A, from the start to the end of its span.
    const { spans } = (
      await json<{ items: { uri: string; spans: { from: number; to: number; kind: string }[] }[] }>(
        `agents/${encodeURIComponent(TREE)}/spans`,
      )
    ).items.find(({ uri }) => uri === named("Parent A").uri) ?? { spans: [] };
    const first = spans.find(({ kind }) => kind === "model");
    const bar = drawn.find(({ uri }) => uri === named("Parent A").uri)?.bars.find(({ kind }) => kind === "model");
    const { width } = (await tab.page.locator(".waterfall canvas.picture").boundingBox()) ?? { width: 0 };
    const scale = (width - NAMES_PX - MARGIN_PX) / (view.to - view.from);
    expect(bar?.x).toBeCloseTo(NAMES_PX + ((first?.from ?? 0) - view.from) * scale, 0);
    expect(bar?.width).toBeCloseTo(((first?.to ?? 0) - (first?.from ?? 0)) * scale, 0);
  });

  it("draws the critical path: through the agent that the end actually waited for", async () => {
    const { path } = await waterfallOn(tab.page, TREE);
    expect(path.map(({ uri }) => uri)).toEqual([TREE, named("Leaf B3 late").uri, TREE]);
    await tab.page.getByRole("button", { name: /Leaf B3 late \d+ %/ }).click();
    expect(await selected()).toBe(named("Leaf B3 late").uri);
    const late = (await waterfallOn(tab.page, TREE)).drawn.find(({ uri }) => uri === named("Leaf B3 late").uri);
    const below = [{ x: (late?.bars.at(-1)?.x ?? 0) + 20, y: (late?.y ?? 0) + 10 }];
    expect(await pixelsOf(tab.page, ".waterfall canvas.picture", below)).toEqual([await colorOf(tab.page, "critical")]);
    await tab.page.getByLabel("Critical path").uncheck();
    expect(await hash()).toContain("path=0");
    await tab.page.getByLabel("Critical path").check();
  });

  localIt("is navigable by keyboard, and the selection is announced and in the URL", async () => {
    await tab.goto(`#/waterfall/${TREE}`);
    await waterfallOn(tab.page, TREE);
    for (const key of ["ArrowDown", "j"]) await tab.page.keyboard.press(key);
    expect(await selected()).toBe(named("Parent A").uri);
    const status = tab.page.locator(".waterfall [role=status]");
    expect(await status.textContent()).toContain("Parent A, completed");
    await tab.page.keyboard.press("ArrowRight");
    expect(await status.textContent()).toMatch(/^1 of \d+: .* responds/);
    await tab.page.keyboard.press("ArrowRight");
    expect(await status.textContent()).toMatch(/^2 of \d+: waits for agents/);
    await tab.page.keyboard.press("z");
    const { view, whole } = await waterfallOn(tab.page, TREE);
    expect(view.to - view.from).toBeLessThan((whole.to - whole.from) / 2);
    await tab.page.waitForFunction(() => location.hash.includes("from="));
    await tab.page.reload();
    expect((await waterfallOn(tab.page, TREE)).view.from).toBeCloseTo(view.from, -1);
    await tab.page.keyboard.press("0");
    await tab.page.waitForFunction(() => !location.hash.includes("from="));
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForURL((url) => url.hash === `#/agent/${named("Parent A").uri}`);
  });

  localIt("scrolls to the agent in the URL, and shows time and tokens under the pointer", async () => {
    await tab.goto(`#/waterfall/${named("Leaf A1").uri}`);
    const { drawn, rows } = await waterfallOn(tab.page, TREE);
    expect(rows).toHaveLength(9);
    expect(await tab.page.locator(".waterfall [role=status]").textContent()).toContain("Leaf A1");
    const row = drawn.find(({ uri }) => uri === named("Leaf A1").uri);
    const bar = row?.bars.find(({ kind }) => kind === "model");
    const box = await tab.page.locator(".waterfall canvas.picture").boundingBox();
    await tab.page.mouse.move((box?.x ?? 0) + (bar?.x ?? 0) + 1, (box?.y ?? 0) + (row?.y ?? 0));
    await tab.page.locator(".picture-tip").waitFor();
    expect(await tab.page.locator(".picture-tip").textContent()).toMatch(/Leaf A1.*responds.*ms.*tokens/s);
    // The tooltip follows the pointer.
    const tipLeft = async () => (await tab.page.locator(".picture-tip").boundingBox())?.x ?? 0;
    const left = await tipLeft();
    await tab.page.mouse.move((box?.x ?? 0) + (bar?.x ?? 0) + 200, (box?.y ?? 0) + (row?.y ?? 0));
    await expect.poll(tipLeft).toBeCloseTo(left + 199, 0);
    await tab.page.mouse.click((box?.x ?? 0) + 60, (box?.y ?? 0) + (drawn[3]?.y ?? 0));
    expect(await selected()).toBe(drawn[3]?.uri);
  });

  localIt("zooms and pans by mouse, and stays within the thread", async () => {
    await tab.goto(`#/waterfall/${TREE}`);
    const { whole } = await waterfallOn(tab.page, TREE);
    await tab.page.getByRole("button", { name: "Zoom in" }).click();
    await tab.page.getByRole("button", { name: "Zoom in" }).click();
    const near = await waterfallOn(tab.page, TREE);
    expect(near.view.to - near.view.from).toBeLessThan((whole.to - whole.from) / 2);
    const box = (await tab.page.locator(".waterfall canvas.picture").boundingBox()) ?? { x: 0, y: 0 };
    await tab.page.mouse.move(box.x + 800, box.y + 200);
    await tab.page.mouse.down();
    await tab.page.mouse.move(box.x + 2_000, box.y + 200, { steps: 3 });
    await tab.page.mouse.up();
    expect((await waterfallOn(tab.page, TREE)).view.from).toBe(whole.from);
    await tab.page.getByRole("button", { name: "Show all" }).click();
    expect((await waterfallOn(tab.page, TREE)).view).toEqual(whole);
  });

  it("marks failures", async () => {
    await tab.goto(`#/waterfall/${failing.uri}`);
    const { drawn } = await waterfallOn(tab.page, failing.uri);
    const failed = drawn.flatMap(({ bars, y }) =>
      bars.filter((bar) => bar.failed).map((bar) => ({ x: bar.x + bar.width / 2, y })),
    );
    expect(failed.length).toBeGreaterThan(0);
    const red = await colorOf(tab.page, "errored");
    expect(await pixelsOf(tab.page, ".waterfall canvas.picture", failed)).toEqual(failed.map(() => red));
  });

  localIt("follows light and dark mode", async () => {
    await tab.goto(`#/waterfall/${TREE}`);
    const { drawn } = await waterfallOn(tab.page, TREE);
    const bar = drawn[1]?.bars.find(({ kind }) => kind === "model");
    const place = [{ x: (bar?.x ?? 0) + 4, y: drawn[1]?.y ?? 0 }];
    const seen = new Set<string>();
    for (const to of ["light", "dark", "auto"]) {
      await tab.page.getByRole("button", { name: "Colours:" }).click();
      await tab.page.getByRole("button", { name: `Colours: ${to}` }).waitFor();
      const wanted = await colorOf(tab.page, "span-model");
      await expect
        .poll(() => pixelsOf(tab.page, ".waterfall canvas.picture", place), { timeout: 10_000 })
        .toEqual([wanted]);
      seen.add(wanted);
    }
    expect(seen.size).toBe(2);
  });

  localIt("has its table, with the same agents and times", async () => {
    await tab.goto(`#/waterfall/${TREE}`);
    await waterfallOn(tab.page, TREE);
    await tab.page.getByLabel("Table").check();
    const rows = tab.page.locator("table.numbers tbody tr");
    await rows.first().waitFor();
    const drawn = await rows.evaluateAll((list) =>
      list.map((row) => [
        row.getAttribute("data-uri"),
        Number(row.getAttribute("data-from")),
        Number(row.getAttribute("data-to")),
      ]),
    );
    expect(drawn).toEqual(all(tree).map((agent) => [agent.uri, time(agent.startedAt), time(agent.endedAt)]));
  });
});

describe("the icicle", () => {
  const nodesOn = () =>
    tab.page.evaluate(() => {
      const canvas = document.querySelector(".icicle canvas.picture") as unknown as {
        picture(): { nodes: { uri: string; from: number; to: number; total: number }[]; total: number };
      };
      return canvas.picture().nodes.map(({ uri, from, to, total }) => ({ uri, width: to - from, total }));
    });

  it.each([
    ["cost", (agent: AgentTree) => agent.usage.subtree.costUsd ?? 0],
    ["tokens", (agent: AgentTree) => tokensOf(agent)],
    ["calls", (agent: AgentTree) => agent.usage.subtree.calls],
  ] as const)("is as wide as the %s of everybody", async (by, of) => {
    await tab.goto(`#/waterfall/${TREE}?as=icicle&by=${by}`);
    await tab.page.locator(".icicle canvas.picture").waitFor();
    await tab.page.waitForFunction(
      (wanted) => (document.querySelector('[aria-label="Width"]') as HTMLSelectElement | null)?.value === wanted,
      by,
    );
    const nodes = await nodesOn();
    expect(nodes.map(({ uri }) => uri).sort()).toEqual(
      all(tree)
        .map(({ uri }) => uri)
        .sort(),
    );
    for (const agent of all(tree)) {
      const node = nodes.find(({ uri }) => uri === agent.uri);
      expect(node?.total).toBeCloseTo(of(agent), 6);
      expect(node?.width).toBeCloseTo(of(agent) / of(tree), 6);
    }
  });

  localIt("can be navigated by keyboard, and limited to a subtree", async () => {
    await tab.goto(`#/waterfall/${TREE}?as=icicle`);
    await tab.page.locator(".icicle canvas.picture").waitFor();
    for (const key of ["ArrowDown", "ArrowDown", "ArrowRight"]) await tab.page.keyboard.press(key);
    expect(await selected()).toBe(named("Parent B").uri);
    expect(await tab.page.locator(".icicle [role=status]").textContent()).toContain("Parent B, completed");
    await tab.page.keyboard.press("z");
    await tab.page.locator(".crumbs").waitFor();
    expect(await tab.page.locator(".crumbs button").allTextContents()).toEqual(["Grow a tree. @@main", "Parent B"]);
    await tab.page.keyboard.press("0");
    await tab.page.locator(".crumbs").waitFor({ state: "detached" });
    await tab.page.keyboard.press("i");
    await waterfallOn(tab.page, TREE);
  });
});

const tokensOf = ({ usage: { subtree: u } }: AgentTree) =>
  u.inputTokens + u.outputTokens + u.cacheReadTokens + u.cacheWriteTokens;

describe("the graph", () => {
  const nodes = () => tab.page.locator(".drawing [data-uri]");

  it("has every agent of the tree, and every edge", async () => {
    await tab.goto(`#/graph/${TREE}`);
    await nodes().nth(8).waitFor();
    expect((await nodes().evaluateAll((list) => list.map((node) => node.getAttribute("data-uri")))).sort()).toEqual(
      all(tree)
        .map(({ uri }) => uri)
        .sort(),
    );
    const edges = await tab.page
      .locator("path[data-edge]")
      .evaluateAll((list) =>
        list.map((edge) => [edge.getAttribute("data-from"), edge.getAttribute("data-to")].join(" ")),
      );
    expect(edges.sort()).toEqual(
      all(tree)
        .filter(({ parent }) => parent !== null)
        .map(({ uri, parent }) => `${parent} ${uri}`)
        .sort(),
    );
  });

  localIt("shows name, status, time and cost in every box, and the whole prompt on hover", async () => {
    for (const agent of all(tree)) {
      const texts = await tab.page.locator(`.drawing [data-uri="${agent.uri}"] text`).allTextContents();
      const numbers = [agent.status, duration(agent.durationMs), money(agent.usage.own.costUsd)].join(" · ");
      expect(texts.slice(1)).toEqual([displayName(agent), numbers]);
    }
    await tab.page.locator(`.drawing [data-uri="${named("Leaf A1").uri}"]`).hover();
    await tab.page.locator("[role=tooltip].placed", { hasText: named("Leaf A1").prompt ?? "" }).waitFor();
    await tab.page.mouse.move(1, 1);
  });

  localIt("has boxes as high as an agent's own cost or time", async () => {
    const height = async (name: string) =>
      Number(
        await tab.page
          .locator(`.drawing [data-uri="${named(name).uri}"] > rect`)
          .first()
          .getAttribute("height"),
      );
    expect(await height("Leaf B3 late")).toBe(await height("Leaf A1"));
    await tab.page.getByLabel("Sizes").selectOption("time");
    await tab.page.waitForURL(/size=time/);
    await expect
      .poll(async () => (await height("Leaf B3 late")) > 2 * (await height("Leaf A1")), { timeout: 60_000 })
      .toBe(true);
    await tab.goto(`#/graph/${TREE}`);
    await nodes().nth(8).waitFor();
  });

  localIt("can be navigated by keyboard, and leads to the agent", async () => {
    for (const key of ["ArrowRight", "ArrowRight", "ArrowDown", "ArrowRight"]) await tab.page.keyboard.press(key);
    expect(await selected()).toBe(named("Leaf B1").uri);
    await tab.page.keyboard.press("ArrowLeft");
    expect(await tab.page.locator(".drawing [aria-selected=true]").getAttribute("data-uri")).toBe(
      named("Parent B").uri,
    );
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForURL((url) => url.hash === `#/agent/${named("Parent B").uri}`);
  });

  it("marks revived agents by their edge, and draws messages as arcs", async () => {
    const { items } = await json<{ items: AgentRecord[] }>("threads?provider=codex");
    await tab.goto(`#/graph/${items[0]?.uri}`);
    await tab.page.locator("path[data-arc]").waitFor({ state: "attached" });
    expect(await tab.page.locator("path[data-arc]").getAttribute("data-arc")).toBe("3");
    expect(await tab.page.locator("path[data-edge=revived]").count()).toBe(1);
    expect(await tab.page.locator("path[data-edge=spawned]").count()).toBe(1);
  });

  localIt("is saved completely as SVG and as PNG", async () => {
    await tab.goto(`#/graph/${TREE}?color=type`);
    await nodes().nth(8).waitFor();
    for (let i = 0; i < 5; i += 1) await tab.page.keyboard.press("+");
    const saved = async (name: string) => {
      const [download] = await Promise.all([
        tab.page.waitForEvent("download"),
        tab.page.getByRole("button", { name }).click(),
      ]);
      return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
    };
    const svg = await saved("Save SVG");
    expect(svg.name).toBe("retinue-grow-a-tree-main.svg");
    expect(svg.bytes.toString()).toMatch(/^<svg[^>]* viewBox="0 0 /);
    for (const { description } of tree.children) expect(svg.bytes.toString()).toContain(`>${description} ·`);
    expect(svg.bytes.toString()).not.toContain("var(");
    const png = await saved("Save PNG");
    expect(png.bytes.subarray(1, 4).toString()).toBe("PNG");
    expect(png.bytes.readUInt32BE(16)).toBeGreaterThan(900);
  });

  localIt("has its table", async () => {
    await tab.goto(`#/graph/${TREE}?table=1`);
    await tab.page.locator("table.numbers tbody tr").nth(8).waitFor();
    const row = tab.page.locator(`tr[data-uri="${named("Leaf A1").uri}"]`);
    expect((await row.locator("td").allTextContents()).slice(2, 5)).toEqual([
      "spawned",
      "Parent A",
      "meta.parentAgentId",
    ]);
  });
});

describe("stats", () => {
  interface Line {
    key: string | null;
    knownCostUsd: number;
    failed: { knownCostUsd: number };
  }

  it("are drawn from the server's numbers, as charts that are also tables", async () => {
    const { by, total } = await json<{ by: Record<string, Line[]>; total: Line }>("stats");
    await tab.goto("#/stats");
    for (const group of ["model", "type", "project", "template"]) {
      const rows = tab.page.locator(`[data-chart=${group}] tbody tr`);
      await rows.first().waitFor();
      const drawn = await rows.evaluateAll((list) =>
        list.map((row) => [
          row.getAttribute("data-key"),
          Number.parseFloat((row.querySelector(".bar-fill") as HTMLElement).style.width),
        ]),
      );
      const lines = (by[group] ?? []).slice(0, 8);
      const most = Math.max(...lines.map((line) => line.knownCostUsd));
      expect(drawn).toEqual(
        lines.map((line) => [line.key ?? "", Number(((line.knownCostUsd / most) * 100).toFixed(2))]),
      );
    }
    expect(await tab.page.locator("[data-total=failed]").textContent()).toContain(
      `$${total.failed.knownCostUsd.toFixed(4)}`,
    );
    expect(await tab.page.locator("[data-chart=durations] .box").count()).toBeGreaterThan(3);
    expect(await tab.page.locator("[data-chart=day] .day a").count()).toBe(by.day?.length);
  });

  it("lead to the threads behind a bar, and the path is in the URL", async () => {
    await tab.page.locator("[data-chart=type] tr[data-key=general-purpose] a").click();
    await tab.page.locator(".behind li").first().waitFor();
    expect(await hash()).toContain("behind=type%3Ageneral-purpose");
    await tab.page.reload();
    const thread = tab.page.locator(`.behind li[data-uri="${TREE}"] a`);
    await thread.click();
    await tab.page.waitForURL((url) => url.hash === owned(`#/tree/${TREE}`));
  });

  it("are limited to the requested time, and show a message if there are none", async () => {
    await tab.goto("#/stats?measure=tokens");
    await tab.page.locator("[data-chart=model] tbody tr").first().waitFor();
    await tab.page.getByLabel("Period").selectOption("1d");
    expect(await hash()).toContain("since=1d");
    await tab.goto("#/stats?since=2100-01-01");
    await tab.page.getByText("No usage in this period.").waitFor();
  });
});
