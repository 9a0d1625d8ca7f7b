import { closeSync, mkdirSync, openSync, utimesSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Random, seeded } from "./random.ts";
import { fileSizes, usualFileCount } from "./sizes.ts";
import { Texts } from "./text.ts";

export interface HomeOptions {
  readonly bytes: number;
  readonly seed: number;
  /** Default: the number of sessions that the profile of file sizes yields for this many bytes. */
  readonly sessions?: number;
}

/** What was written, to check a reader's results. */
export interface HomeStats {
  readonly sessions: number;
  readonly agents: number;
  readonly files: number;
  readonly bytes: number;
  readonly lines: number;
  /** Model calls, and their output tokens. */
  readonly calls: number;
  readonly outputTokens: number;
  /** The session with the newest record, and its file. */
  readonly newest: { readonly id: string; readonly path: string };
}

/** Transcripts of agents per transcript of a session. */
const AGENTS_A_SESSION = 2;
const MAX_DEPTH = 3;
/** Share of sessions of versions that record every request, which makes up most of their bytes. */
const REQUESTS_SHARE = 0.35;
const MODELS = ["claude-opus-4-5-20251101", "claude-sonnet-4-5-20250929", "claude-haiku-4-5-20251001"];
const TOOLS = ["Read", "Bash", "Edit", "Grep", "Glob"];
const FIRST = Date.parse("2026-09-01T08:00:00.000Z");
const SPAN_MS = 60 * 86_400_000;

type Json = Readonly<Record<string, unknown>>;

/** An agent to write: its id, its size and its children. */
interface Plan {
  readonly id: string;
  readonly bytes: number;
  readonly children: Plan[];
  readonly depth: number;
  readonly background: boolean;
}

/** Writes a configuration folder of Claude Code with realistic file sizes. Equal options give equal bytes. */
export function writeHome(folder: string, { bytes, seed, sessions }: HomeOptions): HomeStats {
  const count = sessions ?? Math.max(1, Math.round(usualFileCount(bytes) / (1 + AGENTS_A_SESSION)));
  return new HomeWriter(folder, seed).write(fileSizes(bytes, count * (1 + AGENTS_A_SESSION), seed), count);
}

class HomeWriter {
  readonly #folder: string;
  readonly #random: Random;
  readonly #texts: Texts;
  #ids = 0;
  #stats = { sessions: 0, agents: 0, files: 0, bytes: 0, lines: 0, calls: 0, outputTokens: 0 };
  #newest = { id: "", path: "", at: 0 };

  constructor(folder: string, seed: number) {
    this.#folder = folder;
    this.#random = seeded(seed ^ 0x5eed);
    this.#texts = new Texts(this.#random);
  }

  write(sizes: readonly number[], sessions: number): HomeStats {
    const agents = this.#assignAgents(sizes.slice(sessions), sessions);
    for (let i = 0; i < sessions; i += 1)
      this.#writeSession(sizes[i] ?? 0, agents[i] ?? [], FIRST + Math.floor((SPAN_MS * i) / sessions), i);
    return { ...this.#stats, newest: { id: this.#newest.id, path: this.#newest.path } };
  }

  /** Most sessions have no agents, some have many; one agent in four is a child of another, up to three levels. */
  #assignAgents(sizes: readonly number[], sessions: number): Plan[][] {
    const plans = Array.from({ length: sessions }, () => ({ top: [] as Plan[], parents: [] as Plan[] }));
    const busy = plans.filter((_, i) => i === 0 || this.#random.chance(0.4));
    for (const bytes of sizes) {
      const { top, parents } = this.#random.of(busy);
      const parent = parents.length > 0 && this.#random.chance(0.25) ? this.#random.of(parents) : null;
      const depth = parent === null ? 1 : parent.depth + 1;
      const plan: Plan = { id: `a${this.#hex(16)}`, bytes, children: [], depth, background: this.#random.chance(0.3) };
      (parent?.children ?? top).push(plan);
      if (depth < MAX_DEPTH) parents.push(plan);
    }
    return plans.map(({ top }) => top);
  }

  #writeSession(bytes: number, agents: readonly Plan[], start: number, number: number) {
    const id = this.#uuid();
    const project = join(this.#folder, "projects", `-home-dev-project-${number % 40}`);
    const requests = this.#random.chance(REQUESTS_SHARE);
    const version = requests ? "2.1.325" : this.#random.of(["2.1.145", "2.1.197", "2.1.220", "2.1.280"]);
    const common = {
      userType: "external",
      entrypoint: "cli",
      cwd: `/home/dev/project-${number % 40}`,
      sessionId: id,
      version,
      gitBranch: "main",
    };
    const context: SessionContext = { id, subagents: join(project, id, "subagents"), common, requests };
    const path = join(project, `${id}.jsonl`);
    const end = this.#writeTranscript(context, { path, bytes, agent: null, children: agents, start });
    this.#stats.sessions += 1;
    if (end > this.#newest.at) this.#newest = { id, path, at: end };
  }

  #writeAgent(context: SessionContext, plan: Plan, toolUseId: string, parent: string | null, start: number): number {
    const path = join(context.subagents, `agent-${plan.id}.jsonl`);
    const meta = {
      agentType: "Explore",
      description: `Task ${plan.id}`,
      toolUseId,
      spawnDepth: plan.depth,
      ...(parent === null ? {} : { parentAgentId: parent }),
    };
    mkdirSync(context.subagents, { recursive: true });
    const metaPath = path.replace(/jsonl$/, "meta.json");
    writeFileSync(metaPath, JSON.stringify(meta));
    utimesSync(metaPath, start / 1_000, start / 1_000);
    this.#stats.agents += 1;
    return this.#writeTranscript(context, { path, bytes: plan.bytes, agent: plan.id, children: plan.children, start });
  }

  /** Writes turns until the file has its size; the agents are spawned in the first turns. */
  #writeTranscript(context: SessionContext, job: TranscriptJob): number {
    const out = new LineWriter(job.path);
    const random = this.#random;
    const model = random.of(MODELS);
    const pending = [...job.children];
    let [previous, at]: [string | null, number] = [null, job.start];
    const put = (record: Json) => {
      const uuid = this.#uuid();
      at += 200 + random.below(2_000);
      const who = job.agent === null ? { isSidechain: false } : { isSidechain: true, agentId: job.agent };
      out.put({
        parentUuid: previous,
        ...who,
        ...record,
        uuid,
        timestamp: new Date(at).toISOString(),
        ...context.common,
      });
      previous = uuid;
    };
    const user = (content: unknown, more: Json = {}) =>
      put({ type: "user", message: { role: "user", content }, ...more });

    user(this.#texts.some(100 + random.below(900)));
    for (let turn = 0; turn === 0 || pending.length > 0 || out.bytes < job.bytes; turn += 1) {
      if (context.requests) this.#putRequest(out, context, job.agent, at);
      const child = pending.shift();
      const call = `toolu_${this.#hex(24)}`;
      const use = child === undefined ? this.#toolUse(call) : spawnUse(call, child, this.#texts.some(300));
      this.#putResponse(put, model, use, turn);
      // The small files at the lower end of the profile are sessions that ended early.
      if (child === undefined && out.bytes >= job.bytes && turn > 0) break;
      if (child === undefined) {
        const body = this.#texts.some(random.chance(0.06) ? 20_000 : 300 + random.below(3_500));
        user([{ tool_use_id: call, type: "tool_result", content: body }], {
          toolUseResult: { type: "text", file: { filePath: "src/index.ts", content: body, numLines: 40 } },
        });
        continue;
      }
      const end = this.#writeAgent(context, child, call, job.agent, at);
      const result = {
        agentId: child.id,
        content: [{ type: "text", text: this.#texts.some(400) }],
        totalDurationMs: end - at,
      };
      const status = child.background ? "async_launched" : "completed";
      if (!child.background) at = Math.max(at, end);
      user([{ tool_use_id: call, type: "tool_result", content: result.content }], {
        toolUseResult: { status, ...result },
      });
      if (child.background) user(notification(child, call));
    }
    this.#putResponse(put, model, { type: "text", text: this.#texts.some(400) }, 0);
    out.close();
    // The modification time is that of the last record, because the newest files are read first.
    utimesSync(job.path, at / 1_000, at / 1_000);
    this.#stats.files += 1;
    this.#stats.bytes += out.bytes;
    this.#stats.lines += out.lines;
    return at;
  }

  /** One response in two or three records, all with its id and usage. */
  #putResponse(put: (record: Json) => void, model: string, last: Json, turn: number) {
    const random = this.#random;
    const [id, requestId] = [`msg_${this.#hex(24)}`, `req_${this.#hex(24)}`];
    const [output, written] = [20 + random.below(900), 200 + random.below(2_000)];
    const usage = {
      input_tokens: 3 + random.below(10),
      output_tokens: output,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: 15_000 + (turn % 600) * 250,
      cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
      service_tier: "standard",
    };
    const thinking = { type: "thinking", thinking: this.#texts.some(250), signature: this.#hex(200) };
    const blocks = [
      ...(random.chance(0.5) ? [thinking] : []),
      { type: "text", text: this.#texts.some(60 + random.below(400)) },
      last,
    ];
    const stop = last.type === "tool_use" ? "tool_use" : "end_turn";
    for (const block of blocks)
      put({
        type: "assistant",
        requestId,
        message: {
          id,
          type: "message",
          role: "assistant",
          model,
          content: [block],
          stop_reason: stop,
          stop_sequence: null,
          usage,
        },
      });
    this.#stats.calls += 1;
    this.#stats.outputTokens += output;
  }

  #toolUse(id: string): Json {
    const name = this.#random.of(TOOLS);
    return {
      type: "tool_use",
      id,
      name,
      input:
        name === "Bash"
          ? { command: this.#texts.some(80) }
          : { file_path: `/home/dev/src/${this.#random.below(500)}.ts` },
    };
  }

  /** Versions from 2.1.300 on record every request that they send. */
  #putRequest(out: LineWriter, { id, common }: SessionContext, agentId: string | null, at: number) {
    const head = { sessionId: id, ...(agentId === null ? {} : { agentId }) };
    const text = (length: number) => [{ type: "text", text: this.#texts.some(length) }];
    const stamp = { id: this.#uuid(), timestamp: new Date(at).toISOString(), version: common.version };
    out.put({
      type: "api-request-blob",
      ...head,
      hash: this.#hex(64),
      message: { role: "user", content: text(8_000 + this.#random.below(24_000)) },
    });
    out.put({
      type: "api-request",
      ...head,
      ...stamp,
      shapeHash: this.#hex(64),
      params: { model: MODELS[0], messages: Array.from({ length: 20 }, () => this.#hex(64)) },
    });
  }

  #hex(length: number): string {
    let text = "";
    while (text.length < length)
      text += Math.floor(this.#random.next() * 2 ** 32)
        .toString(16)
        .padStart(8, "0");
    return text.slice(0, length);
  }

  #uuid(): string {
    this.#ids += 1;
    return `${this.#hex(8)}-${this.#hex(4)}-4${this.#hex(3)}-8${this.#hex(3)}-${this.#ids.toString(16).padStart(12, "0")}`;
  }
}

interface SessionContext {
  readonly id: string;
  readonly subagents: string;
  readonly common: { readonly version: string } & Json;
  readonly requests: boolean;
}

interface TranscriptJob {
  readonly path: string;
  readonly bytes: number;
  readonly agent: string | null;
  readonly children: readonly Plan[];
  readonly start: number;
}

function spawnUse(id: string, child: Plan, prompt: string): Json {
  return {
    type: "tool_use",
    id,
    name: "Agent",
    input: { description: `Task ${child.id}`, prompt, subagent_type: "Explore", run_in_background: child.background },
  };
}

const notification = (child: Plan, call: string) =>
  `<task-notification>\n<task-id>${child.id}</task-id>\n<tool-use-id>${call}</tool-use-id>\n<status>completed</status>\n<summary>Agent "Task ${child.id}" completed</summary>\n</task-notification>`;

const PIECE = 1 << 20;

class LineWriter {
  readonly #file: number;
  #pending: string[] = [];
  #pendingLength = 0;
  bytes = 0;
  lines = 0;

  constructor(path: string) {
    mkdirSync(dirname(path), { recursive: true });
    this.#file = openSync(path, "w");
  }

  put(record: Json): void {
    const line = `${JSON.stringify(record)}\n`;
    this.#pending.push(line);
    this.#pendingLength += line.length;
    this.bytes += Buffer.byteLength(line);
    this.lines += 1;
    if (this.#pendingLength > PIECE) this.#flush();
  }

  close(): void {
    this.#flush();
    closeSync(this.#file);
  }

  #flush() {
    writeSync(this.#file, this.#pending.join(""));
    this.#pending = [];
    this.#pendingLength = 0;
  }
}
