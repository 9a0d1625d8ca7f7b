import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import type { AgentDescribed } from "../../core/facts/observation.ts";
import { FindingsOf } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { asObject, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { readJsonLine } from "./lines.ts";

/** The time of a record, and its keys. */
export interface RecordHead {
  readonly at: number | null;
  readonly keys: readonly RecordKey[];
}

/** The events of a record, or a function that makes them: most records are read without them. */
export type RecordEvents = readonly EventDraft[] | (() => readonly EventDraft[]);

/** The transcript of one agent, with one JSON object per line. Products differ in what the objects mean. */
export abstract class TranscriptFile implements Parser {
  protected readonly agent: AgentKey;
  protected readonly file: SourceFile;
  /** The file was stated as a transcript of the agent. */
  protected isIntroduced: boolean;
  readonly #recordStart: RegExp;
  #last: { readonly line: number; readonly drafts: RecordEvents } | null = null;

  /** `recordStart` (with the flag `g`) matches the beginning of a record. `isIntroduced` is part of the saved state. */
  constructor(agent: AgentKey, file: SourceFile, recordStart: RegExp, isIntroduced = false) {
    this.agent = agent;
    this.file = file;
    this.isIntroduced = isIntroduced;
    this.#recordStart = recordStart;
  }

  abstract save(): unknown;
  protected abstract headOf(json: JsonObject | null, line: number): RecordHead;
  /** States what a record contains, and returns its events. */
  protected abstract read(out: FindingsOf, json: JsonObject, line: number): RecordEvents;

  /** Records that are not needed, recognised before they are parsed. */
  protected isSkipped(_: Uint8Array): boolean {
    return false;
  }

  push(record: Uint8Array, line: number): Findings {
    this.#last = { line, drafts: [] };
    if (this.isSkipped(record)) return NOTHING;
    const { value, problems } = readJsonLine(record, this.file.path, line, this.#recordStart);
    const json = asObject(value);
    const { at, keys } = this.headOf(json, line);
    const out = new FindingsOf({ path: this.file.path, line, at, speaker: this.agent, keys });
    out.addProblems(problems);
    if (json !== null) this.#last = { line, drafts: this.read(out, json, line) };
    else if (problems.length === 0) out.problem("record-malformed", "not an object");
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    const drafts = this.#last?.drafts ?? [];
    return typeof drafts === "function" ? drafts() : drafts;
  }

  /** States the file as a transcript of the agent, and what else is known of it; false if that was done before. */
  protected introduce(out: FindingsOf, known: Partial<AgentDescribed> = {}): boolean {
    if (this.isIntroduced) return false;
    this.isIntroduced = true;
    const { path, bytes, bornMs = null } = this.file;
    out.addOfFile({ type: "agent-described", agent: this.agent, file: { path, bytes, bornMs }, ...known });
    return true;
  }
}
