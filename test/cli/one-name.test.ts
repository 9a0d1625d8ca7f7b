/** The terminal, the browser and every export use the same name for an agent and the same format for its numbers. */
import { beforeAll, describe, expect, it } from "vitest";
import { walk } from "../../src/cli/render/tree.ts";
import { displayName } from "../../src/core/facts/display-name.ts";
import { totalTokens } from "../../src/core/facts/usage.ts";
import { count, duration, money } from "../../src/core/tools/format.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Story } from "../../src/core/views/story.ts";
import { runsOf } from "../../src/exporters/langsmith/runs.ts";
import { otlpSpans } from "../../src/exporters/otlp/spans.ts";
import { tracesOf } from "../../src/exporters/trace/spans.ts";
import * as browser from "../../web/src/data/format.ts";
import { retinue, retinueJson } from "../support/cli.ts";
import { recordedHome } from "../support/fixtures.ts";
import { storiesOf } from "../support/stories.ts";

const HOME = recordedHome("claude", "c3-nested-parallel").home;
const OPTIONS = { project: "tests", version: "1", metadata: {}, outer: null, shiftMs: 0 };

let tree: AgentTree;
let story: Story;
beforeAll(async () => {
  tree = (await retinueJson(HOME, ["tree", "latest"])) as AgentTree;
  story = (await storiesOf(HOME))[0] as Story;
});

const names = () => [...walk(tree)].map(displayName).sort();
const below = () => [...walk(tree)].slice(1).map(displayName).sort();

/** Texts that every row and line must contain. */
const numbers = ({ usage, durationMs }: AgentTree) => ({
  cost: money(usage.subtree.costUsd),
  tokens: count(totalTokens(usage.subtree)),
  time: duration(durationMs),
});

describe("an agent", () => {
  it("has a unique name", () => {
    expect(names()).toEqual([
      "Grow a tree. @@main",
      "Leaf A1",
      "Leaf A2",
      "Leaf A3",
      "Leaf B1",
      "Leaf B2",
      "Leaf B3 late",
      "Parent A",
      "Parent B",
    ]);
  });

  it("has this name in the terminal, with its numbers", async () => {
    const shown = (
      await Promise.all([retinue(HOME, ["tree", "latest"]), retinue(HOME, ["tree", "latest", "--timeline"])])
    ).map(({ stdout }) => stdout.split("\n"));
    for (const agent of walk(tree)) {
      const rows = shown.map(
        (lines) => lines.find((line) => line.replace(/^[│├└─ ]+/, "").startsWith(displayName(agent))) ?? "",
      );
      const { cost, tokens, time } = numbers(agent);
      for (const words of [cost, tokens, time]) expect(rows[0]).toContain(words);
      expect(rows[1]).toContain(time);
    }
    const [, first = ""] = (await retinue(HOME, ["ls"])).stdout.split("\n");
    for (const words of [displayName(tree), numbers(tree).cost, numbers(tree).tokens]) expect(first).toContain(words);
  });

  it("has this name in the browser, which formats with the same functions", () => {
    expect(browser.displayName).toBe(displayName);
    expect([browser.money, browser.count, browser.duration]).toEqual([money, count, duration]);
  });

  it("has this name in Markdown and HTML, with its numbers", async () => {
    const markdown = (await retinue(HOME, ["export", "markdown", "latest"])).stdout.split("\n");
    const page = (await retinue(HOME, ["export", "html", "latest"])).stdout;
    for (const agent of walk(tree)) {
      const { cost, tokens, time } = numbers(agent);
      expect(markdown).toContainEqual(
        expect.stringMatching(
          new RegExp(`^ *- ${displayName(agent)} \\(.*\\b${time}, ${tokens} tokens, \\${cost}\\)$`),
        ),
      );
      const cells = [tokens, cost, time].map((words) => `<span class="n">${words}</span>`).join("");
      expect(page).toMatch(new RegExp(`>${displayName(agent)}</a>.*${cells.replaceAll("$", "\\$")}`));
    }
  });

  it("has this name in Perfetto, LangSmith and OTLP, which add their own prefix for its type", async () => {
    const traces = tracesOf(story);
    const { stdout } = await retinue(HOME, ["export", "perfetto", "latest"]);
    const { traceEvents } = JSON.parse(stdout) as { traceEvents: { name: string; args: { name?: string } }[] };
    const tracks = traceEvents.flatMap(({ name, args }) =>
      name === "thread_name" ? [(args.name ?? "").replace(" (concurrent)", "")] : [],
    );
    expect([...new Set(tracks)].sort()).toEqual(names());
    const runs = traces.flatMap((trace) => runsOf(trace, OPTIONS)).filter(({ tags }) => tags.includes("agent"));
    expect(runs.map(({ extra }) => extra.metadata.subagent_name).sort()).toEqual(below());
    expect([...new Set(runs.map(({ name }) => name))]).toEqual(["general-purpose Subagent"]);
    const spans = otlpSpans(traces).filter(({ name }) => name === "invoke_agent general-purpose");
    const named = spans.map(({ attributes }) => attributes.find(({ key }) => key === "retinue.agent.name")?.value);
    expect(named.map((value) => Object.values(value ?? {})[0]).sort()).toEqual(below());
  });
});
