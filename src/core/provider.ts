import type { EventDraft } from "./event.ts";
import type { Observation } from "./observation.ts";
import type { Problem } from "./problem.ts";

/** One product whose records we can read. Pure: it is told what bytes are where and says what they mean. */
export interface Provider {
  /** The scheme of its URIs. */
  readonly name: string;
  /** What people call it. */
  readonly product: string;
  /** Folders that may hold its records, in order. A missing one is not an error. */
  roots(env: Readonly<Record<string, string | undefined>>, home: string): readonly string[];
  /** What a file below a root is, by its path from there (with `/`); null for files that are none of ours. */
  stream(path: string): Stream | null;
  /** Sub-folders of a root worth walking; everything else there is left alone. */
  readonly folders: readonly string[];
  /** Could this be the id of a thread? Says no only to what can never be one. */
  isThreadId(id: string): boolean;
  isAgentId(id: string): boolean;
  /** Could this name an agent by its path, as `/root/alpha`? Left out where agents have none. */
  isAgentPath?(path: string): boolean;
  /** Whose price list its models are on. */
  readonly vendor: string;
  /** How its ids look, for a person who mistyped one. */
  readonly idForm: string;
  /** How its records look when they were carried here from elsewhere; left out where nobody carries them. */
  readonly portable?: Portable;
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

export interface Stream {
  /** `lines`: append-only, one record a line. `document`: one JSON value, replaced as a whole. */
  readonly shape: "lines" | "document";
  /** What it says holds only while it is there: a mark of a running process, say. */
  readonly fleeting?: true;
  /** Its lines are packed so. Such a file is cold: it is not appended to, and read as a whole when it changes. */
  readonly packed?: "zstd";
  /** What it is called wherever it lies. One that is gone was moved, packed or unpacked if another of that name is there, and only that one speaks then. */
  readonly called?: string;
  /** `saved` is what `save` gave when the same file was read up to some record; reading goes on after it. */
  open(file: SourceFile, saved?: unknown): Parser;
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
  /** `record` is one line without its end, or the whole document; `line` counts from 1. */
  push(record: Uint8Array, line: number): Findings;
  /** The same record as people want to read it. Call `push` first: it knows whose record it is. */
  events(record: Uint8Array, line: number): readonly EventDraft[];
  /** Its memory so far, as plain JSON. */
  save(): unknown;
}

export interface Findings {
  readonly observations: readonly Observation[];
  readonly problems: readonly Problem[];
}

export const NOTHING: Findings = { observations: [], problems: [] };
