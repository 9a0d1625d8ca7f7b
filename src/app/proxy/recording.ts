import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { TrafficRow } from "../../core/facts/traffic.ts";
import { DEFAULT_REDACTION, type RedactionRules, Redactor } from "../../core/redaction/redaction.ts";
import type { JsonObject } from "../../core/tools/json.ts";
import { isWithin } from "../../core/tools/recorded-path.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { ExchangeReader } from "../../providers/proxy/exchange.ts";
import type { Keeping } from "../../providers/proxy/kept.ts";
import { filedUnder } from "../../providers/proxy/naming.ts";
import { Recorder } from "../../transports/recorder.ts";
import type { MatchWindow } from "../settings/settings-table.ts";
import { redactedRow, withoutSecretsIn } from "./redacted.ts";
import { Unpacker } from "./unpack.ts";

/** What is told of an exchange, in the order in which it happens. */
export type Told =
  | { readonly is: "begun"; readonly id: string; readonly at: number; readonly question: Question }
  /** The bytes are valid until `tell` returns. */
  | { readonly is: "asked" | "answer"; readonly id: string; readonly at: number; readonly bytes: Uint8Array }
  | { readonly is: "asked-all"; readonly id: string; readonly at: number }
  | {
      readonly is: "answered";
      readonly id: string;
      readonly at: number;
      readonly status: number;
      readonly headers: readonly string[];
    }
  | {
      readonly is: "ended";
      readonly id: string;
      readonly at: number;
      readonly how: "finished" | "aborted" | "failed" | "timed-out" | "refused";
      readonly error: string | null;
    };

/**
 * The key lives as long as the process and is written nowhere: a plain hash of a short password could be found by
 * trying all of them. So hashes can be compared within one run of the proxy only.
 */
function sealer(): Keeping["seal"] {
  const key = randomBytes(32);
  return (value) => `[withheld:${createHmac("sha256", key).update(value).digest("hex").slice(0, 8)}]`;
}

type Question = Omit<ConstructorParameters<typeof ExchangeReader>[0], "request">;

export interface RecordingOptions {
  /** `recordings/proxy`. */
  readonly folder: string;
  readonly window: MatchWindow;
  /** Null: everything but secrets is kept. */
  readonly redaction: RedactionRules | null;
  readonly onTrouble: (error: Error) => void;
  /** Every row that was kept, for those who count along. */
  readonly onRow?: (row: TrafficRow) => void;
}

interface Running {
  readonly reader: ExchangeReader;
  readonly began: number;
  readonly day: string;
  readonly question: Question;
  asked: Uint8Array[];
  askedBytes: number;
  isAsked: boolean;
  file: RecordingFile | null;
  unpacker: Unpacker | null;
}

/** Longer bodies are passed on all the same, and kept as a number. */
const MAX_ASKED = 48 << 20;
/** Files that nobody wrote to for that many others are closed. */
const MAX_FILES = 64;
/** So many pieces of a file are remembered; an older one that comes again is written again. */
const MAX_PIECES = 10_000;

/**
 * Writes down exchanges while they run. A row each time something is known for good: a crash loses what was under way,
 * and no more.
 */
export class TrafficRecording {
  readonly #options: RecordingOptions;
  readonly #running = new Map<string, Running>();
  readonly #files = new Map<string, RecordingFile>();
  readonly #keeping: Keeping;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#keeping = { redactor: new Redactor(options.redaction ?? DEFAULT_REDACTION), seal: sealer() };
  }

  get running(): number {
    return this.#running.size;
  }

  tell(told: Told): void {
    if (told.is === "begun") {
      this.#begin(told);
      return;
    }
    const running = this.#running.get(told.id);
    if (running === undefined) return;
    switch (told.is) {
      case "asked":
        running.askedBytes += told.bytes.length;
        if (running.askedBytes <= MAX_ASKED) running.asked.push(new Uint8Array(told.bytes));
        break;
      case "asked-all":
        this.#asked(running, told.at);
        break;
      case "answered":
        this.#asked(running, told.at);
        running.unpacker = new Unpacker(headerIn(told.headers, "content-encoding"), (text, bytes, at) =>
          this.#text(running, text, bytes, at),
        );
        this.#write(running, running.reader.answered(told.status, told.headers), told.at);
        break;
      case "answer":
        running.unpacker?.push(told.bytes, told.at);
        break;
      case "ended":
        this.#end(running, told);
        break;
      default:
        told satisfies never;
    }
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #begin({ id, at, question }: Extract<Told, { is: "begun" }>) {
    this.#running.set(id, {
      reader: new ExchangeReader({ ...question, request: id }, this.#keeping),
      began: at,
      day: new Date(at).toISOString().slice(0, 10),
      question,
      asked: [],
      askedBytes: 0,
      isAsked: false,
      file: null,
      unpacker: null,
    });
  }

  /** The body is there, or will not come any more. */
  #asked(running: Running, at: number) {
    if (running.isAsked) return;
    running.isAsked = true;
    const isWhole = running.askedBytes <= MAX_ASKED;
    const text = isWhole ? bodyText(running.asked, headerIn(running.question.headers, "content-encoding")) : null;
    running.asked = [];
    const { row, pieces } = running.reader.asked(text, running.askedBytes);
    const { name, cwd } = filedUnder(PROVIDERS, row, running.day);
    running.file = this.#file(name);
    for (const piece of pieces) this.#write(running, piece, at);
    this.#write(running, { ...row, windowMs: windowFor(this.#options.window, row.upstream, cwd) }, running.began);
  }

  #text(running: Running, text: string, bytes: number, at: number) {
    for (const row of running.reader.text(text, bytes, at - running.began)) this.#write(running, row, at);
  }

  #end(running: Running, { id, at, how, error }: Extract<Told, { is: "ended" }>) {
    this.#asked(running, at);
    this.#running.delete(id);
    const finish = () => {
      for (const row of running.reader.ended(how, error, at - running.began)) this.#write(running, row, at);
    };
    if (running.unpacker === null) finish();
    else running.unpacker.end(finish);
  }

  #write(running: Running, row: TrafficRow, at: number) {
    const { redactor } = this.#keeping;
    const kept = this.#options.redaction === null ? withoutSecretsIn(row, redactor) : redactedRow(row, redactor);
    running.file?.write(kept, at);
    if (row.is !== "piece") this.#options.onRow?.(row);
  }

  #file(name: string): RecordingFile {
    const known =
      this.#files.get(name) ?? new RecordingFile(join(this.#options.folder, `${name}.jsonl`), this.#options.onTrouble);
    this.#files.delete(name);
    this.#files.set(name, known);
    const [oldest] = this.#files;
    if (this.#files.size > MAX_FILES && oldest !== undefined) {
      oldest[1].close();
      this.#files.delete(oldest[0]);
    }
    return known;
  }
}

/** One file of rows, in which every piece stands once. */
class RecordingFile {
  readonly #recorder: Recorder;
  readonly #pieces = new Set<string>();

  constructor(path: string, onTrouble: (error: Error) => void) {
    this.#recorder = new Recorder(path, onTrouble);
  }

  write(row: TrafficRow, at: number): void {
    if (row.is === "piece") {
      // The latest stay: requests repeat what the ones before them said.
      const isKnown = this.#pieces.delete(row.piece);
      this.#pieces.add(row.piece);
      const [oldest] = this.#pieces;
      if (this.#pieces.size > MAX_PIECES && oldest !== undefined) this.#pieces.delete(oldest);
      if (isKnown) return;
    }
    this.#recorder.note(row as unknown as JsonObject, at);
  }

  close(): void {
    this.#recorder.close();
  }
}

function bodyText(chunks: readonly Uint8Array[], encoding: string | null): string | null {
  let text = "";
  if (encoding === null) {
    const decoder = new StringDecoder("utf8");
    for (const chunk of chunks) text += decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    return text + decoder.end();
  }
  return Unpacker.whole(Buffer.concat(chunks), encoding);
}

function headerIn(headers: readonly string[], name: string): string | null {
  for (let i = 0; i + 1 < headers.length; i += 2)
    if (headers[i]?.toLowerCase() === name) return headers[i + 1]?.trim().toLowerCase() || null;
  return null;
}

/** The nearest of the user's words on it: on the project, on the upstream, on everything. */
function windowFor({ defaultMs, projects, hosts }: MatchWindow, upstream: string, cwd: string | null): number | null {
  const inside = [...projects].filter(([folder]) => cwd !== null && isWithin(cwd, folder));
  const [project] = inside.sort(([a], [b]) => b.length - a.length);
  const { host, hostname } = new URL(upstream);
  const given = [project?.[1], hosts.get(host), hosts.get(hostname)].find((window) => window !== undefined);
  return given === undefined ? defaultMs : given;
}
