import type { AgentKey } from "../../../src/core/facts/ids.ts";
import { FindingsOf } from "../../../src/core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../../src/core/ports/provider.ts";
import { asNonBlank, asObject, decodeText, parseJson } from "../../../src/core/tools/json.ts";
import type { EventDraft } from "../../../src/core/views/event.ts";
import { readJsonLine } from "../../../src/providers/kit/lines.ts";
import * as key from "./keys.ts";
import { eventIn, readRecord, timeIn } from "./records.ts";

const RECORD_START = /\{"type":"/g;

/** `threads/<id>.jsonl`: the records of a thread and of all agents below it. */
export class Transcript implements Parser {
  readonly #thread: string;
  readonly #file: SourceFile;
  /** Agents that already have the file as a source. */
  readonly #introduced: Set<string>;

  constructor(thread: string, file: SourceFile, saved?: unknown) {
    this.#thread = thread;
    this.#file = file;
    // Written by `save` of the same version; the index is rebuilt for another one.
    this.#introduced = new Set(saved as string[] | undefined);
  }

  save(): readonly string[] {
    return [...this.#introduced];
  }

  push(record: Uint8Array, line: number): Findings {
    const { value, isRead, problems } = readJsonLine(record, this.#file.path, line, RECORD_START);
    const json = asObject(value);
    const speaker = key.agent(this.#thread, asNonBlank(json?.agent));
    const at = json === null ? null : timeIn(json);
    const out = new FindingsOf({ path: this.#file.path, line, at, speaker, keys: [] });
    out.problems.push(...problems);
    if (json !== null) {
      this.#introduce(out, speaker);
      readRecord(out, json, key.thread(this.#thread));
    } else if (isRead) out.problem("record-malformed", "not an object");
    return out;
  }

  events(record: Uint8Array): readonly EventDraft[] {
    const json = asObject(parseJson(decodeText(record).text)?.value);
    const event = json === null ? null : eventIn(json, key.thread(this.#thread), timeIn(json));
    return event === null ? [] : [event];
  }

  #introduce(out: FindingsOf, agent: AgentKey) {
    if (this.#introduced.has(agent)) return;
    this.#introduced.add(agent);
    const { path, bytes, bornMs = null } = this.#file;
    out.addOfFile({ type: "agent-described", agent, file: { path, bytes, bornMs } });
  }
}
