/** Every page in a real browser, over recordings of a real product, from the real server. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { AgentRecord, AgentTree } from "../../src/core/views/agent.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { isTeam, localIt, owned, start } from "./place.ts";
import { homeWith, type Running } from "./server.ts";
import { treeOnScreen, type Visit, visit } from "./visit.ts";

const TREE = "claude://f99d99e0-0001-4c08-865d-e32964e15b93";
let browser: Browser;
let server: Running;
let tab: Visit;
let threads: AgentRecord[];
let failing: AgentRecord;

const json = <T>(path: string) => server.json<T>(`/api/${path}`);
const tree = () => json<AgentTree>(`agents/${encodeURIComponent(TREE)}`);
const idOf = async (name: string) => {
  const all = (node: AgentTree): AgentTree[] => [node, ...node.children.flatMap(all)];
  return all(await tree()).find((node) => node.description === name)?.uri ?? "";
};

beforeAll(async () => {
  [browser, server] = await Promise.all([
    sharedBrowser(),
    start(homeWith(["c3-nested-parallel", "e-fail", "g-sameprompt", "f-killed"].map((name) => `claude/${name}`))),
  ]);
  tab = await visit(browser, server);
  ({ items: threads } = await json<{ items: AgentRecord[] }>("threads"));
  failing = threads.find((thread) => (thread.counts.byStatus.errored ?? 0) > 0) as AgentRecord;
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
});

describe("threads", () => {
  it("are all listed, with their cost, and opened by keyboard", async () => {
    await tab.goto("#/");
    const rows = tab.page.locator(".thread");
    await rows.nth(threads.length - 1).waitFor();
    expect(await rows.count()).toBe(threads.length);
    expect(await rows.first().textContent()).toContain("Claude Code");
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("k");
    await tab.page.keyboard.press("ArrowDown");
    const uri = await tab.page.locator(".thread.selected").getAttribute("data-uri");
    expect(uri).toBe(threads[1]?.uri);
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForURL((url) => url.hash === owned(`#/tree/${uri}`));
  });

  it("are filtered, and the filter is in the URL", async () => {
    await tab.goto("#/");
    await tab.page.getByLabel("Status").selectOption("errored");
    await tab.page.waitForFunction(() => document.querySelectorAll(".thread").length === 1);
    expect(tab.page.url()).toContain("#/?status=errored");
    await tab.page.reload();
    await tab.page.locator(".thread").first().waitFor();
    expect(await tab.page.locator(".thread").count()).toBe(1);
    await tab.page.getByLabel("Time").selectOption("1h");
    await tab.page.getByText("No thread matches these filters.").waitFor();
    await tab.page.getByRole("button", { name: "Show all" }).click();
    await tab.page.waitForFunction((n) => document.querySelectorAll(".thread").length === n, threads.length);
    await tab.page.getByLabel("Product").selectOption("claude");
    await tab.page.getByLabel("Project").selectOption({ index: 1 });
    await tab.page.locator(".thread").first().waitFor();
  });

  it("can be searched, down to the record", async () => {
    await tab.goto("#/");
    await tab.page.locator(".thread").first().waitFor();
    await tab.page.keyboard.press("/");
    await tab.page.keyboard.type("late leaf");
    await tab.page.keyboard.press("Enter");
    await tab.page.locator(".found mark").first().waitFor();
    expect(tab.page.url()).toContain("#/?q=late+leaf");
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("Enter");
    const step = tab.page.locator(".step.selected");
    await step.waitFor();
    expect((await step.textContent())?.toLowerCase()).toContain("late leaf");
    await tab.goto("#/?q=nobodyeversaidthis");
    await tab.page.getByText("No match.").waitFor();
  });
});

describe("the tree", () => {
  it("shows every agent under its parent, with the sums of the whole tree", async () => {
    await tab.goto(`#/tree/${TREE}`);
    await tab.page.locator(".row[role=treeitem]").nth(8).waitFor();
    expect(await treeOnScreen(tab.page)).toEqual([
      "Grow a tree. @@main",
      "  Parent A",
      "    Leaf A1",
      "    Leaf A2",
      "    Leaf A3",
      "  Parent B",
      "    Leaf B1",
      "    Leaf B2",
      "    Leaf B3 late",
    ]);
    expect(await tab.page.locator("[data-total=agents]").textContent()).toMatch(/9 agents.*9 completed/);
    const { usage } = await tree();
    expect(await tab.page.locator("[data-total=cost] dd").textContent()).toBe(`$${usage.subtree.costUsd?.toFixed(2)}`);
    expect(await tab.page.title()).toBe("Grow a tree. @@main · retinue");
  });

  localIt("folds, with the sums in the folded row", async () => {
    await tab.goto(`#/tree/${TREE}?show=own`);
    const parent = tab.page.locator(".row", { hasText: "Parent A" });
    await parent.waitFor();
    const own = await parent.locator("[data-column=tools]").textContent();
    await parent.getByLabel("Fold").click();
    expect(await treeOnScreen(tab.page)).not.toContain("    Leaf A1");
    expect(own).toBe("3");
    expect(await parent.locator("[data-column=tools]").textContent()).toBe("Σ 5");
    expect(await parent.locator(".counts").textContent()).toContain("4");
    await tab.page.getByRole("button", { name: "Fold all", exact: true }).click();
    expect(await treeOnScreen(tab.page)).toEqual(["Grow a tree. @@main", "  Parent A", "  Parent B"]);
    await tab.page.getByRole("button", { name: "Unfold all" }).click();
    expect(await treeOnScreen(tab.page)).toHaveLength(9);
  });

  localIt("is sorted by any column, which is in the URL", async () => {
    await tab.goto(`#/tree/${TREE}`);
    await tab.page.locator(".row[role=treeitem]").nth(8).waitFor();
    await tab.page.locator("[data-sort=Σcost]").click();
    await tab.page.waitForFunction(() => location.hash.includes("sort=-%CE%A3cost"));
    const sorted = await treeOnScreen(tab.page);
    expect(sorted.filter((name) => /^ {2}\S/.test(name))).toEqual(["  Parent B", "  Parent A"]);
    await tab.page.reload();
    await tab.page.locator(".row[role=treeitem]").nth(8).waitFor();
    expect(await treeOnScreen(tab.page)).toEqual(sorted);
    await tab.page.locator("[data-sort=Σcost]").click();
    await tab.page.locator("[data-sort=Σcost]").click();
    expect(tab.page.url()).not.toContain("sort");
  });

  localIt("can be navigated by keyboard", async () => {
    await tab.goto(`#/tree/${TREE}`);
    await tab.page.locator(".row[role=treeitem]").nth(8).waitFor();
    const selected = () => tab.page.locator(".row.selected .name").textContent();
    const press = async (...keys: string[]) => {
      for (const key of keys) await tab.page.keyboard.press(key);
    };
    await press("ArrowDown", "j");
    expect(await selected()).toBe("Parent A");
    await press("ArrowRight");
    expect(await selected()).toBe("Leaf A1");
    await press("ArrowLeft");
    expect(await selected()).toBe("Parent A");
    await press("ArrowLeft");
    expect(await treeOnScreen(tab.page)).not.toContain("    Leaf A1");
    await press("ArrowRight", " ");
    expect(await tab.page.locator(".tip").textContent()).toContain("Do it. @@A");
    await press("End");
    expect(await selected()).toBe("Leaf B3 late");
    await tab.page.reload();
    await tab.page.locator(".row.selected").waitFor();
    expect(await selected()).toBe("Leaf B3 late");
    await press("Enter");
    await tab.page.locator(".agent h1").waitFor();
    expect(await tab.page.locator(".agent h1").textContent()).toBe("Leaf B3 late");
    await press("u");
    await tab.page.locator(".row.selected").waitFor();
    expect(await selected()).toBe("Leaf B3 late");
  });

  it("shows prompts and the source of a status in tooltips", async () => {
    await tab.goto(`#/tree/${failing.uri}`);
    const failed = tab.page.locator(".row", { has: tab.page.locator("[data-status=errored]") }).first();
    await failed.locator(".status-cell .status").hover();
    await tab.page.locator(".tip").waitFor();
    expect(await tab.page.locator(".tip").textContent()).toMatch(
      /errored.*(from the parent's|from the agent's|stated by|inferred)/s,
    );
    await failed.locator(".name").hover();
    await tab.page.locator(".tip .prompt").waitFor();
    await tab.page.mouse.move(0, 0);
    await tab.page.locator(".tip").waitFor({ state: "detached" });
    await tab.page.keyboard.press("e");
    expect(await tab.page.locator(".row.selected").count()).toBe(1);
  });

  it("shows the evidence of every edge with one key or click", async () => {
    await tab.goto(`#/tree/${TREE}?sel=${encodeURIComponent(await idOf("Leaf A2"))}`);
    await tab.page.locator(".row.selected").waitFor();
    await tab.page.keyboard.press("w");
    const drawer = tab.page.getByRole("dialog", { name: "Evidence" });
    await drawer.locator(".evidence .decided").first().waitFor();
    expect(await drawer.textContent()).toMatch(/meta\.|toolUseId|parentAgentId/i);
    expect(tab.page.url()).toContain("why=");
    await tab.page.keyboard.press("Escape");
    await drawer.waitFor({ state: "detached" });
    expect(tab.page.url()).not.toContain("why=");
  });

  localIt("can be corrected by hand, shows it, and undoes it", async () => {
    await tab.goto(`#/tree/${TREE}`);
    const leaf = tab.page.locator(".row", { hasText: "Leaf A1" });
    await leaf.click({ button: "right" });
    await tab.page.getByRole("menuitem", { name: "Change parent" }).click();
    const dialog = tab.page.getByRole("dialog", { name: "Change parent" });
    await dialog.getByRole("textbox").fill("Parent B");
    await tab.page.keyboard.press("Enter");
    await tab.page.getByText("Moved to Parent B.").waitFor();
    await tab.page.locator(".row", { hasText: "Leaf A1" }).getByText("manual").waitFor();
    const after = await treeOnScreen(tab.page);
    expect(after.indexOf("    Leaf A1")).toBeGreaterThan(after.indexOf("  Parent B"));
    await tab.page.locator(".toast").getByRole("button", { name: "Undo" }).click();
    await tab.page.getByText("Removed the manual link.").waitFor();
    expect(await tab.page.locator(".badge.manual").count()).toBe(0);
    const back = await treeOnScreen(tab.page);
    expect(back.indexOf("    Leaf A1")).toBeLessThan(back.indexOf("  Parent B"));

    // Again, and undone from the menu, by keyboard alone.
    await tab.page.locator(".row", { hasText: "Leaf A2" }).click();
    await tab.page.keyboard.press("m");
    for (const key of ["j", "j", "j", "Enter"]) await tab.page.keyboard.press(key);
    await dialog.waitFor();
    await tab.page.keyboard.type("parent b");
    await tab.page.keyboard.press("Enter");
    await tab.page.locator(".row", { hasText: "Leaf A2" }).getByText("manual").waitFor();
    await tab.page.locator(".row", { hasText: "Leaf A2" }).click();
    await tab.page.keyboard.press("m");
    await tab.page.getByRole("menuitem", { name: "Remove manual link" }).click();
    await tab.page.locator(".badge.manual").waitFor({ state: "detached" });
  });
});

localIt("closes a menu immediately after it was opened", async () => {
  await tab.goto(`#/tree/${TREE}`);
  await tab.page.locator(".row", { hasText: "Leaf A2" }).click();
  await tab.page.evaluate(() =>
    ["m", "Escape"].map((key) => document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))),
  );
  await tab.page.evaluate(() => new Promise(requestAnimationFrame));
  expect([await tab.page.locator(".menu").count(), tab.errors]).toEqual([0, []]);
});

describe("an agent", () => {
  it("shows its prompt and its result side by side, with its timeline below", async () => {
    await tab.goto(`#/agent/${await idOf("Parent A")}`);
    await tab.page.locator("[data-panel=Prompt] .rendered").waitFor();
    expect(await tab.page.locator("[data-panel=Prompt]").textContent()).toContain("Do it. @@A");
    expect(await tab.page.locator("[data-panel=Result] .text").count()).toBe(1);
    const [asked, answered] = await Promise.all(
      ["Prompt", "Result"].map((name) => tab.page.locator(`[data-panel=${name}]`).boundingBox()),
    );
    expect(asked?.y).toBe(answered?.y);
    await tab.page.getByText("Tools, files and other details").click();
    expect(await tab.page.locator(".about").textContent()).toMatch(/Allowed tools.*Denied tools.*Records.*\.jsonl/s);
    expect(await tab.page.locator(".child").count()).toBe(3);
    await tab.page.locator(".step").nth(3).waitFor();
  });

  it("shows input and output of tools when unfolded, and leads to the raw record", async () => {
    await tab.goto(`#/agent/${await idOf("Leaf B1")}`);
    const call = tab.page.locator(".step[data-kind=toolCall]").first();
    await call.waitFor();
    expect(await call.locator(".step-body").count()).toBe(0);
    await call.getByRole("button").click();
    await call.getByText("Output").waitFor();
    expect(await call.textContent()).toContain("Input");
    const raw = await server.json(`/${await call.locator(".raw").getAttribute("href")}`);
    expect(raw).toMatchObject({ schema: "retinue/event@1", kind: "toolCall" });
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("j");
    expect(tab.page.url()).toContain("event=");
    const chosen = await tab.page.locator(".step.selected").getAttribute("data-event");
    await tab.page.reload();
    await tab.page.locator(".step.selected").waitFor();
    expect(await tab.page.locator(".step.selected").getAttribute("data-event")).toBe(chosen);
    await tab.page.locator(".agent h1", { hasText: "Leaf B1" }).waitFor();
    await tab.page.keyboard.press("]");
    await tab.page.waitForFunction(() => document.querySelector(".agent h1")?.textContent === "Leaf B2");
  });

  it("that failed is shown as failed", async () => {
    await tab.goto(`#/tree/${failing.uri}`);
    await tab.page
      .locator(".row", { has: tab.page.locator("[data-status=errored]") })
      .first()
      .locator(".name")
      .click();
    expect(await tab.page.locator(".agent .thread-name").textContent()).toContain("errored");
  });

  it("that does not exist is reported", async () => {
    const { page, goto } = await visit(browser, server);
    await goto("#/agent/claude://00000000-0000-4000-8000-000000000000");
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toContain("All threads");
    await page.context().close();
  });
});

describe("the log", () => {
  it("interleaves all agents, each with a chip of its own by id", async () => {
    const [same] = threads.filter(
      (thread) => thread.uri !== TREE && thread.counts.descendants >= 2 && thread.uri !== failing.uri,
    );
    await tab.goto(`#/log/${same?.uri}`);
    await tab.page.locator(".agent-chip").nth(2).waitFor();
    const chips = await tab.page
      .locator(".agent-chip")
      .evaluateAll((all) => all.map((chip) => chip.getAttribute("data-chip")));
    expect(new Set(chips).size).toBe((same?.counts.descendants ?? 0) + 1);
  });

  localIt("hides and shows agents by their chips, and keeps that in the URL", async () => {
    await tab.goto(`#/log/${TREE}`);
    await tab.page.locator(".entry").nth(5).waitFor();
    const id = (await idOf("Parent A")).split("/").at(-1) ?? "";
    const entries = () => tab.page.locator(`.entry[data-agent="${id}"]`).count();
    expect(await entries()).toBeGreaterThan(0);
    await tab.page.locator(`[data-chip="${id}"]`).click();
    expect(await entries()).toBe(0);
    expect(tab.page.url()).toContain(`hide=${id}`);
    await tab.page.reload();
    await tab.page.locator(".entry").nth(5).waitFor();
    expect(await entries()).toBe(0);
    await tab.page.getByRole("button", { name: "None" }).click();
    await tab.page.waitForFunction(() => document.querySelectorAll(".entry").length === 0);
    await tab.page.locator(`[data-chip="${id}"]`).click();
    await tab.page.locator(".entry").first().waitFor();
    expect(
      await tab.page
        .locator(".entry")
        .evaluateAll((all) => new Set(all.map((entry) => entry.getAttribute("data-agent"))).size),
    ).toBe(1);
  });

  localIt("folds consecutive events of a sub-agent into one line, until it is opened", async () => {
    const id = (await idOf("Leaf B1")).split("/").at(-1) ?? "";
    await tab.goto(`#/log/${TREE}`);
    await tab.page.locator(`[data-chip="${id}"]`).dblclick();
    const group = tab.page.locator(".group-line");
    await group.first().waitFor();
    expect(await group.first().textContent()).toMatch(/Leaf B1.*\d+ entries.*tool call/);
    expect(await tab.page.locator(".log-line:not(.group-line) .kind").allTextContents()).toEqual(["User"]);
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("j");
    await tab.page.keyboard.press("Enter");
    await tab.page.locator(".log-line:not(.group-line)").nth(3).waitFor();
    await tab.page.locator(".log-line:not(.group-line)", { hasText: "Bash" }).first().click();
    await tab.page.locator(".entry .step").waitFor();
    await tab.page.keyboard.press("k");
  });
});

describe("the dashboard", () => {
  localIt("shows the report of the doctor", async () => {
    await tab.goto("#/health");
    await tab.page.getByText("Root folders searched").waitFor();
    const text = await tab.page.locator(".health").textContent();
    expect(text).toContain(`${threads.length} threads`);
    expect(text).toContain("index.sqlite");
  });

  it("shows its keyboard shortcuts, and closes them", async () => {
    await tab.goto("#/");
    await tab.page.keyboard.press("?");
    const help = tab.page.getByRole("dialog", { name: "Keyboard shortcuts" });
    await help.waitFor();
    await tab.page.keyboard.press("j");
    expect(await tab.page.locator(".thread.selected").count()).toBe(0);
    await tab.page.keyboard.press("Escape");
    await help.waitFor({ state: "detached" });
  });

  localIt("is light or dark, as the system or the user chooses", async () => {
    const background = () => tab.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await tab.goto("#/");
    const light = await background();
    await tab.page.emulateMedia({ colorScheme: "dark" });
    const dark = await background();
    expect(dark).not.toBe(light);
    await tab.page.getByLabel("Colours: auto").click();
    expect(await background()).toBe(light);
    await tab.page.reload();
    expect(await background()).toBe(light);
    await tab.page.getByLabel("Colours: light").click();
    expect(await background()).toBe(dark);
    await tab.page.getByLabel("Colours: dark").click();
    await tab.page.emulateMedia({ colorScheme: "light" });
  });

  it("fits a narrow screen and a wide one", async () => {
    for (const [width, height] of [
      [380, 700],
      [820, 1000],
      [2560, 1300],
    ] as const) {
      await tab.page.setViewportSize({ width, height });
      const views = ["tree", "agent", "log", "graph", "waterfall"].map((view) => `#/${view}/${TREE}`);
      const pages = ["#/", ...views, "#/?q=leaf"];
      for (const hash of [...pages, ...(isTeam ? [] : ["#/health"])]) {
        await tab.goto(hash);
        await tab.page
          .locator(".thread, .row.root, .step, .entry, .drawing [data-uri], .waterfall, .health section, .found")
          .first()
          .waitFor();
        const overflow = await tab.page.evaluate(() =>
          [document.documentElement, ...document.querySelectorAll(".list")].map(
            (box) => box.scrollWidth - box.clientWidth,
          ),
        );
        expect(Math.max(...overflow), `${hash} at ${width}`).toBeLessThanOrEqual(0);
        if (hash === "#/health")
          expect((await tab.page.locator(".health td > code").first().boundingBox())?.width).toBeGreaterThan(150);
      }
    }
    await tab.page.setViewportSize({ width: 1280, height: 800 });
  });

  it("ran without errors, blocked styles or scripts, and requests to other hosts", () => {
    expect(tab.errors).toEqual([]);
  });
});
