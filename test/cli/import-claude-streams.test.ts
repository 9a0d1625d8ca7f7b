/**
 * Output of Claude Code without its transcript: what its lines lack comes from the total that the product states at the
 * end, and output that breaks off has not completed.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { StatsLine } from "../../src/core/views/stats.ts";
import type { Verification } from "../../src/core/views/verify.ts";
import { FIXTURES, filesBelow, recordedHome } from "../support/fixtures.ts";
import { desk, printed, streamOf } from "../support/import-desk.ts";
import { liveHomes } from "../support/live-sources.ts";

type Line = { readonly type: string; readonly uuid?: string; readonly message?: { readonly content: unknown } };
const CLAUDE_STREAMS = liveHomes("claude")
  .flatMap(({ name, recordings }) => {
    const folder = join(recordings, "claude/run");
    return readdirSync(folder).map((file) => ({ name: `${name}/${file}`, text: printed(join(folder, file)) }));
  })
  .filter(({ text }) => text.includes('"subtype":"init"'));

/** Until after each text of the main agent, without the line that ends its turn. */
function brokenOff(text: string): string[] {
  const lines = text.trim().split("\n");
  return lines.flatMap((line, i) => {
    const { type, message, ...more } = JSON.parse(line) as Line & { readonly parent_tool_use_id?: string | null };
    const isText = JSON.stringify(message?.content ?? "").includes('"type":"text"');
    return type === "assistant" && isText && more.parent_tool_use_id == null
      ? [`${lines.slice(0, i + 1).join("\n")}\n`]
      : [];
  });
}

describe("a stream of Claude Code that breaks off", () => {
  it.each(CLAUDE_STREAMS)("after a text has not completed: $name", async ({ text }) => {
    for (const cut of brokenOff(text)) {
      const { file, run, json } = desk();
      await run("import", file(cut));
      expect((await json<AgentTree>("tree", "latest")).status).not.toBe("completed");
    }
    const { file, run, json } = desk();
    await run("import", file(text));
    const { status } = await json<AgentTree>("tree", "latest");
    expect(status === "completed").toBe(text.includes('"type":"result"'));
  });

  it("does not complete a session whose transcript shows that it was stopped", async () => {
    const { home } = recordedHome("claude", "a-single");
    const [cut = ""] = brokenOff(streamOf("claude", "a-single")).slice(-1);
    const last = JSON.parse(cut.trim().split("\n").at(-1) ?? "") as Line;
    const { folder, file, run, json } = desk(home);
    // The process was killed before it wrote the last response.
    const [transcript = ""] = filesBelow(folder).filter((path) => /projects\/[^/]+\/[^/]+\.jsonl$/.test(path));
    const lines = readFileSync(join(folder, transcript), "utf8").split("\n");
    const end = lines.findIndex((line) => line.includes(last.uuid ?? "no id"));
    writeFileSync(join(folder, transcript), `${lines.slice(0, end).join("\n")}\n`);
    expect((await json<AgentTree>("tree", "latest")).status).toBe("shutdown");
    await run("import", file(cut));
    expect((await json<AgentTree>("tree", "latest")).status).toBe("shutdown");
  });
});

interface Stated {
  readonly type: string;
  readonly usage: { readonly output_tokens: number };
  readonly modelUsage: ByModel;
  readonly model_usage_since_last_result?: ByModel;
}
interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadInputTokens: number;
  readonly cacheCreationInputTokens: number;
  readonly costUSD: number;
}
type ByModel = Readonly<Record<string, ModelUsage>>;

/** The usage of a process according to its `result` lines. */
function statedIn(text: string) {
  const results = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Stated)
    .filter(({ type }) => type === "result");
  const increments = results.map((one) => one.model_usage_since_last_result).filter((one) => one !== undefined);
  const all = increments.length > 0 ? increments : [results.at(-1)?.modelUsage ?? {}];
  const models = all.flatMap((byModel: ByModel) => Object.values(byModel));
  const sum = (of: (usage: ModelUsage) => number) => models.reduce((all, usage) => all + of(usage), 0);
  return {
    inputTokens: sum((usage) => usage.inputTokens),
    outputTokens: sum((usage) => usage.outputTokens),
    cacheReadTokens: sum((usage) => usage.cacheReadInputTokens),
    cacheWriteTokens: sum((usage) => usage.cacheCreationInputTokens),
    costUsd: expect.closeTo(
      sum((usage) => usage.costUSD),
      9,
    ) as number,
  };
}

/** Without the result of each turn: it is not printed, the process was killed, or the thread began as a copy. */
const NOT_STATED = new Set(["v2.1.110", "f-killed", "p-promote"]);

describe("a stream of Claude Code without its transcript", () => {
  const whole = CLAUDE_STREAMS.filter(({ text }) => text.includes('"type":"result"'));

  it.each(whole)("has the usage that the product states at the end: $name", async ({ name, text }) => {
    const { file, run, json } = desk();
    await run("import", file(text));
    const tree = await json<AgentTree>("tree", "latest");
    // The price of one of its models is unknown.
    const { costUsd, ...tokens } = statedIn(text);
    expect(tree.usage.subtree).toMatchObject({ ...tokens, costUsd: name.startsWith("i-custom") ? null : costUsd });
    expect(tree.warnings.join("\n")).toContain("comes from the total that the product stated at the end");
    const [verified] = await json<Verification[]>("verify");
    expect(verified).toMatchObject({ verdict: "explained", differences: [], stated: statedIn(text) });
    const { provider } = await json<{ provider: readonly StatsLine[] }>("stats", "--by", "provider");
    expect(provider.map(({ usage }) => usage)).toMatchObject([{ ...tokens, calls: tree.usage.subtree.calls }]);
  });

  it.each(liveHomes("claude").filter(({ kinds, name }) => kinds.includes("run") && !NOT_STATED.has(name)))(
    "gives the thread its own part, which is stated, and its agents no part of the rest: $name",
    async ({ recordings, threads }) => {
      const { file, run, json } = desk();
      const folder = join(recordings, "claude/run");
      for (const one of readdirSync(folder)) await run("import", file(printed(join(folder, one)), one));
      for (const { root, agents } of threads) {
        const served = agents.find(({ agentId }) => agentId === null);
        const { usage, children } = await json<AgentTree>("tree", `claude://${root}`);
        for (const kind of ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"] as const)
          expect([kind, usage.own[kind]]).toEqual([kind, served?.[kind]]);
        for (const child of children)
          expect(child.usage.own.outputTokens).toBeLessThan(10 * (child.usage.own.calls + 1));
      }
    },
  );

  it("counts the processes of a session together, from one file or several, and copies once", async () => {
    const folder = join(FIXTURES, "claude/m-sendmessage/recordings/claude/run");
    const [first = "", second = ""] = ["stdout.jsonl", "stdout2.jsonl"].map((name) => printed(join(folder, name)));
    const sums = async (...texts: string[]) => {
      const { file, run, json } = desk();
      for (const [i, text] of texts.entries()) await run("import", file(text, `${i}.jsonl`));
      return (await json<AgentTree>("tree", "latest")).usage.subtree;
    };
    const both = await sums(first, second);
    const [a, b] = [statedIn(first), statedIn(second)];
    expect(both).toMatchObject({
      inputTokens: a.inputTokens + b.inputTokens,
      outputTokens: a.outputTokens + b.outputTokens,
      cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    });
    expect(await sums(second, first)).toEqual(both);
    expect(await sums(first + second)).toEqual(both);
    const wrapped = first.replace(/^/, "started\n");
    expect(await sums(first, wrapped, second)).toEqual(both);
  });

  it("adds the responses of a process that broke off to the total of the one before", async () => {
    const folder = join(FIXTURES, "claude/m-sendmessage/recordings/claude/run");
    const [first = "", second = ""] = ["stdout.jsonl", "stdout2.jsonl"].map((name) => printed(join(folder, name)));
    const { file, run, json } = desk();
    await run("import", file(first + second.replace(/[^\n]*"type":"result"[^\n]*\n/g, "")));
    const { usage, status } = await json<AgentTree>("tree", "latest");
    expect(usage.subtree.inputTokens).toBeGreaterThan(statedIn(first).inputTokens);
    expect(status).not.toBe("completed");
    const [verified] = await json<Verification[]>("verify");
    expect([verified?.differences, verified?.reasons.map(({ code }) => code)]).toEqual([
      [],
      ["not-itemized", "since-last-total"],
    ]);
  });

  it("says if it names fewer agents than the product reports", async () => {
    const lines = streamOf("claude", "b-parallel3").trim().split("\n");
    const lost = lines.filter((line) => !line.includes("a1de4cbedbbcc5677"));
    const { file, run, json } = desk();
    await run("import", file(`${lost.join("\n")}\n`));
    expect((await json<AgentTree>("tree", "latest")).warnings).toContain(
      "the product reports 3 agents, of which its output names 2",
    );
  });
});
