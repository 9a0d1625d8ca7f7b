import type { AgentKey } from "../../core/facts/ids.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import {
  asCount,
  asNonBlank,
  asNumber,
  asObject,
  asTime,
  decodeText,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";
import * as key from "./keys.ts";

/** Lines that are needed; all others are not parsed. */
const NEEDED =
  /"msg":"(?:shell\.turn\.inference_done|startup complete|subagent spawn credentials|backend_search: model switch|prompt received|shell\.handle_prompt\.start)"/;
/** Maximum number of sessions and of processes in the saved state. */
const MAX_KNOWN = 500;

interface Memory {
  readonly models: readonly (readonly [string, string])[];
  readonly starts: readonly (readonly [number, number])[];
  readonly seen: readonly string[];
}

/** `logs/unified.jsonl`, one log for all sessions: the only place with the usage of every response, and with pids. */
export class Log implements Parser {
  readonly #file: SourceFile;
  /** The model of each session. */
  readonly #models: Map<string, string>;
  /** The start time of each process. */
  readonly #starts: Map<number, number>;
  /** Sessions whose process was stated. */
  readonly #seen: Set<string>;

  constructor(file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#file = file;
    this.#models = new Map(memory?.models);
    this.#starts = new Map(memory?.starts);
    this.#seen = new Set(memory?.seen);
  }

  save = (): Memory => ({
    models: [...this.#models].slice(-MAX_KNOWN),
    starts: [...this.#starts].slice(-MAX_KNOWN),
    seen: [...this.#seen].slice(-MAX_KNOWN),
  });
  events = () => [];

  push(record: Uint8Array, line: number): Findings {
    const { text } = decodeText(record);
    if (!NEEDED.test(text)) return NOTHING;
    const json = asObject(parseJson(text)?.value);
    if (json === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    const ctx = asObject(json.ctx) ?? {};
    const [at, sid, pid] = [asTime(json.ts), asNonBlank(json.sid), asNumber(json.pid)];
    const model = asNonBlank(ctx.effective_model_raw) ?? asNonBlank(ctx.new_model);
    const session = asNonBlank(ctx.subagent_id) ?? sid;
    if (model !== null && session !== null) this.#models.set(session, model);
    if (json.msg === "startup complete" && pid !== null && at !== null)
      this.#starts.set(pid, at - asCount(ctx.total_ms));
    if (sid === null) return NOTHING;
    const speaker = key.session(sid);
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker, keys: [] });
    this.#describe(out, speaker, json, sid, pid);
    if (json.msg === "shell.turn.inference_done") this.#readUsage(out, ctx, sid, asNonBlank(json.ts) ?? `line ${line}`);
    return out;
  }

  #describe(out: FindingsOf, agent: AgentKey, json: JsonObject, sid: string, pid: number | null) {
    const name = `${sid} ${pid}`;
    if (this.#seen.has(name)) return;
    this.#seen.add(name);
    const version = asNonBlank(json.ver);
    if (version !== null) out.add({ type: "agent-described", agent, productVersion: version });
    const started = pid === null ? undefined : this.#starts.get(pid);
    if (pid !== null && started !== undefined && this.#file.isForeign !== true)
      out.add({
        type: "process-seen",
        thread: agent,
        process: { pid, birth: null, domain: null, startedAt: started, bornAfter: started },
        waitingFor: null,
      });
  }

  /** The prompt includes what was read from a cache. */
  #readUsage(out: FindingsOf, ctx: JsonObject, sid: string, at: string) {
    const [prompt, cached] = [asCount(ctx.prompt_tokens), asCount(ctx.cached_prompt_tokens)];
    const response = key.response(sid, at, asCount(ctx.loop_index));
    out.part({ keys: [response] }).add({
      type: "model-call",
      response,
      model: this.#models.get(sid) ?? "",
      tokens: {
        inputTokens: Math.max(0, prompt - cached),
        outputTokens: asCount(ctx.completion_tokens),
        reasoningTokens: asCount(ctx.reasoning_tokens),
        cacheReadTokens: Math.min(prompt, cached),
        cacheWriteTokens: 0,
        cacheWrite1hTokens: 0,
      },
      chars: 0,
      ended: true,
    });
  }
}
