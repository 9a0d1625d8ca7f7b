import type { EventDraft } from "./event.ts";
import { FindingsOf, problemAt } from "./findings.ts";
import type { AgentKey } from "./ids.ts";
import { asObject, decodeText, type JsonObject, parseJson } from "./json.ts";
import { type FileStream, type Findings, NOTHING, type Parser, type SourceFile, type Wrapping } from "./provider.ts";
import { type Recorded, readRecorded } from "./recording.ts";
import { beganIn, type RunBegan } from "./run-note.ts";

/** What one product says to those who listen, line by line. The frame around it is the same for all: see `liveStream`. */
export interface LiveReader {
  /** The thread that a line names; null where it names none. */
  threadIn(said: JsonObject): AgentKey | null;
  /** Where to put a line that names no thread when no line before it did either; null where such a line says nothing. */
  unassignedIn?(said: JsonObject): AgentKey | null;
  /** By the product's own clock; null where the line carries no time. */
  timeIn(said: JsonObject): number | null;
  /** `at` is null where neither the line nor any before it carries a time. */
  read(out: FindingsOf, said: JsonObject, thread: AgentKey, at: number | null): void;
  events(said: JsonObject, thread: AgentKey, at: number | null): readonly EventDraft[];
  save(): unknown;
}

export interface LiveReaderOf {
  open(saved?: unknown): LiveReader;
  /** What the agent was asked on the command line, if that can be told. */
  promptIn(command: readonly string[]): string | null;
}

interface Memory {
  readonly thread: AgentKey | null;
  readonly began: RunBegan | null;
  readonly introduced: readonly AgentKey[];
  readonly reader: unknown;
  readonly at: number | null;
}

/** The recording of what a product says: what it prints when it is run, what it tells its hooks. */
export const liveStream = (of: LiveReaderOf): FileStream => ({ shape: "lines", open: (file, saved) => new LiveStream(of, readRecorded, file, saved) });

/** The same output as the product printed it, without the times at which lines arrived: a saved log, or what came through a pipe. */
export const printedStream = (of: LiveReaderOf): FileStream => ({ shape: "lines", open: (file, saved) => new LiveStream(of, asPrinted, file, saved) });

type Heard = { readonly at: number | null; readonly raw: unknown } | Recorded;

/** Anything else than JSON may stand in such a log: whatever a wrapper or the shell printed. */
const asPrinted = (record: Uint8Array): Heard => ({ at: null, raw: parseJson(decodeText(record).text)?.value });

/** The stream behind `<folder>/<name>.jsonl`, of those that a product has. */
export function liveAt(streams: Readonly<Record<string, FileStream>>, path: string): FileStream | null {
  const folder = /^([a-z]+)\/[^/]+\.jsonl$/.exec(path)?.[1];
  return folder === undefined || !Object.hasOwn(streams, folder) ? null : (streams[folder] ?? null);
}

class LiveStream implements Parser {
  readonly #of: LiveReaderOf;
  readonly #hear: (record: Uint8Array) => Heard | null;
  readonly #file: SourceFile;
  readonly #reader: LiveReader;
  readonly #introduced: Set<AgentKey>;
  #thread: AgentKey | null;
  #began: RunBegan | null;
  /** The last time that was told. */
  #at: number | null;
  /** Number of the last line that was handed to us. */
  #read = 0;

  constructor(of: LiveReaderOf, hear: (record: Uint8Array) => Heard | null, file: SourceFile, saved?: unknown) {
    // Written by `save` of this very version: an index of another one is not read.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#hear = hear;
    this.#file = file;
    this.#reader = of.open(memory?.reader);
    this.#introduced = new Set(memory?.introduced);
    this.#thread = memory?.thread ?? null;
    this.#began = memory?.began ?? null;
    this.#at = memory?.at ?? null;
  }

  save(): Memory {
    return { thread: this.#thread, began: this.#began, introduced: [...this.#introduced], reader: this.#reader.save(), at: this.#at };
  }

  push(record: Uint8Array, line: number): Findings {
    this.#read = line;
    const recorded = this.#hear(record);
    if (recorded === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    if ("note" in recorded) this.#began = beganIn(recorded.note) ?? this.#began;
    // A product may say other things than JSON, such as a warning: nobody knows what they mean.
    const said = "raw" in recorded ? asObject(recorded.raw) : null;
    if (said === null) return NOTHING;
    this.#thread = this.#reader.threadIn(said) ?? this.#thread;
    const thread = this.#thread ?? this.#reader.unassignedIn?.(said) ?? null;
    if (thread === null) return NOTHING;
    this.#at = this.#timeOf(said, recorded.at);
    const at = this.#at;
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker: thread, keys: [], live: true });
    this.#introduce(out, thread);
    this.#reader.read(out, said, thread, at);
    for (const speaker of new Set(out.observations.flatMap((o) => (o.type === "record" ? [o.speaker] : [])))) this.#place(out, speaker);
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#read !== line) this.push(record, line);
    const recorded = this.#hear(record);
    const said = recorded !== null && "raw" in recorded ? asObject(recorded.raw) : null;
    if (recorded === null || said === null) return [];
    const thread = this.#reader.threadIn(said) ?? this.#thread ?? this.#reader.unassignedIn?.(said) ?? null;
    return thread === null ? [] : this.#reader.events(said, thread, this.#timeOf(said, recorded.at));
  }

  /** By the product's clock, else by ours; in a log without our times, a line is as old as the one before it. */
  #timeOf = (said: JsonObject, heardAt: number | null): number | null => this.#reader.timeIn(said) ?? heardAt ?? this.#at;

  /** What we know of the thread ourselves: which process runs it, where, and what it was asked. */
  #introduce(out: FindingsOf, thread: AgentKey) {
    if (this.#introduced.has(thread)) return;
    this.#place(out, thread);
    if (this.#began === null) return;
    const { command, cwd, process } = this.#began;
    const prompt = this.#of.promptIn(command);
    const described = { ...(cwd === null ? {} : { cwd }), ...(prompt === null ? {} : { prompt }) };
    out.addOfFile({ type: "agent-described", agent: thread, ...described });
    if (this.#file.isForeign !== true) out.addOfFile({ type: "process-seen", thread, process, waitingFor: null });
  }

  /** Whoever speaks in it was read from it. */
  #place(out: FindingsOf, agent: AgentKey) {
    if (this.#introduced.has(agent)) return;
    this.#introduced.add(agent);
    out.addOfFile({ type: "agent-described", agent, file: { path: this.#file.path, bytes: this.#file.bytes, bornMs: null } });
  }
}

/** A sign of life that no message stands behind: that it began, or goes on. */
export const AT_WORK = { type: "record", role: "other", stands: "open", certain: true, calls: [], results: [], text: null, message: false } as const;

/** A turn of the thread is over, by the stream's own word. Where its records say how, they know better: an interruption ends a turn, too. */
export const turnEnded = (of: AgentKey, state: "completed" | "errored" | "shutdown", says: string, result: string | null = null) =>
  ({ type: "lifecycle", of, state, source: "protocol", says: says.split("\n")[0] ?? "", result, yields: true }) as const;

/** A product whose stream is only ever printed: it takes no words while it runs. */
export const speakingOnly = (speaks: boolean, speaking: readonly string[] | null): Wrapping => ({ speaks, speaking, control: null });
