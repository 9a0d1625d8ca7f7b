import { describe, expect, it } from "vitest";
import { type ClaudeFile, locate } from "./locate.ts";

const ID = "11111111-2222-4333-8444-555555555555";

describe("a file below the configuration folder", () => {
  it.each<[string, ClaudeFile]>([
    [`projects/-repo/${ID}.jsonl`, { is: "thread", thread: ID, stem: ID }],
    ["projects/-repo/renamed by hand.jsonl", { is: "thread", thread: null, stem: "renamed by hand" }],
    // Up to 2.1.1.
    ["projects/-repo/agent-0a1b2c3d.jsonl", { is: "agent", thread: null, folder: null, agent: "0a1b2c3d", run: null }],
    // Since 2.1.2.
    [
      `projects/-repo/${ID}/subagents/agent-a0b1.jsonl`,
      { is: "agent", thread: ID, folder: ID, agent: "a0b1", run: null },
    ],
    [
      `projects/-repo/${ID}/subagents/agent-acompact-a0b1.jsonl`,
      { is: "agent", thread: ID, folder: ID, agent: "acompact-a0b1", run: null },
    ],
    [
      "projects/-repo/a copy/subagents/agent-a0b1.jsonl",
      { is: "agent", thread: null, folder: "a copy", agent: "a0b1", run: null },
    ],
    // Since 2.1.70.
    [`projects/-repo/${ID}/subagents/agent-a0b1.meta.json`, { is: "agent-meta", thread: ID, agent: "a0b1" }],
    [
      `projects/-repo/${ID}/subagents/workflows/wf_1-x/agent-a0b1.jsonl`,
      { is: "agent", thread: ID, folder: ID, agent: "a0b1", run: "wf_1-x" },
    ],
    [
      `projects/-repo/${ID}/subagents/workflows/wf_1-x/agent-a0b1.meta.json`,
      { is: "agent-meta", thread: ID, agent: "a0b1" },
    ],
    [`projects/-repo/${ID}/subagents/workflows/wf_1-x/journal.jsonl`, { is: "journal", thread: ID, run: "wf_1-x" }],
    [`projects/-repo/${ID}/workflows/wf_1-x.json`, { is: "workflow", thread: ID, run: "wf_1-x" }],
    ["sessions/4242.json", { is: "process" }],
  ])("%s", (path, found) => {
    expect(locate(path)).toEqual(found);
  });

  it.each([
    "history.jsonl",
    "settings.json",
    "projects/-repo",
    "projects/-repo/notes.md",
    `projects/-repo/${ID}.jsonl.bak`,
    `projects/-repo/${ID}/tool-results/out.txt`,
    `projects/-repo/${ID}/subagents/notes.jsonl`,
    `projects/-repo/${ID}/subagents/agent-.jsonl`,
    `projects/-repo/${ID}/subagents/journal.jsonl`,
    `projects/-repo/${ID}/workflows/notes.json`,
    "projects/-repo/a copy/subagents/agent-a0b1.meta.json",
    `todos/${ID}-agent-${ID}.json`,
    // Next to the process file, the product keeps a secret.
    "sessions/4242.0a1b2c3d.key",
    "sessions/4242.json.tmp",
    "sessions/deeper/4242.json",
    `elsewhere/projects/-repo/${ID}.jsonl`,
  ])("%s is ignored", (path) => {
    expect(locate(path)).toBeNull();
  });
});
