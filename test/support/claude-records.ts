/** Records in the format of Claude Code, for tests that need cases beyond the recordings. */

import type { Observation } from "../../src/core/facts/observation.ts";
import type { Problem } from "../../src/core/facts/problem.ts";
import type { Forest } from "../../src/core/link/forest.ts";
import { link } from "../../src/core/link/link.ts";
import { treeOf } from "../../src/core/views/record.ts";
import * as key from "../../src/providers/claude/keys.ts";
import { provider as claude } from "../../src/providers/claude/provider.ts";

export const SESSION = "11111111-2222-4333-8444-555555555555";
export const OTHER_SESSION = "99999999-2222-4333-8444-555555555555";
export const THREAD_FILE = `projects/-home-dev-repo/${SESSION}.jsonl`;
export const agentFile = (id: string) => `projects/-home-dev-repo/${SESSION}/subagents/agent-${id}.jsonl`;
export const metaFile = (id: string) => `projects/-home-dev-repo/${SESSION}/subagents/agent-${id}.meta.json`;

type Json = Readonly<Record<string, unknown>>;
const START = Date.parse("2026-01-01T00:00:00.000Z");

/**
 * Gives each record an id, the previous one as its parent, and a time a second later. `fields` are added to every
 * record.
 */
export function writer(name: string, fields: Json) {
  let number = 0;
  const uuid = (n: number) => `${name}-record-${String(n).padStart(8, "0")}`;
  const write = (record: Json): Json => {
    number += 1;
    return {
      parentUuid: number === 1 ? null : uuid(number - 1),
      uuid: uuid(number),
      timestamp: new Date(START + number * 1_000).toISOString(),
      sessionId: SESSION,
      version: "2.1.200",
      ...fields,
      ...record,
    };
  };
  return {
    write,
    user: (content: unknown, more: Json = {}) => write({ type: "user", message: { role: "user", content }, ...more }),
    result: (call: string, text: string, more: Json = {}, isError = false) =>
      write({
        type: "user",
        message: {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: call, content: text, is_error: isError }],
        },
        ...more,
      }),
    assistant: (content: readonly unknown[], message: Json = {}, more: Json = {}) =>
      write({
        type: "assistant",
        message: {
          id: `msg_${name}_${number}_long_enough`,
          role: "assistant",
          model: "claude-opus-5-5",
          stop_reason: "end_turn",
          content,
          ...message,
        },
        ...more,
      }),
  };
}

export const mainWriter = () => writer("main", { isSidechain: false });
export const agentWriter = (id: string, more: Json = {}) => writer(id, { isSidechain: true, agentId: id, ...more });
export const text = (words: string) => ({ type: "text", text: words });
export const toolUse = (id: string, name: string, input: Json = {}) => ({ type: "tool_use", id, name, input });
export const agentCall = (id: string, prompt: string) =>
  toolUse(id, "Agent", { prompt, description: "Work", subagent_type: "general-purpose" });

/** Paths from the configuration folder; a list is a file of lines, anything else is a document. */
export type Files = Readonly<Record<string, readonly unknown[] | Json>>;

export function read(files: Files): { observations: Observation[]; problems: Problem[] } {
  const [observations, problems]: [Observation[], Problem[]] = [[], []];
  for (const [path, content] of Object.entries(files)) {
    const stream = claude.stream(path);
    if (stream === null) throw new Error(`no file of Claude Code's: ${path}`);
    const parser = stream.open({ path, bytes: 1 });
    const records = Array.isArray(content) ? content : [content];
    for (const [i, record] of records.entries()) {
      const line = typeof record === "string" ? record : JSON.stringify(record);
      const found = parser.push(new TextEncoder().encode(line), stream.shape === "document" ? 0 : i + 1);
      for (const observation of found.observations) observations.push(observation);
      for (const problem of found.problems) problems.push(problem);
    }
  }
  return { observations, problems };
}

export function forestOf(files: Files): Forest {
  return link(read(files).observations, { now: START + 86_400_000, liveness: () => "unknown" });
}

/** The tree of the one thread that the writers above create. */
export function treeFrom(files: Files) {
  return treeOf(forestOf(files), key.thread(SESSION), () => 0);
}
