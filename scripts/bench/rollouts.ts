import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { seeded } from "./random.ts";
import { fileSizes, usualFileCount } from "./sizes.ts";
import { Texts } from "./text.ts";

/** What was written, to check a reader's results. */
export interface RolloutStats {
  readonly files: number;
  readonly bytes: number;
  readonly lines: number;
  readonly calls: number;
  readonly outputTokens: number;
}

const MODEL = "gpt-5.1-codex";
const FIRST = Date.parse("2026-09-01T08:00:00.000Z");
const SPAN_MS = 60 * 86_400_000;

/**
 * Writes a configuration folder of Codex: one rollout per thread, with realistic file sizes. Equal options give equal
 * bytes.
 */
export function writeRollouts(
  folder: string,
  { bytes, seed }: { readonly bytes: number; readonly seed: number },
): RolloutStats {
  const random = seeded(seed ^ 0xc0de);
  const texts = new Texts(random);
  const stats = { files: 0, bytes: 0, lines: 0, calls: 0, outputTokens: 0 };
  const sizes = fileSizes(bytes, Math.max(1, usualFileCount(bytes)), seed);
  for (const [number, size] of sizes.entries()) {
    const rollout = new Rollout(FIRST + Math.floor((SPAN_MS * number) / sizes.length), number);
    rollout.begin(texts.some(200 + random.below(800)));
    do {
      rollout.call(`step ${texts.some(60)}`, texts.some(random.chance(0.06) ? 20_000 : 300 + random.below(3_500)));
      const output = 20 + random.below(900);
      rollout.count(3_000 + random.below(20_000), output);
      stats.calls += 1;
      stats.outputTokens += output;
    } while (rollout.bytes < size);
    rollout.end(texts.some(400));
    rollout.write(folder);
    stats.files += 1;
    stats.bytes += rollout.bytes;
    stats.lines += rollout.lines.length;
  }
  return stats;
}

/** One thread, line by line. */
class Rollout {
  readonly lines: string[] = [];
  readonly #id: string;
  readonly #start: number;
  readonly #total = {
    input_tokens: 0,
    cached_input_tokens: 0,
    output_tokens: 0,
    reasoning_output_tokens: 0,
    total_tokens: 0,
  };
  #at: number;
  bytes = 0;

  constructor(start: number, number: number) {
    this.#start = start;
    this.#at = start;
    this.#id = `01a1e000-0000-7000-8000-${String(number).padStart(12, "0")}`;
  }

  #put(type: string, payload: Readonly<Record<string, unknown>>) {
    this.#at += 700;
    const line = `${JSON.stringify({ timestamp: new Date(this.#at).toISOString(), type, payload })}\n`;
    this.lines.push(line);
    this.bytes += Buffer.byteLength(line);
  }

  begin(prompt: string): void {
    const common = {
      cwd: "/home/dev/project",
      originator: "codex_cli_rs",
      cli_version: "0.121.0",
      source: "cli",
      model_provider: "openai",
    };
    this.#put("session_meta", { id: this.#id, timestamp: new Date(this.#start).toISOString(), ...common });
    this.#put("event_msg", { type: "task_started", turn_id: `${this.#id}-turn`, model_context_window: 258_400 });
    this.#put("turn_context", {
      turn_id: `${this.#id}-turn`,
      cwd: common.cwd,
      approval_policy: "never",
      sandbox_policy: { type: "danger-full-access" },
      model: MODEL,
    });
    this.#put("response_item", { type: "message", role: "user", content: [{ type: "input_text", text: prompt }] });
    this.#put("event_msg", { type: "user_message", message: prompt, images: [] });
  }

  call(command: string, output: string): void {
    const id = `call_${this.#id.slice(-12)}${String(this.lines.length).padStart(8, "0")}`;
    this.#put("response_item", {
      type: "function_call",
      name: "exec_command",
      arguments: JSON.stringify({ cmd: command }),
      call_id: id,
    });
    this.#put("response_item", { type: "function_call_output", call_id: id, output });
  }

  /** The usage of one response, and the total so far. */
  count(input: number, output: number): void {
    const last = {
      input_tokens: input,
      cached_input_tokens: 0,
      output_tokens: output,
      reasoning_output_tokens: 0,
      total_tokens: input + output,
    };
    this.#total.input_tokens += input;
    this.#total.output_tokens += output;
    this.#total.total_tokens += input + output;
    const info = { total_token_usage: { ...this.#total }, last_token_usage: last, model_context_window: 258_400 };
    this.#put("event_msg", { type: "token_count", info, rate_limits: null });
  }

  end(response: string): void {
    this.#put("response_item", {
      type: "message",
      role: "assistant",
      content: [{ type: "output_text", text: response }],
    });
    this.#put("event_msg", { type: "agent_message", message: response });
    this.#put("event_msg", { type: "task_complete", turn_id: `${this.#id}-turn`, last_agent_message: response });
  }

  write(folder: string): void {
    const [day = "", time = ""] = new Date(this.#start).toISOString().slice(0, 19).split("T");
    const path = join(
      folder,
      "sessions",
      ...day.split("-"),
      `rollout-${day}T${time.replaceAll(":", "-")}-${this.#id}.jsonl`,
    );
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, this.lines.join(""));
    // The modification time is that of the last record, because the newest files are read first.
    utimesSync(path, this.#at / 1_000, this.#at / 1_000);
  }
}
