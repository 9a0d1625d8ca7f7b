/** In the log, a spawn is one line: of a recording, of a card, and while agents work. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { recordingIn, replay } from "../../src/app/demo/replay.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import { FIXTURES } from "../support/fixtures.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { localDescribe, localIt, start } from "./place.ts";
import { homeWith, type Running, serve } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

const TREE = "claude://f99d99e0-0001-4c08-865d-e32964e15b93";
const REFUSED = "claude://0e6ea988-544a-4ed5-be60-5d0bf23406f0";
/** In the order in which they were spawned. */
const CHILDREN = ["Parent A", "Parent B", "Leaf A1", "Leaf A2", "Leaf A3", "Leaf B1", "Leaf B2", "Leaf B3 late"];
/** All are spawned in its first quarter, which is all that is replayed. */
const LASTS_MS = 30_000;
const TIMEOUT_MS = 60_000;
/** Only visible rows are in the document, so all of them have to be visible. */
const SIZE = { width: 1280, height: 2_600 };
let browser: Browser;
let server: Running;
let tab: Visit;

beforeAll(async () => {
  [browser, server] = await Promise.all([
    sharedBrowser(),
    start(homeWith(["claude/c3-nested-parallel", "claude/c4-depthrefused"])),
  ]);
  tab = await visit(browser, server, SIZE);
  // Both recordings have been read.
  await tab.goto("#/");
  await tab.page.locator(".thread").nth(1).waitFor({ timeout: TIMEOUT_MS });
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
});

async function spawnsOf({ json }: Running, uri: string): Promise<AgentEvent[]> {
  const { items } = await json<{ items: AgentEvent[] }>(
    `/api/agents/${encodeURIComponent(uri)}/events?subtree=true&limit=500`,
  );
  return items.filter((event) => event.kind === "spawn");
}

interface Line {
  readonly agent: string;
  readonly kind: string;
  readonly text: string;
  readonly spawn: string | null;
  /** The name of the agent. */
  readonly child: string | null;
}

/** The rows of the log from top to bottom. */
const linesOn = (page: Page): Promise<Line[]> =>
  page.locator(".entry").evaluateAll((all) =>
    all
      .map((entry) => ({
        top: entry.getBoundingClientRect().top,
        agent: entry.getAttribute("data-agent") ?? "",
        kind: entry.querySelector(".kind")?.textContent ?? "",
        text: entry.textContent ?? "",
        spawn: entry.querySelector("[data-spawn]")?.getAttribute("data-spawn") ?? null,
        child: entry.querySelector(".spawned-name")?.textContent ?? null,
      }))
      .sort((a, b) => a.top - b.top)
      .map(({ top: _, ...line }) => line),
  );
const spawnsIn = (lines: readonly Line[]) => lines.flatMap(({ spawn }) => spawn ?? []);
/** Rows that would show a spawn a second time. */
const repeats = (lines: readonly Line[]) =>
  lines.filter(
    ({ spawn, agent, kind, text }) =>
      spawn === null && ((kind === "User" && agent !== "main") || (kind === "Agent" && !text.includes("←"))),
  );
const waitForSpawns = (page: Page, count: number) =>
  page.waitForFunction((n) => document.querySelectorAll(".spawn-line").length === n, count, { timeout: TIMEOUT_MS });

describe("a spawn in the log of a recording", () => {
  it("is one line, with neither the call nor the prompt beside it", async () => {
    const spawns = await spawnsOf(server, TREE);
    await tab.goto(`#/log/${TREE}`);
    await waitForSpawns(tab.page, spawns.length);
    const lines = await linesOn(tab.page);
    expect(spawns).toHaveLength(8);
    expect(spawnsIn(lines).toSorted()).toEqual(spawns.map(({ spawn }) => spawn?.uri).toSorted());
    expect(repeats(lines)).toEqual([]);
    expect(lines[2]?.text).toMatch(/Spawned\s*Parent A\s*Do it\. @@A/);
    // The results of the children are shown as before.
    expect(lines.filter(({ kind, text }) => kind === "Agent" && text.includes("←")).length).toBeGreaterThan(1);
  });

  it("unfolds by mouse to the prompt, the input, the call and the child", async () => {
    const [first] = await spawnsOf(server, TREE);
    const line = tab.page.locator(".spawn-line").first();
    expect(await line.getAttribute("aria-expanded")).toBe("false");
    await line.click();
    const details = tab.page.locator(".spawn-details");
    await details.waitFor();
    expect(await line.getAttribute("aria-expanded")).toBe("true");
    const words = (await details.textContent()) ?? "";
    expect(words.split("Do it. @@A")).toHaveLength(2);
    expect(words).toContain('"description": "Parent A"');
    expect(words).toContain(first?.spawn?.toolCallId);
    expect(await details.locator("a.spawned").getAttribute("href")).toBe(`#/agent/${first?.spawn?.uri}`);
    await line.click();
    await details.waitFor({ state: "detached" });
  });

  localIt("unfolds by keyboard, and the address leads back to it by any of its events", async () => {
    await tab.goto(`#/log/${TREE}?event=${encodeURIComponent((await spawnsOf(server, TREE))[0]?.id ?? "")}`);
    await tab.page.reload();
    await tab.page.locator(".spawn-line.selected", { hasText: "Parent A" }).waitFor();
    const requested: string[] = [];
    tab.page.on("request", (request) => requested.push(request.url()));
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("Enter");
    await tab.page.locator(".spawn-line.selected[aria-expanded=true]", { hasText: "Parent B" }).waitFor();
    // Nothing is loaded again because another line is selected.
    expect(requested.filter((url) => url.includes("/events?"))).toEqual([]);
    await tab.page.keyboard.press("ArrowLeft");
    await tab.page.locator(".spawn-line.selected[aria-expanded=false]").waitFor();
    await tab.page.keyboard.press("ArrowRight");
    await tab.page.locator(".spawn-details a.spawned").click();
    await tab.page.locator(".agent h1").waitFor();
    expect(await tab.page.locator(".agent h1").textContent()).toBe("Parent B");
  });

  localIt(
    "is the prompt of the child if only the child is shown, and the parent's line if only the parent is",
    async () => {
      const [first] = await spawnsOf(server, TREE);
      const child = first?.spawn?.agentId ?? "";
      await tab.goto(`#/log/${TREE}`);
      await tab.page.locator(`[data-chip="${child}"]`).dblclick();
      // Its prompt and its three spawns; the list is empty for a moment.
      await tab.page.waitForFunction((id) => {
        const agents = [...document.querySelectorAll(".entry")].map((entry) => entry.getAttribute("data-agent"));
        return agents.length >= 4 && agents.every((agent) => agent === id);
      }, child);
      const [prompt, ...rest] = await linesOn(tab.page);
      expect(prompt).toMatchObject({ agent: child, kind: "User", spawn: null });
      expect(prompt?.text).toContain("Do it. @@A");
      expect(spawnsIn(rest)).toHaveLength(3);
      await tab.goto(`#/log/${TREE}?hide=${child}`);
      await tab.page.locator(".spawn-line", { hasText: "Parent A" }).click();
      expect(await tab.page.locator(".spawn-details").textContent()).toContain("Do it. @@A");
    },
  );

  it("stays an ordinary call if it was rejected", async () => {
    await tab.goto(`#/log/${REFUSED}`);
    await waitForSpawns(tab.page, 3);
    const [refused, ...others] = repeats(await linesOn(tab.page));
    expect(others).toEqual([]);
    expect(refused).toMatchObject({ kind: "Agent", spawn: null });
    await tab.page.locator(".log-line", { hasText: /Agent\s*Level L4/ }).click();
    await tab.page.locator(".step a.spawned").waitFor();
  });

  localIt("is one line in the log of a card too", async () => {
    const answer = await fetch(`${server.url}/api/cards`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ title: "Both", threads: [TREE, REFUSED] }),
    });
    const { id } = (await answer.json()) as { id: string };
    await tab.goto(`#/card/${id}`);
    await waitForSpawns(tab.page, 8 + 3);
    const lines = await linesOn(tab.page);
    expect(new Set(spawnsIn(lines)).size).toBe(8 + 3);
    expect(lines.filter(({ kind }) => kind === "User")).toHaveLength(2);
    expect(tab.errors).toEqual([]);
  });
});

localDescribe("a spawn in the log while agents work", () => {
  it("is one line from the start, which stays in its place and stays open", async () => {
    const live = await serve(mkdtempSync(join(tmpdir(), "retinue-log-")));
    const stop = new AbortController();
    const { page, goto, errors } = await visit(browser, live.url, SIZE);
    await goto("#/");
    await page.getByTestId("nothing-yet").waitFor();
    const recording = recordingIn(join(FIXTURES, "claude/c3-nested-parallel/home/.claude"));
    const replayed = replay(recording, {
      to: join(live.home, ".claude"),
      begins: Date.now(),
      lasts: LASTS_MS,
      seed: 0,
      signal: stop.signal,
    });
    try {
      await page.locator(".thread").waitFor({ timeout: TIMEOUT_MS });
      const uri = await page.locator(".thread").getAttribute("data-uri");
      await goto(`#/log/${uri}`);
      await page.locator(".spawn-line").first().click({ timeout: TIMEOUT_MS });
      const seen: string[][] = [];
      for (
        const deadline = Date.now() + TIMEOUT_MS;
        Date.now() < deadline && (seen.at(-1)?.length ?? 0) < CHILDREN.length;
      )
        seen.push((await linesOn(page)).flatMap(({ child }) => child ?? []));
      expect(seen.at(-1)).toEqual(CHILDREN);
      expect(new Set(seen.map((names) => names.length)).size).toBeGreaterThan(1);
      // No line was ever shown twice, disappeared, or changed places with another.
      for (const [n, names] of seen.entries())
        expect(seen[n + 1]?.filter((name) => names.includes(name)) ?? names).toEqual(names);
      expect(repeats(await linesOn(page))).toEqual([]);
      expect(await page.locator(".spawn-line[aria-expanded=true]").count()).toBe(1);
      expect((await page.locator(".spawn-details").textContent())?.split("Do it. @@A")).toHaveLength(2);
      await page.reload();
      await waitForSpawns(page, CHILDREN.length);
      expect((await linesOn(page)).flatMap(({ child }) => child ?? [])).toEqual(CHILDREN);
      expect(errors).toEqual([]);
    } finally {
      stop.abort();
      await replayed;
      await live.stop();
    }
  });
});
