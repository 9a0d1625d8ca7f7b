/** `retinue explain` on recordings: it names the agents and records that went wrong, and nothing else. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { AgentTree } from "../../src/core/views/agent.ts";
import type { Explanation } from "../../src/core/views/explain.ts";
import type { UsedFile } from "../../src/core/views/files.ts";
import { inFreshData, retinue, retinueJson } from "../support/cli.ts";
import { contradictions } from "../support/explained.ts";
import { FIXTURES, recordedHomes } from "../support/fixtures.ts";

const many = (kind: string, times: number) => Array.from({ length: times }, () => kind);

/** The findings of a recording, by kind. */
const CASES: Readonly<Record<string, readonly string[]>> = {
  "claude/a-single": [],
  "claude/b-parallel3": [],
  "claude/c-nested": [],
  "codex/v2-parallel": [],
  "opencode/nested": [],
  "gemini/single": [],
  "cline/nested3": [],
  "letta/parallel": [],
  "letta/fork": [],
  "claude/e-fail": many("failed", 4),
  "claude/f-killed": many("interrupted", 2),
  "claude/g-sameprompt": ["repeated"],
  "claude/j2-agentcompact": ["context-full", "compacted"],
  "cline/fail": ["failed"],
  "cline/killed": many("interrupted", 2),
  "cline/same": ["repeated"],
  "letta/fail": ["failed"],
  "letta/refused": ["refused"],
  "droid/nested": ["refused"],
};

const textOf = (text: string | null) => (text ?? "").split("\n")[0]?.slice(0, 40) ?? "";

describe("retinue explain", () => {
  it.each(Object.entries(CASES))("%s: %j", async (name, kinds) => {
    const [provider = "", folder = ""] = name.split("/");
    const found = recordedHomes(provider).find((one) => one.name === folder);
    if (found === undefined) throw new Error(`no recording ${name}`);
    await inFreshData(found.home, {}, async (env) => {
      const root = found.threads[0]?.root ?? "";
      const explained = (await retinueJson(found.home, ["explain", root], env)) as Explanation;
      const tree = (await retinueJson(found.home, ["tree", root], env)) as AgentTree;
      expect(explained.findings.map(({ kind }) => kind)).toEqual(kinds);
      expect(contradictions(explained, tree)).toEqual([]);
      for (const { evidence } of explained.findings)
        for (const { ref } of evidence) expect(ref === null || existsSync(ref.path.replace(/#.*$/, ""))).toBe(true);
      const printed = await retinue(found.home, ["explain", root], env);
      if (kinds.length === 0)
        expect(printed.stdout.trim().split("\n")).toEqual([expect.stringContaining("nothing to report")]);
      else expect(printed.stdout).toContain(textOf(explained.findings[0]?.says ?? null));
    });
  });

  it("sums up all threads since a time, with the threads behind each number", async () => {
    const { home } = recordedHomes("cline").find(({ name }) => name === "fail") ?? { home: join(FIXTURES, "none") };
    await inFreshData(home, {}, async (env) => {
      const summary = (await retinueJson(home, ["explain", "--since", "2026-01-01"], env)) as Record<string, unknown>;
      expect(summary).toMatchObject({ agents: 3, failed: 1, interrupted: 0, lost: { calls: 1, outputTokens: 232 } });
      const threads = [{ uri: "cline://1794836362579_zcuzt", failed: 1, interrupted: 0, knownLostUsd: 0 }];
      expect(summary.by).toMatchObject({ model: [{ key: "mock-1", failed: 1, threads }] });
      const none = await retinue(home, ["explain", "--since", "2030-01-01"], env);
      expect(none.stdout).toContain("nothing to report since 2030-01-01");
      // The thread was active until 13:39:25 of that day.
      const before = await retinue(home, ["explain", "--since", "2026-11-16T13:39Z"], env);
      expect(before.stdout).toContain("since 2026-11-16 13:39 UTC: 1 of 3 agents failed");
      const after = await retinue(home, ["explain", "--since", "2026-11-16T13:40Z"], env);
      expect(after.stdout.trim()).toBe(
        "nothing to report since 2026-11-16 13:40 UTC: 0 agents, none failed or was interrupted",
      );
    });
  });

  it("needs a URI or a time", async () => {
    const { code, stderr } = await retinue(FIXTURES, ["explain"], {});
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining("explain needs a URI or --since") });
  });
});

describe("retinue files", () => {
  it("lists what the agents read and changed", async () => {
    const found = recordedHomes("claude").find(({ name }) => name === "a-single");
    if (found === undefined) throw new Error("no recording");
    await inFreshData(found.home, {}, async (env) => {
      const root = found.threads[0]?.root ?? "";
      const { files } = (await retinueJson(found.home, ["files", root], env)) as { files: UsedFile[] };
      const agent = `claude://${root}/${found.threads[0]?.agents[1]?.agentId}`;
      expect(files.map(({ path, reads, agents }) => ({ path, reads, agents }))).toEqual([
        { path: "/home/dev/trial/runs/a-single/repo/a.txt", reads: 1, agents: [agent] },
      ]);
      expect(await retinueJson(found.home, ["files", root, "--own"], env)).toMatchObject({ files: [] });
    });
  });
});
