import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { StringDecoder } from "node:string_decoder";
import type { TrafficRow } from "../../core/facts/traffic.ts";
import { DEFAULT_REDACTION, type RedactionRules, Redactor } from "../../core/redaction/redaction.ts";
import type { JsonObject } from "../../core/tools/json.ts";
import { isWithin } from "../../core/tools/recorded-path.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { ExchangeReader } from "../../providers/proxy/exchange.ts";
import { recordingOf } from "../../providers/proxy/recording-name.ts";
import type { Sanitizer } from "../../providers/proxy/sanitize.ts";
import { Recorder } from "../../transports/recorder.ts";
import type { MatchWindow } from "../settings/settings-table.ts";
import { redactedRow, withoutSecretsIn } from "./redacted.ts";
import { Unpacker } from "./unpack.ts";

/** An event of an exchange, in order. */
export type ExchangeEvent =
  | { readonly is: "began"; readonly id: string; readonly at: number; readonly head: RequestStart }
  /** The bytes are valid until `handle` returns. */
  | {
      readonly is: "request-chunk" | "response-chunk";
      readonly id: string;
      readonly at: number;
      readonly bytes: Uint8Array;
    }
  | { readonly is: "request-end"; readonly id: string; readonly at: number }
  | {
      readonly is: "response-head";
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
 * The key exists only in memory, because a plain hash of a short password can be found by trial. So hashes are
 * comparable only within one run of the proxy.
 */
function sealer(): Sanitizer["seal"] {
  const key = randomBytes(32);
  return (value) => `[withheld:${createHmac("sha256", key).update(value).digest("hex").slice(0, 8)}]`;
}

type RequestStart = Omit<ConstructorParameters<typeof ExchangeReader>[0], "request">;

export interface RecordingOptions {
  /** `recordings/proxy`. */
  readonly folder: string;
  readonly window: MatchWindow;
  /** Null: only secrets are removed. */
  readonly redaction: RedactionRules | null;
  readonly onTrouble: (error: Error) => void;
  /** Called for each recorded row. */
  readonly onRow?: (row: TrafficRow) => void;
}

interface Running {
  readonly reader: ExchangeReader;
  readonly began: number;
  readonly day: string;
  readonly head: RequestStart;
  /** The chunks of the request body, until the request is recorded. */
  body: Uint8Array[];
  bodyBytes: number;
  /** The request itself is recorded. */
  isRequestRecorded: boolean;
  file: RecordingFile | null;
  unpacker: Unpacker | null;
}

/** Longer request bodies are forwarded, but only their size is recorded. */
const MAX_REQUEST_BODY = 48 << 20;
/** Maximum number of open files; the least recently used one is closed. */
const MAX_FILES = 64;
/** Maximum number of pieces remembered per file; an older one is written again if it recurs. */
const MAX_PIECES = 10_000;

/**
 * Records exchanges while they run. A row is written as soon as its content is final, so a crash loses only what was in
 * progress.
 */
export class TrafficRecording {
  readonly #options: RecordingOptions;
  readonly #running = new Map<string, Running>();
  readonly #files = new Map<string, RecordingFile>();
  readonly #sanitizer: Sanitizer;
  /** Responses that have ended and are still being decompressed. */
  #unpacking = 0;
  #onWritten: (() => void) | null = null;

  constructor(options: RecordingOptions) {
    this.#options = options;
    this.#sanitizer = { redactor: new Redactor(options.redaction ?? DEFAULT_REDACTION), seal: sealer() };
  }

  get running(): number {
    return this.#running.size;
  }

  handle(event: ExchangeEvent): void {
    if (event.is === "began") {
      this.#begin(event);
      return;
    }
    const running = this.#running.get(event.id);
    if (running === undefined) return;
    switch (event.is) {
      case "request-chunk":
        running.bodyBytes += event.bytes.length;
        if (running.bodyBytes <= MAX_REQUEST_BODY) running.body.push(new Uint8Array(event.bytes));
        break;
      case "request-end":
        this.#recordRequest(running, event.at);
        break;
      case "response-head":
        this.#recordRequest(running, event.at);
        running.unpacker = new Unpacker(headerIn(event.headers, "content-encoding"), (text, bytes, at) =>
          this.#text(running, text, bytes, at),
        );
        this.#write(running, running.reader.answered(event.status, event.headers), event.at);
        break;
      case "response-chunk":
        running.unpacker?.push(event.bytes, event.at);
        break;
      case "ended":
        this.#end(running, event);
        break;
      default:
        event satisfies never;
    }
  }

  /** Resolves when everything that has ended is written. */
  async written(): Promise<void> {
    if (this.#unpacking > 0) await new Promise<void>((resolve) => (this.#onWritten = resolve));
  }

  close(): void {
    for (const file of this.#files.values()) file.close();
    this.#files.clear();
  }

  #begin({ id, at, head }: Extract<ExchangeEvent, { is: "began" }>) {
    this.#running.set(id, {
      reader: new ExchangeReader({ ...head, request: id }, this.#sanitizer),
      began: at,
      day: new Date(at).toISOString().slice(0, 10),
      head,
      body: [],
      bodyBytes: 0,
      isRequestRecorded: false,
      file: null,
      unpacker: null,
    });
  }

  /** Records the request, once its body is complete or will not be completed. */
  #recordRequest(running: Running, at: number) {
    if (running.isRequestRecorded) return;
    running.isRequestRecorded = true;
    const isWhole = running.bodyBytes <= MAX_REQUEST_BODY;
    const text = isWhole ? bodyText(running.body, headerIn(running.head.headers, "content-encoding")) : null;
    running.body = [];
    const { row, pieces } = running.reader.asked(text, running.bodyBytes);
    const { name, cwd } = recordingOf(PROVIDERS, row, running.day);
    running.file = this.#file(name);
    for (const piece of pieces) this.#write(running, piece, at);
    this.#write(running, { ...row, windowMs: windowFor(this.#options.window, row.upstream, cwd) }, running.began);
  }

  #text(running: Running, text: string, bytes: number, at: number) {
    for (const row of running.reader.text(text, bytes, at - running.began)) this.#write(running, row, at);
  }

  #end(running: Running, { id, at, how, error }: Extract<ExchangeEvent, { is: "ended" }>) {
    this.#recordRequest(running, at);
    this.#running.delete(id);
    const finish = () => {
      for (const row of running.reader.ended(how, error, at - running.began)) this.#write(running, row, at);
    };
    if (running.unpacker === null) {
      finish();
      return;
    }
    this.#unpacking += 1;
    running.unpacker.end(() => {
      this.#unpacking -= 1;
      finish();
      if (this.#unpacking === 0) this.#onWritten?.();
    });
  }

  #write(running: Running, row: TrafficRow, at: number) {
    const { redactor } = this.#sanitizer;
    const redacted = this.#options.redaction === null ? withoutSecretsIn(row, redactor) : redactedRow(row, redactor);
    running.file?.write(redacted, at);
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

/** A file of rows that contains every piece once. */
class RecordingFile {
  readonly #recorder: Recorder;
  readonly #pieces = new Set<string>();

  constructor(path: string, onTrouble: (error: Error) => void) {
    this.#recorder = new Recorder(path, onTrouble);
  }

  write(row: TrafficRow, at: number): void {
    if (row.is === "piece") {
      // The most recent ones are remembered: requests repeat the messages of earlier ones.
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

/** The most specific setting: of the project, of the upstream, or the default. */
function windowFor({ defaultMs, projects, hosts }: MatchWindow, upstream: string, cwd: string | null): number | null {
  const inside = [...projects].filter(([folder]) => cwd !== null && isWithin(cwd, folder));
  const [project] = inside.sort(([a], [b]) => b.length - a.length);
  const { host, hostname } = new URL(upstream);
  const given = [project?.[1], hosts.get(host), hosts.get(hostname)].find((window) => window !== undefined);
  return given === undefined ? defaultMs : given;
}
