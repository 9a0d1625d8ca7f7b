import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** One thread with many agents, three levels deep, each with many events. */
export interface ThreadOptions {
  readonly agents: number;
  readonly eventsEach: number;
  /** Epoch milliseconds of its last record. */
  readonly ends: number;
}

export const THREAD_ID = "7e57ed00-0000-4000-8000-00000000be1c";
const FOLDER = "projects/-home-dev-bench";
/** Maximum number of children per agent, so that the tree has three levels. */
const FANOUT = 10;

const agentId = (n: number) => `a${String(n).padStart(16, "0")}`;
const parentOf = (n: number) => (n <= FANOUT ? null : Math.ceil((n - FANOUT) / FANOUT));
const depthOf = (n: number): number => ((parent) => (parent === null ? 1 : 1 + depthOf(parent)))(parentOf(n));
const callOf = (n: number) => `toolu_spawn_${String(n).padStart(8, "0")}`;
const agentPath = (home: string, n: number) =>
  join(home, ".claude", FOLDER, THREAD_ID, "subagents", `agent-${agentId(n)}.jsonl`);
const threadPath = (home: string) => join(home, ".claude", FOLDER, `${THREAD_ID}.jsonl`);

let records = 0;
function record(n: number | null, at: number, type: "user" | "assistant", content: unknown): string {
  records += 1;
  const who = n === null ? { isSidechain: false } : { isSidechain: true, agentId: agentId(n) };
  const usage = {
    input_tokens: 12,
    output_tokens: 240,
    cache_read_input_tokens: 12_000,
    cache_creation_input_tokens: 300,
  };
  const message =
    type === "user"
      ? { role: "user", content }
      : {
          id: `msg_bench_${records}_long_enough`,
          role: "assistant",
          model: "claude-opus-5-5",
          stop_reason: "end_turn",
          content,
          usage,
        };
  const fields = {
    parentUuid: null,
    uuid: `bench-record-${records}`,
    sessionId: THREAD_ID,
    timestamp: new Date(at).toISOString(),
    version: "2.1.325",
    cwd: "/home/dev/bench",
  };
  return `${JSON.stringify({ ...fields, ...who, type, message })}\n`;
}

const words = (n: number, seed: number) =>
  Array.from({ length: n }, (_, i) => WORDS[(i * 7 + seed * 13) % WORDS.length]).join(" ");
const WORDS =
  "parse the queue retry until it drains then report which refunds were sent twice and why so that nobody has to look again".split(
    " ",
  );

/** The transcript of an agent: a prompt, then tool calls, including spawn calls, with their results. */
function transcript(n: number | null, children: readonly number[], { eventsEach, ends }: ThreadOptions): string {
  const steps = Math.floor((eventsEach - 2) / 3);
  const started = ends - 600_000 + (n ?? 0) * 300;
  const at = (step: number) => started + Math.round((step / steps) * (ends - started));
  const lines = [record(n, started, "user", `Task ${n ?? "main"}: ${words(30, n ?? 0)}`)];
  for (let step = 0; step < steps; step += 1) {
    const child = children[step];
    const call =
      child === undefined
        ? {
            type: "tool_use",
            id: `toolu_${n ?? 0}_${step}_long_enough`,
            name: "Bash",
            input: { command: `grep -rn ${words(4, step)}`, description: words(5, step) },
          }
        : {
            type: "tool_use",
            id: callOf(child),
            name: "Agent",
            input: {
              prompt: `Task ${child}: ${words(30, child)}`,
              description: `Look at part ${child}`,
              subagent_type: "Explore",
            },
          };
    lines.push(record(n, at(step), "assistant", [{ type: "text", text: words(20, step) }, call]));
    lines.push(
      record(n, at(step) + 1, "user", [
        { type: "tool_result", tool_use_id: call.id, content: words(60, step), is_error: step % 17 === 3 },
      ]),
    );
  }
  lines.push(record(n, ends, "assistant", [{ type: "text", text: `Done: ${words(25, n ?? 0)}` }]));
  return lines.join("");
}

export function writeThread(home: string, options: ThreadOptions): void {
  const numbers = Array.from({ length: options.agents }, (_, i) => i + 1);
  const children = Map.groupBy(numbers, parentOf);
  mkdirSync(dirname(agentPath(home, 1)), { recursive: true });
  writeFileSync(threadPath(home), transcript(null, children.get(null) ?? [], options));
  for (const n of numbers) {
    writeFileSync(agentPath(home, n), transcript(n, children.get(n) ?? [], options));
    const meta = {
      agentType: "Explore",
      description: `Look at part ${n}`,
      toolUseId: callOf(n),
      spawnDepth: depthOf(n),
    };
    writeFileSync(agentPath(home, n).replace(/\.jsonl$/, ".meta.json"), JSON.stringify(meta));
  }
}

/** Appends a record to one agent. */
export function growThread(home: string, n: number): void {
  appendFileSync(
    agentPath(home, n),
    record(n, Date.now(), "assistant", [{ type: "text", text: `Still at it: ${words(20, n)}` }]),
  );
}
