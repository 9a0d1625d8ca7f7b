import type { Exchange } from "../facts/exchange.ts";
import type { Observation } from "../facts/observation.ts";
import type { Problem } from "../facts/problem.ts";
import type { JsonObject } from "../tools/json.ts";
import type { EventDraft } from "../views/event.ts";
import type { Attach } from "./attach.ts";
import type { Control } from "./control.ts";
import type { Dialect } from "./dialect.ts";
import type { Gate } from "./gate.ts";
import type { RelayPermissions } from "./relay-permissions.ts";

/**
 * A product whose records retinue reads. Pure: bytes in, observations out. Its folder declares it in a manifest
 * (`core/ports/manifest.ts`).
 */
export interface Provider {
  /** The scheme of its URIs. */
  readonly name: string;
  /** The product's name. */
  readonly product: string;
  /** The versions that were checked, for the documentation; null if it is not a product. */
  readonly versions: string | null;
  /** Written from the product's sources: no run of it was recorded. `doctor` and `versions` say so. */
  readonly isUnverified?: true;
  /** The page that describes its format, from the repository's root. */
  readonly docs: string;
  /** Its name in traces, if that differs. */
  readonly tracedAs?: string;
  /** The provider of the product that it is a fork of. Output that both print is attributed to that provider. */
  readonly forkOf?: string;
  /**
   * Folders that may contain its records, in order. A missing one is not an error. The last part of a path may contain
   * a `*`.
   */
  roots(env: Readonly<Record<string, string | undefined>>, home: string): readonly string[];
  /** A file of the product that lists more roots, such as those of its projects; omitted if there is none. */
  readonly rootList?: RootList;
  /** The same as text, for the documentation. */
  readonly rootsForm?: string;
  /**
   * If another product may use the same root: whether a file that begins like this is this product's. False while the
   * first line is incomplete.
   */
  isOwn?(head: Uint8Array): boolean;
  /** The stream of a file, by its path relative to a root (with `/`); null for other files. */
  stream(path: string): Stream | null;
  /**
   * How to read a transcript that a hook named outside of all roots, by its file name and session. Omitted if hooks
   * name none.
   */
  beside?(file: string, session: string): Beside;
  /**
   * The same for a recording: a file below `recordings/<name>` (`core/ports/recording.ts`). Omitted if there are none.
   */
  recorded?(path: string): FileStream | null;
  /** How to wrap a command that runs the product; null for other commands. Omitted if unsupported. */
  wrap?(command: readonly string[]): Wrapping | null;
  /** How it asks about its tool calls, if not by its control messages; omitted if unsupported. */
  readonly gate?: Gate;
  /** The product's machine-readable output; omitted if unsupported. */
  readonly printed?: Printed;
  /** The folder of the user's skills, each a folder with a `SKILL.md`; omitted if the product reads none. */
  skills?(env: Readonly<Record<string, string | undefined>>, home: string): string;
  /** How to install hooks; omitted if the product has none. */
  readonly hooks?: HookSettings;
  /** `service.name` in its OpenTelemetry data, which `recorded` reads at `otlp/<day>.jsonl`; omitted if it has none. */
  readonly telemetry?: string;
  /** How to continue one of its agents as a session of its own; omitted if unsupported. */
  readonly attach?: Attach;
  /** How to follow a server of the product; omitted if there is none. */
  readonly relay?: Relay;
  /** How to interpret its API requests; omitted if unknown. */
  readonly wire?: Dialect;
  /** Sub-folders of a root to read; others are ignored. The empty name is the root itself. */
  readonly folders: readonly string[];
  /** Also reads files directly in a root, and a root may be a file. */
  readonly rootFiles?: true;
  /** Whether this may be the id of a thread. Rejects only impossible ids. */
  isThreadId(id: string): boolean;
  isAgentId(id: string): boolean;
  /** Whether this may be the path of an agent, such as `/root/alpha`. Omitted if agents have no paths. */
  isAgentPath?(path: string): boolean;
  /** The vendor whose price list applies; null if there are several, named by the calls. */
  readonly vendor: string | null;
  /** Reasoning is not included in its output tokens, and has the same price. */
  readonly thoughtsBesideOutput?: true;
  /** Price factor of fast mode; null if unknown. */
  readonly fastFactor?: (model: string) => number | null;
  /** The form of its ids, for error messages. */
  readonly idForm: string;
  /** The form of its files for `import`; omitted if unsupported. */
  readonly portable?: Portable;
  /**
   * Converts markup that the product wrote for its model to a sentence; null if the text is not markup. Omitted if
   * there is none.
   */
  asSentence?(text: string): string | null;
  /** If a thread is a tree of named entries: the entry in a line of its transcript, or null. */
  entry?(record: Uint8Array): Entry | null;
}

/** Pure: the caller reads the file. A missing one is not an error. */
interface RootList {
  file(env: Readonly<Record<string, string | undefined>>, home: string): string;
  /** The folders in its text; none if it cannot be parsed. */
  rootsIn(text: string): readonly string[];
}

/** Machine-readable output of the product, one JSON value per line. */
export interface Printed {
  /** The command that prints it, for error messages. */
  readonly form: string;
  /** Whether this product printed the line; null if unclear. Only lines that no other program prints count. */
  recognise(json: JsonObject): boolean | null;
  /** Reads such output. */
  readonly stream: FileStream;
}

/** A command that runs the product. */
export interface Wrapping {
  /** Its output is a stream that `recorded` reads at `run/<id>.jsonl`. */
  readonly printsJson: boolean;
  /** The same command with such output; null if impossible: it is interactive, or prints no session id. */
  readonly withJsonOutput: readonly string[] | null;
  /** Messages that it accepts while running with machine-readable input; null if unsupported. */
  readonly control: Control | null;
  /** Omitted if its output names the thread at once. */
  readonly namesThread?: "last" | "never";
}

/** The product's hook settings. Pure: text in, text out. */
export interface HookSettings {
  /** The file, relative to the product's root. */
  readonly file: string;
  /** What the user has to do in addition, if anything. */
  readonly next: string | null;
  /**
   * The settings with hooks that run the command, otherwise unchanged; null means no file. An error if the text
   * cannot be parsed.
   */
  install(text: string | null, command: string, lineage?: boolean): string | { readonly wrong: string };
  /** The hooks are between marker lines, so that everything around them stays as it is. */
  readonly isMarked?: true;
  /** Whether a hook can name the agent in the environment of its shell commands (`lineage`). */
  readonly hasLineage?: true;
  /** The settings without retinue's hooks, otherwise unchanged; in another layout unless they are marked. */
  uninstall(text: string): string | { readonly wrong: string };
  /** The commands of all hooks in it. */
  commands(text: string): readonly string[];
}

/** Whether a hook's command runs retinue, wherever it is installed. */
export const isOwnHook = (command: string) => /\bretinue(?:\.js|\.cmd)?["']? hook(?: --lineage)?\s*$/.test(command);

/** A transcript outside of a root, and the files that belong to it. Paths are relative to its folder, with `/`. */
export interface Beside {
  /** Folders that may contain files of its agents. */
  readonly folders: readonly string[];
  /** The path that the file would have below a root; null for other files. */
  inRoot(path: string): string | null;
}

/** A named entry of a thread, and its parent entry. */
export interface Entry {
  readonly id: string;
  readonly type: string;
  /** Null for the first one. */
  readonly parent: string | null;
  readonly at: number | null;
  /** A short excerpt of its text. */
  readonly preview: string;
}

/** A server with an event stream. The provider decides what to request and record; the relay does it. */
export interface Relay {
  /** The usual address, for help texts. */
  readonly address: string;
  /** The event streams: the first one that exists is followed. */
  readonly streams: readonly [RelayStream, ...RelayStream[]];
  /** The environment variable of its password, for help texts. */
  readonly secret: string;
  /** The Authorization header; null without a password. */
  authorization(env: Readonly<Record<string, string | undefined>>, given: Credentials | null): string | null;
  /** Creates the state for one server. */
  follow(): Follower;
  /** How to answer its permission requests; omitted if unsupported. */
  readonly permissions?: RelayPermissions;
}

export interface RelayStream {
  /** Relative to the server's URL. */
  readonly path: string;
  /** Maximum time between two frames; after that the connection is dead. */
  readonly silenceMs: number;
  /** What this stream does not report, as a sentence; null if nothing. */
  readonly limit: string | null;
}

export interface Credentials {
  readonly user: string | null;
  readonly password: string;
}

/** Tracks what was received from a server and what may have been missed. */
export interface Follower {
  /** Processes a frame; returns the recording it belongs to, or null if it need not be recorded. */
  received(frame: unknown): string | null;
  /** What is not recorded of this server, because it lacks routes or has too many sessions; one sentence each. */
  readonly limits: readonly string[];
  /** Sessions beyond the limit are ignored, which is one of the `limits`. */
  readonly isFull: boolean;
  /** Something was mentioned whose beginning is unknown: it should be requested soon. */
  readonly needsCatchUp: boolean;
  /**
   * Requests what may have been missed; after a gap everything that may have changed. Returns whether all requests
   * succeeded.
   */
  catchUp(gap: boolean): Generator<Step, boolean, RelayResponse | null>;
}

/** A request to the server, or a response to record and its recording. */
export type Step = { readonly ask: string } | { readonly keep: JsonObject; readonly in: string };

/** A response of the server; `asked` is the time of the request. */
export interface RelayResponse {
  readonly status: number;
  readonly body: unknown;
  readonly asked: number;
}

/** Recognises files for `retinue import`. */
export interface Portable {
  /** The form of such a file, for error messages. */
  readonly form: string;
  /**
   * Recognises a file by its name and first bytes (at least the first record). Null if it is not one. Never throws. The
   * returned names are safe for file names: no `..`, no empty parts.
   */
  recognise(name: string, head: Uint8Array): Recognised | null;
}

export interface Recognised {
  /** The provider's ids. */
  readonly thread: string;
  /** Null for the thread's own file. */
  readonly agent: string | null;
  /** Relative to a root, with `/`: contains only this thread. */
  readonly folder: string;
  /** The file's path in that folder, such that `stream` reads it. */
  readonly file: string;
  /** Files and folders next to it that belong to it, and their paths in the folder. */
  readonly beside: readonly { readonly name: string; readonly to: string }[];
  /** Names of files next to it that may be agents of the same thread, which their content must confirm. */
  readonly parts: RegExp | null;
}

export type Stream = FileStream | DatabaseStream;

interface Readable {
  /** `saved` is the result of `save` after part of the file or object was read; reading continues from there. */
  open(file: SourceFile, saved?: unknown): Parser;
}

export interface FileStream extends Readable {
  /** `lines`: append-only, one record per line. `document`: one JSON value, rewritten as a whole. */
  readonly shape: "lines" | "document";
  /** Its content is valid only while it exists, such as a mark of a running process. */
  readonly fleeting?: true;
  /** Compression of the file. Such a file is not appended to, and is read as a whole when it changes. */
  readonly packed?: "zstd";
  /**
   * Other paths of the same file below the root: moved, packed or unpacked. If it is deleted here, the other one is
   * used.
   */
  readonly elsewhere?: readonly string[];
  /**
   * Files of a root with the same value are read together. Not needed for files in the folder named after a transcript.
   */
  readonly together?: string;
}

/**
 * A SQLite database with many objects (sessions, threads). Each is read like a file, `<database>#<object>`, with rows
 * as records. The provider returns the queries for a schema; the transport runs them.
 */
export interface DatabaseStream extends Readable {
  readonly shape: "database";
  readonly fleeting?: never;
  readonly packed?: never;
  readonly elsewhere?: never;
  readonly together?: never;
  /** The queries for this schema; an error message if it is unknown. */
  plan(schema: DatabaseSchema): DatabasePlan | { readonly unknown: string };
}

export interface DatabaseSchema {
  readonly userVersion: number;
  /** The columns of every table, in lower case. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
}

export interface Query {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** The state of a database at a moment: the columns of a query. */
export type Mark = Readonly<Record<string, string | number | null>>;

/** Every query must use an index or return few rows, because databases have tens of gigabytes. */
export interface DatabasePlan {
  /**
   * All objects: `object`, the id, and `revision`, which changes with the object. Used at first, and when `news` cannot
   * be used.
   */
  readonly objects: Query;
  /** Content that cannot be read, as a sentence. */
  readonly unread?: string;
  /** How to find changes without reading all objects. */
  readonly changes?: DatabaseChanges;
  /**
   * The records of an object that changed since `saved`: `row` names the record, `position` orders them, `record` is
   * its JSON.
   */
  rows(object: string, saved: unknown): Query;
  /** One record. */
  row(object: string, row: string): Query;
  /**
   * `bytes` of the object, and `intact`: 0 if records read before `saved` were deleted, so the object must be read
   * again.
   */
  extent(object: string, saved: unknown): Query;
}

interface DatabaseChanges {
  /** One row. */
  readonly mark: Query;
  /** `object`: those that changed. Null if reading all of them is cheaper. */
  changed(since: Mark, now: Mark): Query | null;
  /** `lost`: 1 if objects of the mark were deleted. */
  lost(since: Mark): Query;
  /** Changes of this object may be missing in `changed`, because it has unfinished work; it is always checked. */
  isOpen(saved: unknown, now: Mark): boolean;
}

export interface SourceFile {
  /** As shown to the user. */
  readonly path: string;
  readonly bytes: number;
  /** Creation time, if the file system knows it. */
  readonly bornMs?: number | null;
  /** It was written on another machine: its processes cannot be seen here. */
  readonly isForeign?: true;
}

/**
 * Reads one file from its beginning, record by record. Synchronous and without I/O: the same records give the same
 * findings. Never throws, whatever the bytes are.
 */
export interface Parser {
  /**
   * `record` is one line without its end, or the whole document; `line` counts from 1.
   * Several records in one line all have its number, and `row` names each but the first.
   * For a database it is one row: `row` names it, `line` is only its order, and a changed row is passed again.
   */
  push(record: Uint8Array, line: number, row?: string): Findings;
  /** The events of the same record. Call `push` first, which determines its agent. */
  events(record: Uint8Array, line: number, row?: string): readonly EventDraft[];
  /** The parser's state as plain JSON. */
  save(): unknown;
}

export interface Findings {
  readonly observations: readonly Observation[];
  readonly problems: readonly Problem[];
  /**
   * For lines that state the current state of something: the row names (`FindingsOf.row`) whose earlier facts in the
   * file are retracted.
   */
  readonly replaces?: readonly string[];
  /** New or changed API exchanges. */
  readonly exchanges?: readonly Exchange[];
  /** Their place, if each observation is numbered by its index in the list. */
  readonly place?: { readonly path: string; readonly line: number; readonly row?: string | undefined } | undefined;
}

export const NOTHING: Findings = { observations: [], problems: [] };
