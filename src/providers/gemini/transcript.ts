import { FindingsOf } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { readJsonLine } from "../kit/lines.ts";
import { Conversation } from "./conversation.ts";
import type { GeminiFile } from "./locate.ts";

const RECORD_START = /\{"(?:id|\$set|\$rewindTo|sessionId)":/g;

/** A session or an agent: `.jsonl` with a line per change, or `.json`, rewritten as a whole. */
export class Transcript implements Parser {
  readonly #conversation: Conversation;
  readonly #path: string;
  #last: { readonly line: number; readonly drafts: readonly EventDraft[] } | null = null;

  constructor(of: GeminiFile, file: SourceFile, saved?: unknown) {
    this.#conversation = new Conversation(of, file, saved);
    this.#path = file.path;
  }

  save(): unknown {
    return this.#conversation.save();
  }

  push(record: Uint8Array, line: number): Findings {
    this.#conversation.drafts = [];
    const { value, isRead, problems } = readJsonLine(record, this.#path, line, RECORD_START);
    const json = asObject(value);
    const out = new FindingsOf({ path: this.#path, line, at: null, speaker: this.#conversation.speaker, keys: [] });
    out.addProblems(problems);
    if (json !== null) this.#read(out, json, line);
    else if (isRead) out.problem("record-malformed", "not an object");
    this.#last = { line, drafts: this.#conversation.drafts };
    return out;
  }

  #read(out: FindingsOf, json: JsonObject, line: number) {
    const set = asObject(json.$set);
    if (set !== null) return this.#conversation.set(out, set, line);
    if (asNonBlank(json.$rewindTo) !== null) return this.#conversation.rewind(out, line);
    if (asNonBlank(json.sessionId) !== null && asNonBlank(json.id) === null) {
      this.#conversation.begin(out, json);
      return this.#conversation.set(out, json, line);
    }
    if (!this.#conversation.message(out, json, line, false))
      out.problem("record-malformed", "neither a message nor a change");
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    return this.#last?.drafts ?? [];
  }
}
