/** Agents nested so deep that recursion would exceed the stack. Output grows linearly with the number of agents. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readStory } from "../../src/app/export/story.ts";
import type { Library } from "../../src/app/ingest/library.ts";
import { openLibrary } from "../../src/app/open.ts";
import { resolve } from "../../src/app/query/resolve.ts";
import { search } from "../../src/app/query/search.ts";
import { explain } from "../../src/app/query/why.ts";
import { loadSettings, redactionOf } from "../../src/app/settings/settings.ts";
import { renderTree, walk } from "../../src/cli/render/tree.ts";
import { openTerminal } from "../../src/cli/terminal.ts";
import { rowsOf } from "../../src/cli/watch/rows.ts";
import { agentOf, type Forest } from "../../src/core/link/forest.ts";
import { redacted } from "../../src/core/redaction/redact-story.ts";
import { Redactor } from "../../src/core/redaction/redaction.ts";
import { printJson } from "../../src/core/tools/json.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import type { Story } from "../../src/core/views/story.ts";
import { verifyAll } from "../../src/core/views/verify.ts";
import { htmlPage } from "../../src/exporters/html/page.ts";
import { jsonTree } from "../../src/exporters/json/tree.ts";
import { runsOf } from "../../src/exporters/langsmith/runs.ts";
import { markdownDocument } from "../../src/exporters/markdown/document.ts";
import { otlpSpans } from "../../src/exporters/otlp/spans.ts";
import { perfettoTrace } from "../../src/exporters/perfetto/trace.ts";
import { tracesOf } from "../../src/exporters/trace/spans.ts";
import { serve } from "../../src/server/serve.ts";
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
import { until } from "../support/server.ts";

/** JSON.stringify exceeds the stack of a test (`--stack-size` in vitest.config.ts) from about 1,100 levels on. */
const LEVELS = 1_300;
const BYTES_PER_AGENT = 45_000;
const uri = `claude://${SESSION}`;
const id = (level: number) => `a${level.toString(16).padStart(16, "0")}`;
const deepest = `${uri}/${id(LEVELS)}`;

const scratch = mkdtempSync(join(tmpdir(), "retinue-deep-"));
const env = { HOME: join(scratch, "home"), RETINUE_HOME: join(scratch, "data") };
let library: Library;
let forest: Forest;
let tree: AgentTree;
let story: Story;

function writeHome() {
  const put = (path: string, content: string) => writeFileSync(join(env.HOME, ".claude", path), content);
  const linesOf = (writer: ReturnType<typeof mainWriter>, level: number) => {
    const call = `toolu_${level + 1}_0123456789`;
    const spawn = [
      writer.assistant(
        [toolUse(call, "Agent", { prompt: "go", description: `Level ${level + 1}`, subagent_type: "general" })],
        { stop_reason: "tool_use" },
      ),
      writer.result(call, "done", { toolUseResult: { status: "completed", agentId: id(level + 1) } }),
    ];
    return [writer.user("go"), ...(level < LEVELS ? spawn : []), writer.assistant([text("done")])]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
  };
  mkdirSync(join(env.HOME, ".claude", dirname(agentFile(id(1)))), { recursive: true });
  put(THREAD_FILE, linesOf(mainWriter(), 0));
  for (let level = 1; level <= LEVELS; level += 1) {
    put(agentFile(id(level)), linesOf(agentWriter(id(level)), level));
    const parent = level === 1 ? {} : { parentAgentId: id(level - 1) };
    put(
      metaFile(id(level)),
      JSON.stringify({ agentType: "general", description: `Level ${level}`, spawnDepth: level, ...parent }),
    );
  }
}

/** The number of levels in a nested response. */
function levelsOf(root: { readonly children: readonly unknown[] }): number {
  let levels = 0;
  for (let at: typeof root | undefined = root; at !== undefined; at = at.children[0] as typeof root | undefined)
    levels += 1;
  return levels;
}

beforeAll(async () => {
  writeHome();
  library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  await library.refresh();
  const { key } = resolve(library, uri);
  forest = library.forestOf([key]);
  tree = treeOf(forest, key, library.price);
  story = redacted(await readStory(library, forest, key), new Redactor(redactionOf(await loadSettings(env))));
}, 300_000);
afterAll(() => {
  library?.close();
  rmSync(scratch, { recursive: true, force: true });
});

describe(`a tree ${LEVELS} levels deep`, () => {
  it("exceeds the stack if it is visited by recursion", () => {
    expect(() => JSON.stringify(tree)).toThrow(RangeError);
  });

  it("is linked, summed and nested in JSON", () => {
    expect(tree.counts.descendants).toBe(LEVELS);
    expect(tree.usage.subtree.calls).toBe(2 * LEVELS + 1);
    expect(printJson(tree, 2).length).toBeLessThan(LEVELS * BYTES_PER_AGENT);
    expect(levelsOf(JSON.parse(printJson(tree)) as AgentTree)).toBe(LEVELS + 1);
  });

  it("is drawn in a terminal, with the depth as a number where a row is too deep to indent", async () => {
    const terminal = { ...openTerminal({ color: false, quiet: true }), width: null };
    const shown = renderTree(tree, terminal, { all: true });
    expect(shown.split("\n").filter((line) => /(?:─|⋯ \d+) Level \d+/.test(line))).toHaveLength(LEVELS);
    expect(shown).toContain(`⋯ ${LEVELS} Level ${LEVELS}`);
    expect(rowsOf([tree], "running first", () => false)).toHaveLength(LEVELS + 1);
    expect([...walk(tree)]).toHaveLength(LEVELS + 1);
    const { key } = resolve(library, deepest);
    expect(explain(forest, agentOf(forest, key)).uri).toBe(deepest);
    expect(verifyAll(forest, library.price)).toHaveLength(1);
    expect(await search(library, ["done"], 5)).toHaveLength(5);
  });

  it.each([
    ["html", htmlPage],
    ["markdown", markdownDocument],
    ["perfetto", perfettoTrace],
    ["json", (one: Story) => jsonTree(one, "full")],
  ])("is exported as %s", (format, render) => {
    const file = render(story);
    expect(file.length).toBeLessThan(LEVELS * BYTES_PER_AGENT);
    expect(file).toContain(`Level ${LEVELS}`);
    if (format === "json") expect(levelsOf((JSON.parse(file) as { agent: AgentTree }).agent)).toBe(LEVELS + 1);
    if (format === "html") expect(file.split("<details").length).toBe(file.split("</details>").length);
  });

  it("is sent to LangSmith, flattened from the hundredth level on, and as OpenTelemetry", () => {
    const traces = tracesOf(story);
    const runs = traces.flatMap((trace) =>
      runsOf(trace, { project: "p", version: "1", metadata: {}, outer: null, shiftMs: 0 }),
    );
    expect(runs.filter(({ name }) => name.endsWith("Subagent"))).toHaveLength(LEVELS);
    expect(Math.max(...runs.map((run) => run.dotted_order.split(".").length))).toBe(100);
    const places = new Map(runs.map((run) => [run.id, run.dotted_order]));
    expect(
      runs.every(
        (run) => run.parent_run_id === undefined || run.dotted_order.startsWith(`${places.get(run.parent_run_id)}.`),
      ),
    ).toBe(true);
    expect(otlpSpans(traces)).toHaveLength(runs.length);
  });

  it("is returned by the server", async () => {
    const served = await serve({ env, settings: await loadSettings(env), notify: () => {}, port: 0, host: null });
    try {
      await until(
        async () =>
          ((await (await fetch(new URL("/api/health", served.url))).json()) as { watching: boolean }).watching,
      );
      const ask = async (path: string) => {
        const answer = await fetch(new URL(`/api/agents/${encodeURIComponent(uri)}${path}`, served.url));
        expect(answer.status).toBe(200);
        return answer.json() as Promise<unknown>;
      };
      expect(levelsOf((await ask("")) as AgentTree)).toBe(LEVELS + 1);
      expect(((await ask("/spans")) as { items: unknown[] }).items).toHaveLength(LEVELS + 1);
      await ask("/messages");
      await ask("/why");
    } finally {
      await served.stop();
    }
  });
});
