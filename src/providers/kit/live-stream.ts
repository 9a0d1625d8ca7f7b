import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import type { RecordRead, Waits } from "../../core/facts/observation.ts";
import type { Origin } from "../../core/facts/origin.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import {
  type FileStream,
  type Findings,
  NOTHING,
  type Parser,
  type SourceFile,
  type Wrapping,
} from "../../core/ports/provider.ts";
import { type Recorded, readRecorded } from "../../core/ports/recording.ts";
import { type RefusalNote, refusalIn } from "../../core/ports/refusal-note.ts";
import { beganIn, type RunBegan } from "../../core/ports/run-note.ts";
import { asObject, decodeText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { RECORD } from "./record.ts";

/** Interprets the lines of one product's live source. `liveStream` has the part that all products share. */
export interface LiveReader {
  /** The thread that a line names; null if it names none. */
  threadIn(json: JsonObject): AgentKey | null;
  /** The agent for a line without a thread, if no earlier line named one; null if such a line is ignored. */
  unassignedIn?(json: JsonObject): AgentKey | null;
  /** The time of a line by the product's clock; null if it has none. */
  timeIn(json: JsonObject): number | null;
  /** `at` is null if neither the line nor any before it has a time. */
  read(out: FindingsOf, json: JsonObject, thread: AgentKey, at: number | null): void;
  events(json: JsonObject, thread: AgentKey, at: number | null): readonly EventDraft[];
  /** The call that retinue refused, and its thread. Omitted if the lines do not report the call itself. */
  refusedIn?(note: RefusalNote): { readonly thread: AgentKey; readonly call: CallKey };
  /** A request to a person in the line, or the end of one; null if it has none. */
  requestIn?(json: JsonObject, thread: AgentKey): Request | null;
  save(): unknown;
}

/** A request to a person by its id, from its beginning (`waits`) to its end (null). */
export interface Request {
  readonly id: string;
  readonly waits: Waits | null;
}

export interface LiveReaderOf {
  open(saved?: unknown): LiveReader;
  /** The prompt on the command line, if it can be determined. */
  promptIn(command: readonly string[]): string | null;
}

interface Memory {
  readonly thread: AgentKey | null;
  readonly began: RunBegan | null;
  readonly introduced: readonly AgentKey[];
  readonly reader: unknown;
  readonly at: number | null;
}

/** The recording of a live source: output of a wrapped command, or hook payloads. */
export const liveStream = (origin: LiveOrigin, of: LiveReaderOf): FileStream => ({
  shape: "lines",
  open: (file, saved) => new LiveStream({ ...of, origin, readLine: readRecorded }, file, saved),
});

/** The output of a command without arrival times: a saved log or a pipe. */
export const printedStream = (of: LiveReaderOf): FileStream => ({
  shape: "lines",
  open: (file, saved) => new LiveStream({ ...of, origin: "stream", readLine: asPrinted }, file, saved),
});

type LiveOrigin = Extract<Origin, "stream" | "hook" | "telemetry">;
interface LiveSource extends LiveReaderOf {
  readonly origin: LiveOrigin;
  readonly readLine: (record: Uint8Array) => ReadLine | null;
}

type ReadLine = { readonly at: number | null; readonly raw: unknown } | Recorded;

/** A log may contain lines that are not JSON; their value is undefined. */
const asPrinted = (record: Uint8Array): ReadLine => ({ at: null, raw: parseJson(decodeText(record).text)?.value });

/** The stream for `<folder>/<name>.jsonl`. */
export function liveAt(streams: Readonly<Record<string, FileStream>>, path: string): FileStream | null {
  const folder = /^([a-z]+)\/[^/]+\.jsonl$/.exec(path)?.[1];
  return folder === undefined || !Object.hasOwn(streams, folder) ? null : (streams[folder] ?? null);
}

class LiveStream implements Parser {
  readonly #of: LiveSource;
  readonly #file: SourceFile;
  readonly #reader: LiveReader;
  readonly #introduced: Set<AgentKey>;
  #thread: AgentKey | null;
  #began: RunBegan | null;
  /** The time of the last line that has one. */
  #at: number | null;
  /** Number of the last line read. */
  #read = 0;

  constructor(of: LiveSource, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#file = file;
    this.#reader = of.open(memory?.reader);
    this.#introduced = new Set(memory?.introduced);
    this.#thread = memory?.thread ?? null;
    this.#began = memory?.began ?? null;
    this.#at = memory?.at ?? null;
  }

  save(): Memory {
    return {
      thread: this.#thread,
      began: this.#began,
      introduced: [...this.#introduced],
      reader: this.#reader.save(),
      at: this.#at,
    };
  }

  push(record: Uint8Array, line: number): Findings {
    this.#read = line;
    const recorded = this.#of.readLine(record);
    if (recorded === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    if ("note" in recorded) this.#began = beganIn(recorded.note) ?? this.#began;
    const refusal = "note" in recorded ? refusalIn(recorded.note) : null;
    if (refusal !== null) return this.#refused(refusal, line, recorded.at);
    // Lines that are not JSON, such as warnings, are ignored.
    const json = "raw" in recorded ? asObject(recorded.raw) : null;
    if (json === null) return NOTHING;
    this.#thread = this.#reader.threadIn(json) ?? this.#thread;
    const thread = this.#thread ?? this.#reader.unassignedIn?.(json) ?? null;
    if (thread === null) return NOTHING;
    this.#at = this.#timeOf(json, recorded.at);
    const at = this.#at;
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker: thread, keys: [], origin: this.#of.origin });
    this.#introduce(out, thread);
    this.#reader.read(out, json, thread, at);
    const request = this.#reader.requestIn?.(json, thread) ?? null;
    const replaces = request === null ? [] : [`request ${request.id}`];
    if (request?.waits != null) this.#wait(out, request.waits, replaces[0], at, line);
    for (const speaker of new Set(out.observations.flatMap((o) => (o.type === "record" ? [o.speaker] : []))))
      this.#place(out, speaker);
    const { observations, problems } = out;
    return { observations, problems, ...(replaces.length === 0 ? {} : { replaces }) };
  }

  /** Retracted by the end of the request, which has the same row name. */
  #wait(whole: FindingsOf, waits: Waits, row: string | undefined, at: number | null, line: number) {
    const { origin } = this.#of;
    const of = { path: this.#file.path, line, row, at, speaker: waits.agent, keys: [], origin };
    new FindingsOf(of, whole).add(waits);
  }

  /** A spawn that retinue itself refused. */
  #refused(note: RefusalNote, line: number, at: number | null): Findings {
    const refused = this.#reader.refusedIn?.(note) ?? null;
    if (refused === null) return NOTHING;
    const { thread: speaker, call } = refused;
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker, keys: [], origin: this.#of.origin });
    out.add({ type: "call-refused", call, says: note.text });
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#read !== line) this.push(record, line);
    const recorded = this.#of.readLine(record);
    const json = recorded !== null && "raw" in recorded ? asObject(recorded.raw) : null;
    if (recorded === null || json === null) return [];
    const thread = this.#reader.threadIn(json) ?? this.#thread ?? this.#reader.unassignedIn?.(json) ?? null;
    return thread === null ? [] : this.#reader.events(json, thread, this.#timeOf(json, recorded.at));
  }

  /** By the product's clock, else the arrival time; in a log without times, the time of the previous line. */
  #timeOf = (json: JsonObject, receivedAt: number | null): number | null =>
    this.#reader.timeIn(json) ?? receivedAt ?? this.#at;

  /** States what retinue itself recorded about the thread: its process, folder and prompt. */
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

  /** States the recording as a source file of an agent, once per agent. */
  #place(out: FindingsOf, agent: AgentKey) {
    if (this.#introduced.has(agent)) return;
    this.#introduced.add(agent);
    out.addOfFile({
      type: "agent-described",
      agent,
      file: { path: this.#file.path, bytes: this.#file.bytes, bornMs: null },
    });
  }
}

/** A record that shows activity without a message: the agent began, or continues. */
export const AT_WORK: RecordRead = { ...RECORD, state: "open" };

/** The end of a turn, according to a live source. Transcripts take precedence: an interruption ends a turn, too. */
export const turnEnded = (
  of: AgentKey,
  state: "completed" | "errored" | "shutdown",
  says: string,
  result: string | null = null,
) =>
  ({
    type: "lifecycle",
    of,
    state,
    source: "protocol",
    says: says.split("\n")[0] ?? "",
    result,
    yields: true,
  }) as const;

/** How `run` wraps a command of a product without machine-readable input. */
export const outputOnly = (printsJson: boolean, withJsonOutput: readonly string[] | null): Wrapping => ({
  printsJson,
  withJsonOutput,
  control: null,
});
