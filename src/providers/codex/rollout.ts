import type { EventDraft } from "../../core/event.ts";
import { FindingsOf, problemAt } from "../../core/findings.ts";
import { asObject, asText, asWords, decodeText, type JsonObject, parseJson } from "../../core/json.ts";
import type { RecordRead, Stand, TotalStated } from "../../core/observation.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/provider.ts";
import { awaits, Collab } from "./collab.ts";
import { eventsOf } from "./events.ts";
import { History } from "./history.ts";
import { introduce } from "./identity.ts";
import * as key from "./keys.ts";
import { isKnown } from "./known.ts";
import { type Mail, mailIn } from "./mail.ts";
import { itemOf, type Row, readRow, textOf } from "./rows.ts";
import { errorWords } from "./status.ts";
import { type Counted, TokenCounter } from "./tokens.ts";
import { type ToolUse, toolUseIn } from "./tools.ts";

/** What the path of a rollout tells. */
export interface RolloutOf {
  readonly thread: string;
  /** Of the file, wherever it lies. */
  readonly name: string;
}

interface Memory {
  readonly identified: boolean;
  readonly placed: boolean;
  readonly goesOn: boolean;
  readonly path: string | null;
  readonly parent: string | null;
  readonly model: string;
  readonly hasTurns: boolean;
  readonly isOpen: boolean;
  readonly said: string | null;
  readonly isToldEncrypted: boolean;
  readonly answers: number;
  readonly counted: number;
  readonly inAnswer: boolean;
  readonly history: unknown;
  readonly tokens: unknown;
  readonly collab: unknown;
}

/** Of no use here, and large: passed over by their first bytes. */
const PASSED_OVER = /^\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"world_state"/;
const HEAD_BYTES = 96;
const decoder = new TextDecoder();

/** One thread's file, `rollout-<time>-<thread>.jsonl`: what the thread did, and before that, in a fork, what its ancestors did. */
export class Rollout implements Parser {
  readonly #of: RolloutOf;
  readonly #file: SourceFile;
  readonly #thread: string;
  #identified: boolean;
  #placed: boolean;
  /** A fork that keeps its history in another file goes on from that file's total. Where the first line is lost, it may be one. */
  #goesOn: boolean;
  /** What its parent calls it. */
  #path: string | null;
  /** Whose call made it, until its first task shows which. */
  #parent: string | null;
  #model: string;
  /** Since 0.107 the product writes down where turns begin and end. */
  #hasTurns: boolean;
  #isOpen: boolean;
  /** The last thing said in this turn. */
  #said: string | null;
  #isToldEncrypted: boolean;
  #answers: number;
  /** The last of them whose tokens were told. */
  #counted: number;
  #inAnswer: boolean;
  readonly #history: History;
  readonly #tokens: TokenCounter;
  readonly #collab: Collab;
  #last: { readonly line: number; readonly row: Row } | null = null;
  /** The line of the record at hand, with its place in it where another record stands before it. */
  #record = "";

  constructor(of: RolloutOf, file: SourceFile, saved?: unknown) {
    // Written by `save` of this very version: an index of another one is not read.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#file = file;
    this.#thread = of.thread;
    this.#identified = memory?.identified ?? false;
    this.#placed = memory?.placed ?? false;
    this.#goesOn = memory?.goesOn ?? true;
    this.#path = memory?.path ?? null;
    this.#parent = memory?.parent ?? null;
    this.#model = memory?.model ?? "";
    this.#hasTurns = memory?.hasTurns ?? false;
    this.#isOpen = memory?.isOpen ?? false;
    this.#said = memory?.said ?? null;
    this.#isToldEncrypted = memory?.isToldEncrypted ?? false;
    this.#answers = memory?.answers ?? 0;
    this.#counted = memory?.counted ?? 0;
    this.#inAnswer = memory?.inAnswer ?? false;
    this.#history = new History(this.#thread, memory?.history);
    this.#tokens = new TokenCounter(this.#thread, memory?.tokens);
    this.#collab = new Collab(this.#thread, memory?.collab);
  }

  save(): Memory {
    return {
      identified: this.#identified,
      placed: this.#placed,
      goesOn: this.#goesOn,
      path: this.#path,
      parent: this.#parent,
      model: this.#model,
      hasTurns: this.#hasTurns,
      isOpen: this.#isOpen,
      said: this.#said,
      isToldEncrypted: this.#isToldEncrypted,
      answers: this.#answers,
      counted: this.#counted,
      inAnswer: this.#inAnswer,
      history: this.#history.save(),
      tokens: this.#tokens.save(),
      collab: this.#collab.save(),
    };
  }

  push(record: Uint8Array, line: number, name?: string): Findings {
    this.#last = null;
    this.#record = name ?? String(line);
    if (PASSED_OVER.test(decoder.decode(record.subarray(0, HEAD_BYTES)))) return NOTHING;
    const { text, isUtf8 } = decodeText(record);
    const whole = parseJson(text);
    const json = asObject((whole ?? tornOff(text))?.value);
    if (json === null && whole === null) return this.#damaged(problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`), line);
    const row = json === null ? null : readRow(json);
    if (row === null)
      return this.#damaged(problemAt(this.#file.path, line, "record-malformed", json === null ? "not an object" : "no type or no payload"), line);
    if (!isKnown(row)) return this.#damaged(problemAt(this.#file.path, line, "record-unknown", row.type), line);
    // Of a number that may be damaged nothing is counted: the next total makes up for it.
    const isDoubtful = !isUtf8 && COUNTS.has(row.type);
    const found = isDoubtful ? this.#findings(line, null, []) : this.#read(row, line);
    if (whole === null) found.problem("line-not-json", `${record.length} bytes; the whole record at its end was read`);
    if (!isUtf8) found.problem("text-not-utf8", `${record.length} bytes`);
    return found;
  }

  events(record: Uint8Array, line: number, name?: string): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line, name);
    if (this.#last?.line !== line) return [];
    const { row } = this.#last;
    return eventsOf(row, { thread: this.#thread, keys: this.#keysOf(row), response: isAnswerRow(row) ? this.#answerKey() : null });
  }

  /** A file that cannot be read as it is is still there, and its name says whose it is. */
  #damaged(found: Findings, line: number): Findings {
    if (this.#placed) return found;
    const out = this.#findings(line, null, []);
    this.#place(out);
    return { observations: out.observations, problems: found.problems };
  }

  #place(out: FindingsOf) {
    this.#placed = true;
    const file = { path: this.#file.path, bytes: this.#file.bytes, bornMs: this.#file.bornMs ?? null };
    out.addOfFile({ type: "agent-described", agent: key.thread(this.#thread), file });
  }

  #findings(line: number, at: number | null, keys: FindingsKeys): FindingsOf {
    return new FindingsOf({ path: this.#file.path, line, at, speaker: key.thread(this.#thread), keys });
  }

  #read(row: Row, line: number): FindingsOf {
    if (row.type === "session_meta" && this.#isIdentity(row)) return this.#identify(row, line);
    const isOwn = this.#history.isOwn(row);
    if (!isOwn && row.type === "event_msg/token_count") this.#tokens.inherit(row.payload);
    const isTold = isOwn && !this.#isToldOfAnother(row);
    if (isTold) this.#count(row);
    const out = this.#findings(line, row.at, isTold ? this.#keysOf(row) : []);
    if (!this.#placed) this.#place(out);
    if (!isTold) return out;
    this.#last = { line, row };
    this.#readOwn(out, row);
    return out;
  }

  /** The first line of a file is of the thread it is called after; a fork's ancestors come later. */
  #isIdentity({ payload }: Row): boolean {
    return !this.#identified && asWords(payload.id)?.toLowerCase() === this.#thread;
  }

  #identify(row: Row, line: number): FindingsOf {
    this.#identified = true;
    this.#placed = true;
    this.#history.begin(row);
    this.#goesOn = row.payload.history_base != null;
    const out = this.#findings(line, row.at, [key.line(this.#of.name, this.#record)]);
    const { path, parent } = introduce(out, row.payload, this.#thread, this.#file);
    this.#path = path;
    this.#parent = parent;
    return out;
  }

  /** A review's turns are told of in its parent's file as well, and a fork is told how its parent's turn ended. */
  #isToldOfAnother(row: Row): boolean {
    const whose = asWords(row.payload.thread_id);
    if (itemOf(row) !== null && whose !== null) return whose.toLowerCase() !== this.#thread;
    return (row.type === "event_msg/task_complete" || row.type === "event_msg/turn_aborted") && this.#history.isForeignTurn(asWords(row.payload.turn_id));
  }

  /** The lines of an answer have nothing in common but that they follow each other. */
  #count(row: Row) {
    if (isAnswerRow(row)) {
      if (!this.#inAnswer) this.#answers += 1;
      this.#inAnswer = true;
    } else if (!BETWEEN.has(row.type)) this.#inAnswer = false;
  }

  #answerKey = () => key.answer(this.#of.name, this.#answers);
  #keysOf = (row: Row) => [key.line(this.#of.name, this.#record), ...(isAnswerRow(row) ? [this.#answerKey()] : [])];

  #readOwn(out: FindingsOf, row: Row) {
    const { type, payload } = row;
    const mail = mailIn(row);
    if (mail !== null) return this.#readMail(out, mail);
    const use = toolUseIn(row, this.#thread);
    if (use !== null) return this.#readTool(out, row, use);
    switch (type) {
      case "turn_context":
        this.#model = asWords(payload.model) ?? this.#model;
        return;
      case "event_msg/task_started":
        return this.#began(out);
      case "event_msg/task_complete":
        return this.#completed(out, row);
      case "event_msg/turn_aborted":
        return this.#aborted(out, asWords(payload.reason) ?? "no reason is given");
      case "event_msg/token_count":
        // Before it got any answer, it can only be told what its parent had used.
        if (this.#answers === 0 && !this.#tokens.hasRecords) return this.#tokens.inherit(payload);
        this.#used(out, this.#tokens.total(payload));
        return this.#stated(out, this.#tokens.totalInCount(payload, this.#goesOn));
      case "token_usage_record":
        this.#used(out, this.#tokens.record(payload));
        return this.#stated(out, this.#tokens.totalInRecord(payload, this.#goesOn));
      case "event_msg/thread_name_updated": {
        const title = asWords(payload.thread_name) ?? asWords(payload.name);
        if (title !== null) out.addOfFile({ type: "thread-titled", of: key.thread(this.#thread), title, rank: 0 });
        return;
      }
      case "event_msg/user_message":
        return this.#asked(out, asText(payload.message) ?? "");
      case "response_item/message":
        return this.#message(out, row);
      case "compacted":
        return out.add(SIGN_OF_LIFE);
      case "event_msg/entered_review_mode":
        return this.#reviewed(out, payload);
      default:
        return this.#readItem(out, row);
    }
  }

  #readItem(out: FindingsOf, row: Row) {
    this.#collab.noted(out, row);
    const item = itemOf(row);
    if (item?.type === "UserMessage") this.#asked(out, textOf(item.json.content));
    if (item?.type === "EnteredReviewMode") this.#reviewed(out, item.json);
  }

  #reviewed(out: FindingsOf, json: JsonObject) {
    this.#prompt(out, `Review ${asWords(json.user_facing_hint) ?? "changes"}`);
  }

  #readMail(out: FindingsOf, mail: Mail) {
    this.#collab.told(out, mail);
    const isToMe = mail.is !== "result" && (this.#path === null || mail.recipient === this.#path);
    if (isToMe && mail.is === "task") this.#prompt(out, mail.text);
    out.add({ ...SIGN_OF_LIFE, role: "user", stands: this.#stand("open"), message: isToMe });
  }

  #prompt(out: FindingsOf, text: string | null) {
    const agent = key.thread(this.#thread);
    if (text !== null) return out.add({ type: "agent-described", agent, prompt: text });
    if (!this.#isToldEncrypted) out.addOfFile({ type: "agent-described", agent, warning: "its task text is encrypted by Codex and cannot be shown" });
    this.#isToldEncrypted = true;
  }

  #readTool(out: FindingsOf, { payload, type }: Row, { is, call, name, input, text, isError }: ToolUse) {
    if (is === "call") {
      out.planned(input);
      out.add({ ...SIGN_OF_LIFE, role: "assistant", stands: this.#stand("open"), calls: [{ call, name: name ?? "", ...awaits(payload) }], message: true });
      this.#collab.called(out, payload, this.#path ?? "/root");
    } else if (is === "result") {
      out.add({ ...SIGN_OF_LIFE, role: "user", stands: this.#stand("open"), results: [{ call, isError }] });
      if (type === "response_item/function_call_output") this.#collab.answered(out, asText(payload.call_id) ?? "", text ?? "");
    } else out.add({ ...SIGN_OF_LIFE, calls: [{ call, name: name ?? "" }], results: [{ call, isError }] });
  }

  /** What the model says. What users say stands elsewhere without all that is put around it. */
  #message(out: FindingsOf, { payload }: Row) {
    const text = textOf(payload.content);
    if (payload.role === "user") return this.#collab.notified(out, text);
    if (payload.role !== "assistant") return;
    this.#said = text;
    out.add({ ...SIGN_OF_LIFE, role: "assistant", certain: false, stands: this.#stand("answered"), text: this.#hasTurns ? null : text, message: true });
  }

  #asked(out: FindingsOf, text: string) {
    this.#said = null;
    if (text.trim() !== "") {
      this.#prompt(out, text);
      this.#answersCall(out, text);
    }
    out.add({ ...SIGN_OF_LIFE, role: "user", stands: this.#stand("open"), message: true });
  }

  #answersCall(out: FindingsOf, text: string) {
    if (this.#parent === null) return;
    const match = key.promptMatch(this.#parent, text);
    this.#parent = null;
    const says = "its first task is the prompt of the call";
    out.add({ type: "answers", agent: key.thread(this.#thread), match, rule: "prompt", source: "inferred", exclusive: true, says });
  }

  /** Where turns are written down, nothing else says how the thread stands. */
  #stand = (stands: Stand): Stand | null => (this.#hasTurns ? null : stands);

  #turn(out: FindingsOf, stands: Stand, turn: string, text: string | null = null) {
    this.#hasTurns = true;
    this.#isOpen = stands === "open";
    out.add({ ...SIGN_OF_LIFE, stands, turn, text });
  }

  /** A turn that begins while the one before never ended: the process was killed, and up to 0.150 what the last answer used may be lost with it. */
  #began(out: FindingsOf) {
    if (this.#isOpen) this.#tokens.resumed();
    if (this.#isOpen && this.#counted < this.#answers) out.add({ type: "agent-described", agent: key.thread(this.#thread), warning: LOST_COUNT });
    this.#turn(out, "open", "its last turn has not ended");
  }

  #completed(out: FindingsOf, { payload }: Row) {
    const error = payload.error ?? null;
    if (error !== null) return this.#turn(out, "failed", `its last turn failed: ${errorWords(error)}`);
    this.#turn(out, "answered", "its last turn is complete", asWords(payload.last_agent_message) ?? this.#said);
  }

  #aborted(out: FindingsOf, reason: string) {
    if (reason === "interrupted" || reason === "budget_limited") return this.#turn(out, "interrupted", `its last turn was cut short (${reason})`);
    this.#turn(out, "failed", `its last turn was aborted (${reason})`);
  }

  #stated(out: FindingsOf, total: TotalStated | null) {
    if (total !== null) out.add(total);
  }

  #used(out: FindingsOf, counted: Counted | null) {
    if (counted === null) return;
    this.#inAnswer = false;
    this.#counted = this.#answers;
    out.add({ type: "model-call", ...counted, rows: this.#answerKey(), model: this.#model, chars: 0, ended: true });
  }
}

/** A crash cuts a record off, and the next one is written behind it in the same line: that one is whole. */
function tornOff(text: string): { readonly value: unknown } | null {
  const start = text.lastIndexOf('{"timestamp":"');
  return start > 0 ? parseJson(text.slice(start)) : null;
}

type FindingsKeys = ConstructorParameters<typeof FindingsOf>[0]["keys"];

const LOST_COUNT = "it was killed before Codex wrote down what its last answer used: tokens and cost are too low";

const SIGN_OF_LIFE: RecordRead = { type: "record", role: "other", stands: null, certain: true, calls: [], results: [], text: null, message: false };

const COUNTS = new Set(["event_msg/token_count", "token_usage_record"]);
/** Lines that stand between those of one answer. */
const BETWEEN = new Set(["event_msg/item_completed", "event_msg/agent_message", "event_msg/agent_reasoning", "event_msg/token_count", "token_usage_record"]);

function isAnswerRow({ type, payload }: Row): boolean {
  return type === "response_item/reasoning" || (type === "response_item/message" && payload.role === "assistant") || /^response_item\/\w+_call$/.test(type);
}
