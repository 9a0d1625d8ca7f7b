import type { EventDraft } from "./event.ts";
import type { Exchange } from "./exchange.ts";
import type { JsonObject } from "./json.ts";
import type { Observation } from "./observation.ts";
import type { Problem } from "./problem.ts";
import type { Dialect } from "./traffic.ts";

/** One product whose records we can read. Pure: it is told what bytes are where and says what they mean. */
export interface Provider {
  /** The scheme of its URIs. */
  readonly name: string;
  /** What people call it. */
  readonly product: string;
  /** What those who trace it call it, where that is not simply how people do. */
  readonly tracedAs?: string;
  /** Folders that may hold its records, in order. A missing one is not an error. The last part of a path may have a `*` in it, for all folders of such names. */
  roots(env: Readonly<Record<string, string | undefined>>, home: string): readonly string[];
  /** What a file below a root is, by its path from there (with `/`); null for files that are none of ours. */
  stream(path: string): Stream | null;
  /** How a transcript is read that a hook named and that lies outside of all roots, by its file name and its session. Left out where hooks name none. */
  beside?(file: string, session: string): Beside;
  /** The same for a recording: a file below `recordings/<name>`, in which what a live source said is kept (`core/recording.ts`). Left out where there are none. */
  recorded?(path: string): FileStream | null;
  /** How a command that runs the product is followed; null for commands of others. Left out where it cannot be. */
  wrap?(command: readonly string[]): Wrapping | null;
  /** What the product prints for programs to read; left out where we read nothing of the kind. */
  readonly printed?: Printed;
  /** How the product is told to call us; left out where it has no hooks. */
  readonly hooks?: HookSettings;
  /** `service.name` in its own OpenTelemetry, which `recorded` reads at `otlp/<day>.jsonl`; left out where it has none. */
  readonly telemetry?: string;
  /** How to follow a server of the product; left out where there is none. */
  readonly relay?: Relay;
  /** How its requests to an API are to be understood; left out where nobody knows. */
  readonly wire?: Dialect;
  /** Sub-folders of a root worth walking; everything else there is left alone. The empty name is the root itself. */
  readonly folders: readonly string[];
  /** Files that lie right in a root are looked at too, and a root may itself be a file. */
  readonly rootFiles?: true;
  /** Could this be the id of a thread? Says no only to what can never be one. */
  isThreadId(id: string): boolean;
  isAgentId(id: string): boolean;
  /** Could this name an agent by its path, as `/root/alpha`? Left out where agents have none. */
  isAgentPath?(path: string): boolean;
  /** Whose price list its models are on; null where they are of many, which the calls themselves name. */
  readonly vendor: string | null;
  /** What models thought is not in its output tokens but beside them, and costs the same. */
  readonly thoughtsBesideOutput?: true;
  /** How many times the standard price a call in fast mode costs; null where that is not known. */
  readonly fastFactor?: (model: string) => number | null;
  /** How its ids look, for a person who mistyped one. */
  readonly idForm: string;
  /** How its records look when they were carried here from elsewhere; left out where nobody carries them. */
  readonly portable?: Portable;
  /** Markup that the product wrote for its model, as a sentence for people; null for a text that is none. Left out where the product writes none. */
  inWords?(text: string): string | null;
  /** Where a thread is a tree of entries that have names of their own: the entry that stands in a line of its transcript, null where there is none. */
  entry?(record: Uint8Array): Entry | null;
}

/** Output of the product, one JSON value a line. */
export interface Printed {
  /** How it is made, for a person whose file is none. */
  readonly form: string;
  /** Whether a line is of this product: true or false where it shows, null where it does not. Other programs print JSON too, so only what nobody else prints counts. */
  recognise(said: JsonObject): boolean | null;
  /** Reads such output as it was printed. */
  readonly stream: FileStream;
}

/** A command that runs the product. */
export interface Wrapping {
  /** What it prints is a stream that `recorded` reads at `run/<id>.jsonl`. */
  readonly speaks: boolean;
  /** The same command, made to print such a stream; null where it cannot, as it wants a terminal. */
  readonly speaking: readonly string[] | null;
  /** What can be said to it while it runs, if it was made to listen; null where it never listens. */
  readonly control: Control | null;
}

/** What is written to the product's input to steer it. Left out where the product knows no such thing. */
export interface Control {
  /** The same command, made to listen, and what was to be asked on the command line, which has to be said now. */
  readonly listening: readonly string[];
  readonly first: string | null;
  send(text: string): Said;
  interrupt?(): Said;
  stop?(agent: string): Said;
  /** `call` is the one that made the agent. */
  background?(call: string): Said;
  /** What a line that it prints answers, if it does: what was said under this name, and what is wrong with it. */
  answerIn(line: string): { readonly id: string; readonly error: string | null } | null;
}

/** A line for the product's input. It answers those that have a name. */
export interface Said {
  readonly line: string;
  readonly id: string | null;
}

/** The product's settings, as far as its hooks are concerned. Pure: texts in, texts out. */
export interface HookSettings {
  /** The file, below the product's root. */
  readonly file: string;
  /** What the user has to do besides, if anything. */
  readonly next: string | null;
  /** The settings with hooks that run the command, and nothing else changed; null stands for no file. A sentence where the text cannot be read. */
  install(text: string | null, command: string): string | { readonly wrong: string };
  /** Without them, and nothing else changed. */
  uninstall(text: string): string | { readonly wrong: string };
  /** The commands of all hooks that stand in it. */
  commands(text: string): readonly string[];
}

/** Whether a hook's command is one of ours, wherever we were installed. */
export const isOwnHook = (command: string) => /\bretinue(?:\.js)?["']? hook\s*$/.test(command);

/** A transcript that lies alone, and what belongs to it. Paths are from its folder, with `/`. */
export interface Beside {
  /** Folders in which files of its agents may lie. */
  readonly folders: readonly string[];
  /** What `stream` would call the file if it lay below a root; null for files of others. */
  inRoot(path: string): string | null;
}

/** A part of a thread that can be named, and the one it follows. */
export interface Entry {
  readonly id: string;
  readonly type: string;
  /** Null for a beginning. */
  readonly parent: string | null;
  readonly at: number | null;
  /** What it says, to recognise it by. */
  readonly preview: string;
}

/** A server that tells what happens as it happens. The provider says what to ask and what to keep; asking and keeping is done elsewhere. */
export interface Relay {
  /** Where a server is as a rule, for help. */
  readonly address: string;
  /** Where it streams what happens: the first path that it has is followed. */
  readonly streams: readonly [RelayStream, ...RelayStream[]];
  /** The variable that holds its password, for help. */
  readonly secret: string;
  /** The header that lets us in; null where there is no secret. */
  authorization(env: Readonly<Record<string, string | undefined>>, given: Credentials | null): string | null;
  /** For one server, from now on. */
  follow(): Follower;
}

export interface RelayStream {
  /** Below the server's address. */
  readonly path: string;
  /** It sends something at least this often, whatever happens: where it does not, the connection is dead. */
  readonly silenceMs: number;
  /** What is not known where this one is followed, for people; null where everything is. */
  readonly limit: string | null;
}

export interface Credentials {
  readonly user: string | null;
  readonly password: string;
}

/** Knows what was heard of a server and what may have been missed. */
export interface Follower {
  /** A frame of the stream; the name of the recording that it belongs to, null where it is not worth keeping. */
  heard(frame: unknown): string | null;
  /** What cannot be known of this server, since it does not have the routes that tell; one sentence each, for people. */
  readonly limits: readonly string[];
  /** Something was heard of whose beginning nobody knows: it should be asked for soon. */
  readonly wonders: boolean;
  /** Asks for whatever may have been missed; after a gap for all that may have gone on in it. Returns whether everything was answered. */
  catchUp(gap: boolean): Generator<Step, boolean, Answered | null>;
}

/** Something to ask the server, or an answer worth keeping, and the recording that it belongs to. */
export type Step = { readonly ask: string } | { readonly keep: JsonObject; readonly in: string };

/** What the server answered, if it did; `asked` is when. */
export interface Answered {
  readonly status: number;
  readonly body: unknown;
  readonly asked: number;
}

/** What `retinue import` takes in. */
export interface Portable {
  /** What such a file is called and holds, for a person whose file is none. */
  readonly form: string;
  /**
   * What a file is, by its name and its first bytes: all of them, or more than any first record has. Null for what is surely none of ours.
   * Never throws, whatever the bytes are. What it makes of them are names for files: no `..`, no empty parts.
   */
  recognise(name: string, head: Uint8Array): Recognised | null;
}

export interface Recognised {
  /** The provider's own ids. */
  readonly thread: string;
  /** Null for the thread's own file. */
  readonly agent: string | null;
  /** Below a root, with `/`: holds this thread and nothing else. */
  readonly folder: string;
  /** Where the file goes in that folder, so that `stream` reads it. */
  readonly file: string;
  /** Files and folders beside it that belong to it if they are there, and where they go in the folder. */
  readonly beside: readonly { readonly name: string; readonly to: string }[];
  /** Names of files beside it that may be agents of the same thread, which they must say themselves. */
  readonly parts: RegExp | null;
}

export type Stream = FileStream | DatabaseStream;

interface Readable {
  /** `saved` is what `save` gave when the same file, or object of a database, was read up to some record; reading goes on after it. */
  open(file: SourceFile, saved?: unknown): Parser;
}

export interface FileStream extends Readable {
  /** `lines`: append-only, one record a line. `document`: one JSON value, replaced as a whole. */
  readonly shape: "lines" | "document";
  /** What it says holds only while it is there: a mark of a running process, say. */
  readonly fleeting?: true;
  /** Its lines are packed so. Such a file is cold: it is not appended to, and read as a whole when it changes. */
  readonly packed?: "zstd";
  /** Where else below the root the same file may lie: moved away, packed, unpacked. If it is gone here and there is one there, that one speaks instead. */
  readonly elsewhere?: readonly string[];
}

/**
 * A SQLite database that holds many objects (sessions, threads). Each is read like a file of its own, `<database>#<object>`: its rows are its records.
 * The provider says what to ask, having seen the schema; asking is the transport's work.
 */
export interface DatabaseStream extends Readable {
  readonly shape: "database";
  readonly fleeting?: never;
  readonly packed?: never;
  readonly elsewhere?: never;
  /** How to read a database that looks like this; a sentence for people where nobody knows. */
  plan(schema: DatabaseSchema): DatabasePlan | { readonly unknown: string };
}

export interface DatabaseSchema {
  readonly userVersion: number;
  /** The columns of every table, in small letters. */
  readonly tables: ReadonlyMap<string, readonly string[]>;
}

export interface Query {
  readonly sql: string;
  readonly values: readonly (string | number | null)[];
}

/** What a database has come to at a moment: whatever columns the query gives. */
export type Mark = Readonly<Record<string, string | number | null>>;

/** Every query must be answered by an index, or by few rows: databases have tens of gigabytes. */
export interface DatabasePlan {
  /** Every object there is: `object`, its id, and `revision`, which is another one whenever something of the object changed. Asked at first, and when `news` cannot tell. */
  readonly objects: Query;
  /** What else is in it that nobody knows to read, in a sentence for people. */
  readonly unread?: string;
  /** How to find what changed without asking about everything. */
  readonly news?: DatabaseNews;
  /** The records of an object that are new or changed since `saved` was saved: `row` names the record in the object, `position` orders them, `record` is its JSON. */
  rows(object: string, saved: unknown): Query;
  /** One of them. */
  row(object: string, row: string): Query;
  /** `bytes` the object has, and `intact`: 0 if records that were read before `saved` was saved are gone, so that the object must be read anew. */
  extent(object: string, saved: unknown): Query;
}

export interface DatabaseNews {
  /** One row. */
  readonly mark: Query;
  /** `object`: those that something new is known of. Null where asking for all of them is cheaper. */
  changed(since: Mark, now: Mark): Query | null;
  /** `lost`: 1 if objects are gone that were there at the mark. */
  lost(since: Mark): Query;
  /** Changes of this object may not be told by `changed`, so it is always looked at: there is something unfinished in it. */
  isOpen(saved: unknown, now: Mark): boolean;
}

export interface SourceFile {
  /** As it is shown to people. */
  readonly path: string;
  readonly bytes: number;
  /** When it was made, where the file system knows. */
  readonly bornMs?: number | null;
  /** It was written on another machine: no process of it can be seen from here, and none must be missed. */
  readonly isForeign?: true;
}

/**
 * Reads one file from its beginning, record by record. Synchronous and without I/O: the same records give the same findings.
 * Contract: never throws, whatever the bytes are.
 */
export interface Parser {
  /**
   * `record` is one line without its end, or the whole document; `line` counts from 1.
   * Where several records stand in one line, all come with its number, and `row` names each but the first.
   * Of a database it is one row: `row` names it, `line` is only its order, and the same row may come again when it has changed.
   */
  push(record: Uint8Array, line: number, row?: string): Findings;
  /** The same record as people want to read it. Call `push` first: it knows whose record it is. */
  events(record: Uint8Array, line: number, row?: string): readonly EventDraft[];
  /** Its memory so far, as plain JSON. */
  save(): unknown;
}

export interface Findings {
  readonly observations: readonly Observation[];
  readonly problems: readonly Problem[];
  /** For lines that tell how something stands by now: what earlier lines of the file said under these names (`FindingsOf.row`) is taken back. */
  readonly replaces?: readonly string[];
  /** Requests to an API that something new is known of. */
  readonly exchanges?: readonly Exchange[];
}

export const NOTHING: Findings = { observations: [], problems: [] };
