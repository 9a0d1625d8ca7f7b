/** Transcripts contain untrusted text: all of it is shown, and nothing of it runs, loads or blocks the page. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser, Locator } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  agentFile,
  agentWriter,
  mainWriter,
  metaFile,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
} from "../support/claude-records.ts";
import { closeTabs, sharedBrowser } from "./browser.ts";
import { isTeam, localIt, start } from "./place.ts";
import type { Running } from "./server.ts";
import { type Visit, visit } from "./visit.ts";

const BEACON = "http://beacon.invalid/pixel.png";
const HOSTILE = [
  `<script>alert("script")</script><img src="${BEACON}?html" onerror="alert('onerror')"><svg onload="alert('svg')"></svg>`,
  `![pixel](${BEACON}?markdown) [click me](javascript:alert('link')) [data](data:text/html,<script>alert(1)</script>) <javascript:alert('auto')>`,
  `<iframe src="${BEACON}"></iframe><style>body{display:none}</style><form action="${BEACON}"><input autofocus onfocus="alert('focus')"></form>`,
  `<a href="jav&#x09;ascript:alert('entity')">x</a><math><mtext></table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert('mxss')&gt;">`,
  "\u001b[31mred\u001b[0m \u001b]0;title\u0007 bell\u0007 user\u202etxt.exe \u{e0041}\u200b",
  `[ref]: ${BEACON}?reference\n\n![shown][ref]\n\n\`\`\`html\n<script>alert("code")</script>\n\`\`\`\n\n- [x] done`,
].join("\n\n");
/** Markdown that is slow to parse, or expands to a lot of output. */
const SLOW = [
  "[".repeat(15_000),
  "*a_ ".repeat(4_000),
  "> ".repeat(7_000),
  `${"- ".repeat(3_000)}x`,
  "`".repeat(15_000),
  "<a ".repeat(5_000),
  "|a".repeat(7_500),
  "![](".repeat(4_000),
];
/** With characters that are invalid in XML, and the end of a CDATA section. */
const TYPE = "<img src=x onerror=alert(2)>\u0001\u001b[31m\ufffe\uffff\ud800]]>&\"'";
const NAME = `<b onmouseover=alert(1)>Leaf</b> \u202e${"x".repeat(3_000)}`;
const GIANT = isTeam ? 2_000_000 : 50_000_000;
/** A busy machine takes a second or two; a pattern that backtracks, or all of a giant text at once, takes minutes. */
const LONGEST_BLOCK_MS = 15_000;
const TIMEOUT_MS = 60_000;

let browser: Browser;
let server: Running;
let tab: Visit;
const thread = `claude://${SESSION}`;

function write(home: string, path: string, content: readonly unknown[] | object) {
  const file = join(home, ".claude", path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    Array.isArray(content) ? content.map((line) => `${JSON.stringify(line)}\n`).join("") : JSON.stringify(content),
  );
}

beforeAll(async () => {
  const home = mkdtempSync(join(tmpdir(), "retinue-hostile-"));
  const [main, leaf] = [mainWriter(), agentWriter("a1111111111111111")];
  let nested: unknown = "deep";
  for (let depth = 0; depth < 90; depth += 1) nested = { nested };
  const call = toolUse("toolu_1", "Agent", { prompt: HOSTILE, description: NAME, subagent_type: TYPE });
  const edit = toolUse("toolu_2", "Edit", {
    file_path: "<script>alert(3)</script>",
    old_string: "a\n".repeat(20_000),
    new_string: "<img src=x onerror=alert(4)>\n".repeat(20_000),
  });
  write(home, THREAD_FILE, [
    main.user(HOSTILE),
    main.assistant([text(HOSTILE), call]),
    main.result("toolu_1", HOSTILE),
    main.assistant([edit]),
    main.result("toolu_2", HOSTILE, {}, true),
    main.assistant([toolUse("toolu_3", "Bash", { command: nested, __proto__: { polluted: true } })]),
    main.result("toolu_3", "y".repeat(GIANT)),
    ...SLOW.map((words) => main.assistant([text(words)])),
    main.assistant([text(`giant ${"words and ".repeat(GIANT / 10)}`)]),
    main.assistant([text("The end.")]),
  ]);
  write(home, agentFile("a1111111111111111"), [leaf.user(HOSTILE), leaf.assistant([text(HOSTILE)])]);
  write(home, metaFile("a1111111111111111"), {
    agentType: TYPE,
    description: NAME,
    toolUseId: "toolu_1",
    spawnDepth: 1,
  });
  [browser, server] = await Promise.all([sharedBrowser(), start(home)]);
  tab = await visit(browser, server);
});
afterAll(async () => {
  await closeTabs(browser);
  await server?.stop();
});

/** The longest time for which an action blocks the page. */
async function longestBlock(work: () => Promise<void>): Promise<number> {
  await tab.page.evaluate(() => {
    const watch = { last: performance.now(), worst: 0, timer: 0 };
    watch.timer = window.setInterval(() => {
      watch.worst = Math.max(watch.worst, performance.now() - watch.last);
      watch.last = performance.now();
    }, 10);
    Object.assign(window, { watch });
  });
  await work();
  return tab.page.evaluate(() => {
    const { watch } = window as unknown as { watch: { worst: number; timer: number } };
    window.clearInterval(watch.timer);
    return watch.worst;
  });
}

/** Opens the tool result of `GIANT` characters, and returns the button that loads more of it. */
async function openGiantResult({ page, goto }: Visit): Promise<Locator> {
  await goto(`#/agent/${thread}`);
  const call = page.locator(".step", { hasText: "Bash" }).first();
  await page.locator(".step").first().waitFor();
  // Keys have no effect until the list has its rows, so their number is not known in advance.
  for (const deadline = Date.now() + TIMEOUT_MS; Date.now() < deadline && (await call.count()) === 0; )
    await page.keyboard.press("j");
  await call.locator("button.step-line").click();
  const more = call.getByRole("button", { name: /Show more: [\d,]+ characters left/ });
  await more.waitFor();
  return more;
}

describe("a hostile transcript", () => {
  it("is text in the list, the tree and its tooltips", async () => {
    await tab.goto("#/");
    await tab.page.locator(".thread .name").waitFor();
    expect(await tab.page.locator(".thread .name").textContent()).toContain("<script>alert");
    await tab.goto(`#/tree/${thread}`);
    const leaf = tab.page.locator(".row .name", { hasText: "Leaf" });
    await leaf.waitFor();
    expect(await leaf.textContent()).toContain("<b onmouseover=alert(1)>Leaf</b> ‹U+202E›xxx");
    await leaf.hover();
    await tab.page.locator(".tip .prompt").waitFor();
    await tab.page.mouse.move(0, 0);
  });

  it("is harmless Markdown in the timeline", async () => {
    await tab.goto(`#/agent/${thread}/a1111111111111111`);
    await tab.page.locator(".step .rendered").nth(1).waitFor();
    const message = tab.page.locator(".step .rendered").nth(1);
    const words = await message.textContent();
    expect(words).toContain('<script>alert("script")</script>');
    expect(words).toContain(`[image: pixel · ${BEACON}?markdown]`);
    expect(words).toContain("red  bell␇ user‹U+202E›txt.exe ‹U+E0041›‹U+200B›");
    expect(words).not.toContain("\u001b");
    const tags = await tab.page
      .locator("main")
      .evaluate((main) => [
        ...new Set([...main.querySelectorAll("*")].map((element) => element.tagName.toLowerCase())),
      ]);
    for (const tag of ["script", "img", "iframe", "style", "form", "svg", "math", "object"])
      expect(tags).not.toContain(tag);
    const links = await tab.page
      .locator(".rendered a")
      .evaluateAll((all) => all.map((link) => link.getAttribute("href")));
    expect(links.filter((href) => href !== null && !/^(https?|mailto):/.test(href))).toEqual([]);
  });

  localIt("does not block the page, neither by its size nor by its Markdown", async () => {
    await tab.goto("#/");
    const worst = await longestBlock(async () => {
      await tab.goto(`#/agent/${thread}`);
      await tab.page.locator(".step").first().waitFor();
      await tab.page.locator(".list").focus();
      for (let page = 0; page < 12; page += 1) {
        await tab.page.mouse.wheel(0, 900);
        // Until the rows in view are rendered.
        await tab.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))));
      }
      await tab.page.keyboard.press("End");
      await tab.page.getByText("The end.").first().waitFor();
    });
    expect(worst).toBeLessThan(LONGEST_BLOCK_MS);
  });

  localIt("shows the beginning of a very long text, and more of it on demand", async () => {
    const more = await openGiantResult(tab);
    const worst = await longestBlock(async () => {
      await more.click();
      await tab.page.waitForFunction(() =>
        [...document.querySelectorAll(".plain code")].some((code) => (code.textContent ?? "").length > 20_000),
      );
    });
    expect(worst).toBeLessThan(LONGEST_BLOCK_MS);
    const [longest] = await tab.page
      .locator(".plain code")
      .evaluateAll((all) => all.map((code) => code.textContent?.length ?? 0).sort((a, b) => b - a));
    expect(longest).toBeLessThan(100_000);
  });

  localIt("still offers the rest of a text that could not be loaded", async () => {
    const other = await visit(browser, server);
    const more = await openGiantResult(other);
    await other.page.route("**/events/*", (route) => route.abort());
    await more.click();
    await other.page.getByText("The server does not respond.").waitFor();
    expect(await more.isEnabled()).toBe(true);
    await other.page.context().close();
  });

  localIt("is harmless as an edit and as a deep input", async () => {
    await tab.goto(`#/agent/${thread}`);
    const edit = tab.page.locator(".step", { hasText: "Edit" }).first();
    await edit.locator("button.step-line").click();
    await edit.locator(".diff-line").first().waitFor();
    expect(await edit.locator(".path").textContent()).toBe("<script>alert(3)</script>");
    expect(await edit.locator(".diff-line").count()).toBeLessThan(100);
    await edit.getByRole("button", { name: "Load the full input" }).click();
    await edit.getByRole("button", { name: /Show \d+ more lines/ }).waitFor();
    expect(await tab.page.evaluate(() => ({}) as { polluted?: boolean })).toEqual({});
  });

  it("is text in the log and among the findings", async () => {
    await tab.goto(`#/log/${thread}`);
    await tab.page.locator(".entry").nth(3).waitFor();
    await tab.page.locator(".log-line").first().click();
    await tab.page.locator(".entry .step .rendered").first().waitFor();
    await tab.goto("#/?q=alert");
    await tab.page.locator(".found mark").first().waitFor();
    expect(await tab.page.locator(".found").first().textContent()).toContain("alert");
  });

  localIt("is valid XML in a saved drawing", async () => {
    await tab.goto(`#/graph/${thread}?color=type`);
    const save = tab.page.getByRole("button", { name: "Save SVG" });
    await save.waitFor();
    const [download] = await Promise.all([tab.page.waitForEvent("download"), save.click()]);
    const svg = readFileSync(await download.path(), "utf8");
    expect(svg).toContain("&lt;b onmouseover=alert(1)&gt;Leaf");
    const found = await tab.page.evaluate((text) => {
      const { documentElement } = new DOMParser().parseFromString(text, "image/svg+xml");
      return {
        root: documentElement.tagName,
        wrong: [...documentElement.querySelectorAll("parsererror, script, img")].map((element) => element.textContent),
      };
    }, svg);
    expect(found).toEqual({ root: "svg", wrong: [] });
  });

  it("ran nothing, loaded nothing, and caused no error", () => {
    expect(tab.errors).toEqual([]);
  });
});
