import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

export interface LoadOptions {
  readonly threads: number;
  /** Total for all threads. */
  readonly agents: number;
  /** The time of the next record. */
  readonly now?: () => number;
}

/** What was written, to check a reader's results. */
export interface Written {
  readonly records: number;
  readonly threads: number;
  readonly agents: number;
  /** Model calls, and their output tokens. */
  readonly calls: number;
  readonly outputTokens: number;
}

type Json = Readonly<Record<string, unknown>>;
const MODEL = "claude-sonnet-4-5-20250929";
const TEXT = "Now the next file is read, and what it says about the others is compared with what was found before. ";

/** Threads of Claude Code that grow concurrently, each with agents that are spawned, work and end. */
export class Load {
  readonly #threads: Thread[];
  #next = 0;

  constructor(home: string, { threads, agents, now = Date.now }: LoadOptions) {
    this.#threads = Array.from(
      { length: threads },
      (_, i) => new Thread(home, i, Math.floor(((i + 1) * agents) / threads) - Math.floor((i * agents) / threads), now),
    );
  }

  /** The transcript id of the first thread. */
  get first(): string {
    return this.#threads[0]?.id ?? "";
  }

  get ids(): readonly string[] {
    return this.#threads.map(({ id }) => id);
  }

  /** Appends this many records, spread over all threads. `progress` is the elapsed share of the time, from 0 to 1. */
  write(records: number, progress: number): void {
    for (let left = records; left > 0; left -= 1) {
      this.#threads[this.#next % this.#threads.length]?.step(progress);
      this.#next += 1;
    }
    this.flush();
  }

  /** Ends the work of all agents. */
  end(): void {
    for (const thread of this.#threads) thread.end();
    this.flush();
  }

  flush(): void {
    for (const thread of this.#threads) thread.flush();
  }

  get written(): Written {
    const sum = (of: (thread: Thread) => number) => this.#threads.reduce((total, thread) => total + of(thread), 0);
    return {
      records: sum((t) => t.records),
      threads: this.#threads.length,
      agents: sum((t) => t.spawned),
      calls: sum((t) => t.calls),
      outputTokens: sum((t) => t.outputTokens),
    };
  }
}

/** A thread with its agents; the thread and its running agents write in turn. */
class Thread {
  readonly id: string;
  readonly #folder: string;
  readonly #agents: number;
  readonly #main: Transcript;
  readonly #working: { readonly transcript: Transcript; readonly id: string; readonly call: string }[] = [];
  readonly #all: Transcript[];
  readonly #now: () => number;
  spawned = 0;
  #turn = 0;

  constructor(home: string, number: number, agents: number, now: () => number) {
    this.id = `50a50a50-0000-4000-8000-${String(number).padStart(12, "0")}`;
    this.#folder = join(home, ".claude/projects", `-home-dev-soak-${number}`);
    this.#agents = agents;
    this.#main = new Transcript(join(this.#folder, `${this.id}.jsonl`), this.id, null, now);
    this.#now = now;
    this.#all = [this.#main];
    this.#main.user(`Work on part ${number}.`);
  }

  get records(): number {
    return this.#all.reduce((sum, one) => sum + one.records, 0);
  }

  get calls(): number {
    return this.#all.reduce((sum, one) => sum + one.calls, 0);
  }

  get outputTokens(): number {
    return this.#all.reduce((sum, one) => sum + one.outputTokens, 0);
  }

  step(progress: number): void {
    // Agents are spawned one by one; if more than three are running, the oldest ends.
    if (this.spawned < Math.ceil(progress * this.#agents) && this.#main.isBetweenCalls) this.#spawn();
    else if (this.#working.length > 3) this.#finish();
    else {
      const all = [this.#main, ...this.#working.map(({ transcript }) => transcript)];
      all[this.#turn % all.length]?.step();
      this.#turn += 1;
    }
  }

  #spawn() {
    const id = `a${this.id.slice(-4)}${String(this.spawned).padStart(12, "0")}`;
    const call = `toolu_spawn_${id}`;
    const path = join(this.#folder, this.id, "subagents", `agent-${id}.jsonl`);
    this.#main.respond({
      type: "tool_use",
      id: call,
      name: "Agent",
      input: { description: `Task ${id}`, prompt: TEXT, subagent_type: "Explore" },
    });
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(
      path.replace(/jsonl$/, "meta.json"),
      JSON.stringify({ agentType: "Explore", description: `Task ${id}`, toolUseId: call, spawnDepth: 1 }),
    );
    const transcript = new Transcript(path, this.id, id, this.#now);
    transcript.user(TEXT);
    this.#all.push(transcript);
    this.#working.push({ transcript, id, call });
    this.spawned += 1;
  }

  #finish() {
    const one = this.#working.shift();
    if (one === undefined) return;
    one.transcript.end();
    one.transcript.flush();
    const content = [{ type: "text", text: TEXT }];
    this.#main.user([{ tool_use_id: one.call, type: "tool_result", content }], {
      toolUseResult: { status: "completed", agentId: one.id, content },
    });
  }

  end(): void {
    while (this.spawned < this.#agents) this.#spawn();
    while (this.#working.length > 0) this.#finish();
    this.#main.end();
  }

  flush(): void {
    for (const { transcript } of this.#working) transcript.flush();
    this.#main.flush();
  }
}

/** A growing transcript: a response in two records, then the tool result, and so on. */
class Transcript {
  readonly #path: string;
  readonly #session: string;
  readonly #agent: string | null;
  readonly #now: () => number;
  #lines: string[] = [];
  #previous: string | null = null;
  #open: string | null = null;
  #stage = 0;
  records = 0;
  calls = 0;
  outputTokens = 0;

  constructor(path: string, session: string, agent: string | null, now: () => number) {
    this.#path = path;
    this.#now = now;
    this.#session = session;
    this.#agent = agent;
    mkdirSync(dirname(path), { recursive: true });
  }

  get isBetweenCalls(): boolean {
    return this.#stage === 0;
  }

  step(): void {
    const call = `toolu_${this.#name()}`;
    if (this.#stage === 0) this.respond({ type: "text", text: TEXT });
    if (this.#stage === 1)
      this.#row({ type: "tool_use", id: call, name: "Read", input: { file_path: "/home/dev/index.ts" } });
    if (this.#stage === 2) this.user([{ tool_use_id: this.#open, type: "tool_result", content: TEXT.repeat(3) }]);
    this.#open = call;
    this.#stage = (this.#stage + 1) % 3;
  }

  end(): void {
    while (!this.isBetweenCalls) this.step();
    this.respond({ type: "text", text: "Done." }, "end_turn");
  }

  user(content: unknown, more: Json = {}): void {
    this.#put({ type: "user", message: { role: "user", content }, ...more });
  }

  respond(block: Json, stop = "tool_use"): void {
    this.calls += 1;
    this.outputTokens += this.#tokens();
    this.#row(block, stop);
  }

  /** All records of a response have its id and usage. */
  #row(block: Json, stop = "tool_use") {
    const usage = {
      input_tokens: 3,
      output_tokens: this.#tokens(),
      cache_creation_input_tokens: 200,
      cache_read_input_tokens: 15_000,
    };
    const id = `msg_${this.#agent ?? this.#session}_${this.calls}`;
    this.#put({
      type: "assistant",
      requestId: `req_${id}`,
      message: {
        id,
        type: "message",
        role: "assistant",
        model: MODEL,
        content: [block],
        stop_reason: stop,
        stop_sequence: null,
        usage,
      },
    });
  }

  #tokens = () => 100 + (this.calls % 50);
  #name = () => `${(this.#agent ?? this.#session).replaceAll("-", "")}${String(this.records).padStart(8, "0")}`;

  #put(record: Json) {
    const uuid = `${this.#name()}`;
    const who = this.#agent === null ? { isSidechain: false } : { isSidechain: true, agentId: this.#agent };
    const common = {
      cwd: "/home/dev/soak",
      sessionId: this.#session,
      version: "2.1.220",
      gitBranch: "main",
      userType: "external",
    };
    this.#lines.push(
      `${JSON.stringify({ parentUuid: this.#previous, ...who, ...record, uuid, timestamp: new Date(this.#now()).toISOString(), ...common })}\n`,
    );
    this.#previous = uuid;
    this.records += 1;
  }

  flush(): void {
    if (this.#lines.length > 0) appendFileSync(this.#path, this.#lines.join(""));
    this.#lines = [];
  }
}

/** One transcript with this many lines. */
export function writeLong(home: string, lines: number): Written {
  const load = new Load(home, { threads: 1, agents: 0 });
  for (let left = lines - 3; left > 0; left -= 10_000) load.write(Math.min(left, 10_000), 1);
  load.end();
  return load.written;
}
