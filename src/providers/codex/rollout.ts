import type { RecordRead, RecordState } from "../../core/facts/observation.ts";
import type { TotalStated } from "../../core/facts/totals.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, decodeText, type JsonObject, parseJson } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { statePlan } from "../kit/plan.ts";
import { awaits, Collab } from "./collab.ts";
import { eventsOf } from "./events.ts";
import { History } from "./history.ts";
import { introduce } from "./identity.ts";
import * as key from "./keys.ts";
import { isKnown } from "./known.ts";
import { type Mail, mailIn } from "./mail.ts";
import { itemOf, type Row, readRow, textOf } from "./rows.ts";
import { errorText } from "./status.ts";
import { type Counted, TokenCounter } from "./tokens.ts";
import { readShell, type ToolUse, toolUseIn } from "./tools.ts";

/** The parts of a rollout's path. */
export interface RolloutOf {
  readonly thread: string;
  /** Independent of the file's folder. */
  readonly name: string;
}

interface Memory {
  readonly identified: boolean;
  readonly placed: boolean;
  readonly mayContinueFork: boolean;
  readonly path: string | null;
  readonly parent: string | null;
  readonly model: string;
  readonly hasTurns: boolean;
  readonly isOpen: boolean;
  readonly lastText: string | null;
  readonly isEncryptionStated: boolean;
  readonly responses: number;
  readonly counted: number;
  readonly inResponse: boolean;
  readonly history: unknown;
  readonly tokens: unknown;
  readonly collab: unknown;
  readonly cwd: string | null;
  readonly shells: ShellMemory;
}

/** Records that are not needed. Of a large one, only the first bytes are decoded. */
const PASSED_OVER = /^\{"timestamp":"[^"]*",(?:"ordinal":\d+,)?"type":"world_state"/;
const HEAD_BYTES = 96;
const SMALL = 4 << 10;
const decoder = new TextDecoder();

/**
 * The file of a thread, `rollout-<time>-<thread>.jsonl`: its own work and, in a fork, that of its ancestors before it.
 */
export class Rollout implements Parser {
  readonly #of: RolloutOf;
  readonly #file: SourceFile;
  readonly #thread: string;
  #identified: boolean;
  #placed: boolean;
  /**
   * A fork that keeps its history in another file continues that file's total. True also if the first line is missing.
   */
  #mayContinueFork: boolean;
  /** The path of the agent, by which its parent names it. */
  #path: string | null;
  /** The parent, until the first task shows which call spawned it. */
  #parent: string | null;
  #model: string;
  /** Since 0.107 starts and ends of turns are recorded. */
  #hasTurns: boolean;
  #isOpen: boolean;
  /** The last text of this turn. */
  #lastText: string | null;
  #isEncryptionStated: boolean;
  #responses: number;
  /** The last response whose tokens were counted. */
  #counted: number;
  #inResponse: boolean;
  readonly #history: History;
  readonly #tokens: TokenCounter;
  readonly #collab: Collab;
  readonly #shells: ShellCalls;
  /** The folder of the current turn. */
  #cwd: string | null;
  #last: { readonly line: number; readonly row: Row } | null = null;
  /** The current record: its line, and its offset if another record precedes it. */
  #record = "";

  constructor(of: RolloutOf, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#file = file;
    this.#thread = of.thread;
    this.#identified = memory?.identified ?? false;
    this.#placed = memory?.placed ?? false;
    this.#mayContinueFork = memory?.mayContinueFork ?? true;
    this.#path = memory?.path ?? null;
    this.#parent = memory?.parent ?? null;
    this.#model = memory?.model ?? "";
    this.#hasTurns = memory?.hasTurns ?? false;
    this.#isOpen = memory?.isOpen ?? false;
    this.#lastText = memory?.lastText ?? null;
    this.#isEncryptionStated = memory?.isEncryptionStated ?? false;
    this.#responses = memory?.responses ?? 0;
    this.#counted = memory?.counted ?? 0;
    this.#inResponse = memory?.inResponse ?? false;
    this.#history = new History(this.#thread, memory?.history);
    this.#tokens = new TokenCounter(this.#thread, memory?.tokens);
    this.#collab = new Collab(this.#thread, memory?.collab);
    this.#shells = new ShellCalls(memory?.shells);
    this.#cwd = memory?.cwd ?? null;
  }

  save(): Memory {
    return {
      identified: this.#identified,
      placed: this.#placed,
      mayContinueFork: this.#mayContinueFork,
      path: this.#path,
      parent: this.#parent,
      model: this.#model,
      hasTurns: this.#hasTurns,
      isOpen: this.#isOpen,
      lastText: this.#lastText,
      isEncryptionStated: this.#isEncryptionStated,
      responses: this.#responses,
      counted: this.#counted,
      inResponse: this.#inResponse,
      history: this.#history.save(),
      tokens: this.#tokens.save(),
      collab: this.#collab.save(),
      cwd: this.#cwd,
      shells: this.#shells.save(),
    };
  }

  push(record: Uint8Array, line: number, name?: string): Findings {
    this.#last = null;
    this.#record = name ?? String(line);
    if (record.length > SMALL && PASSED_OVER.test(decoder.decode(record.subarray(0, HEAD_BYTES)))) return NOTHING;
    const { text, isUtf8 } = decodeText(record);
    if (PASSED_OVER.test(text)) return NOTHING;
    const whole = parseJson(text);
    const json = asObject((whole ?? recordAtEnd(text))?.value);
    if (json === null && whole === null)
      return this.#damaged(problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`), line);
    const row = json === null ? null : readRow(json);
    if (row === null)
      return this.#damaged(
        problemAt(this.#file.path, line, "record-malformed", json === null ? "not an object" : "no type or no payload"),
        line,
      );
    if (!isKnown(row)) return this.#damaged(problemAt(this.#file.path, line, "record-unknown", row.type), line);
    // A number that may be damaged is not counted; the next total includes it.
    const isDoubtful = !isUtf8 && COUNTS.has(row.type);
    const found = isDoubtful ? this.#findings(line, null, []) : this.#read(row, line);
    if (whole === null)
      found.problem("line-not-json", `${record.length} bytes; the complete record at its end was read`);
    if (!isUtf8) found.problem("text-not-utf8", `${record.length} bytes`);
    return found;
  }

  events(record: Uint8Array, line: number, name?: string): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line, name);
    if (this.#last?.line !== line) return [];
    const { row } = this.#last;
    return eventsOf(row, {
      thread: this.#thread,
      keys: this.#keysOf(row),
      response: isResponseRow(row) ? this.#responseKey() : null,
    });
  }

  /** Even an unreadable file names its thread by its file name. */
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
    const isRelevant = isOwn && !this.#isOfAnother(row);
    // The one before has no usage: a message to the agent, such as the answer of a child, cut it off.
    const lostOne = isRelevant && isResponseRow(row) && !this.#inResponse && this.#counted < this.#responses;
    if (isRelevant) this.#count(row);
    const out = this.#findings(line, row.at, isRelevant ? this.#keysOf(row) : []);
    if (!this.#placed) this.#place(out);
    if (!isRelevant) return out;
    if (lostOne) this.#lost(out, CUT_OFF);
    this.#last = { line, row };
    this.#readOwn(out, row);
    return out;
  }

  /** The first line of a file belongs to its thread; those of a fork's ancestors follow it. */
  #isIdentity({ payload }: Row): boolean {
    return !this.#identified && asNonBlank(payload.id)?.toLowerCase() === this.#thread;
  }

  #identify(row: Row, line: number): FindingsOf {
    this.#identified = true;
    this.#placed = true;
    this.#history.begin(row);
    this.#mayContinueFork = row.payload.history_base != null;
    const out = this.#findings(line, row.at, [key.line(this.#of.name, this.#record)]);
    const { path, parent } = introduce(out, row.payload, this.#thread, this.#file);
    this.#path = path;
    this.#parent = parent;
    this.#cwd = asNonBlank(row.payload.cwd);
    return out;
  }

  /** A review's turns are also in its parent's file, and a fork contains the end of its parent's turn. */
  #isOfAnother(row: Row): boolean {
    const whose = asNonBlank(row.payload.thread_id);
    if (itemOf(row) !== null && whose !== null) return whose.toLowerCase() !== this.#thread;
    return (
      (row.type === "event_msg/task_complete" || row.type === "event_msg/turn_aborted") &&
      this.#history.isForeignTurn(asNonBlank(row.payload.turn_id))
    );
  }

  /** Lines of one response share no id; they only follow each other. */
  #count(row: Row) {
    if (isResponseRow(row)) {
      if (!this.#inResponse) this.#responses += 1;
      this.#inResponse = true;
    } else if (!BETWEEN.has(row.type)) this.#inResponse = false;
  }

  #responseKey = () => key.responseLines(this.#of.name, this.#responses);
  #keysOf = (row: Row) => [key.line(this.#of.name, this.#record), ...(isResponseRow(row) ? [this.#responseKey()] : [])];

  #readOwn(out: FindingsOf, row: Row) {
    const { type, payload } = row;
    const mail = mailIn(row);
    if (mail !== null) return this.#readMail(out, mail);
    const use = toolUseIn(row, this.#thread);
    if (use !== null) return this.#readTool(out, row, use);
    switch (type) {
      case "turn_context":
        this.#model = asNonBlank(payload.model) ?? this.#model;
        this.#cwd = asNonBlank(payload.cwd) ?? this.#cwd;
        return;
      case "event_msg/task_started":
        return this.#began(out);
      case "event_msg/task_complete":
        return this.#completed(out, row);
      case "event_msg/turn_aborted":
        return this.#aborted(out, asNonBlank(payload.reason) ?? "no reason is given");
      case "event_msg/token_count":
        // Before the first response, a total can only be the parent's.
        if (this.#responses === 0 && !this.#tokens.hasRecords) return this.#tokens.inherit(payload);
        this.#used(out, this.#tokens.total(payload));
        return this.#stated(out, this.#tokens.totalInCount(payload, this.#mayContinueFork));
      case "token_usage_record":
        this.#used(out, this.#tokens.record(payload));
        return this.#stated(out, this.#tokens.totalInRecord(payload, this.#mayContinueFork));
      case "event_msg/thread_name_updated": {
        const title = asNonBlank(payload.thread_name) ?? asNonBlank(payload.name);
        if (title !== null) out.addOfFile({ type: "thread-titled", of: key.thread(this.#thread), title, rank: 0 });
        return;
      }
      case "event_msg/user_message":
        return this.#userMessage(out, asText(payload.message) ?? "");
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
    this.#collab.toolRecord(out, row);
    const item = itemOf(row);
    if (item?.type === "UserMessage") this.#userMessage(out, textOf(item.json.content));
    if (item?.type === "EnteredReviewMode") this.#reviewed(out, item.json);
  }

  #reviewed(out: FindingsOf, json: JsonObject) {
    this.#prompt(out, `Review ${asNonBlank(json.user_facing_hint) ?? "changes"}`);
  }

  #readMail(out: FindingsOf, mail: Mail) {
    this.#collab.mail(out, mail);
    const isToMe = mail.is !== "result" && (this.#path === null || mail.recipient === this.#path);
    if (isToMe && mail.is === "task") this.#prompt(out, mail.text);
    out.add({ ...SIGN_OF_LIFE, role: "user", state: this.#state("open"), message: isToMe });
  }

  #prompt(out: FindingsOf, text: string | null) {
    const agent = key.thread(this.#thread);
    if (text !== null) return out.add({ type: "agent-described", agent, prompt: text });
    if (!this.#isEncryptionStated)
      out.addOfFile({
        type: "agent-described",
        agent,
        warning: "its task text is encrypted by Codex and cannot be shown",
      });
    this.#isEncryptionStated = true;
  }

  #readTool(out: FindingsOf, row: Row, use: ToolUse) {
    const { payload, type } = row;
    const { is, call, name, input, text, isError } = use;
    readShell(this.#shells, out, row, use, this.#cwd);
    if (is === "call") {
      statePlan(out, input);
      out.add({
        ...SIGN_OF_LIFE,
        role: "assistant",
        state: this.#state("open"),
        calls: [{ call, name: name ?? "", ...awaits(payload) }],
        message: true,
      });
      this.#collab.called(out, payload, this.#path ?? "/root");
    } else if (is === "result") {
      out.add({ ...SIGN_OF_LIFE, role: "user", state: this.#state("open"), results: [{ call, isError }] });
      if (type === "response_item/function_call_output")
        this.#collab.toolResult(out, asText(payload.call_id) ?? "", text ?? "");
    } else out.add({ ...SIGN_OF_LIFE, calls: [{ call, name: name ?? "" }], results: [{ call, isError }] });
  }

  /** Model messages. User messages are read from other lines, without the context around them. */
  #message(out: FindingsOf, { payload }: Row) {
    const text = textOf(payload.content);
    if (payload.role === "user") return this.#collab.notified(out, text);
    if (payload.role !== "assistant") return;
    this.#lastText = text;
    out.add({
      ...SIGN_OF_LIFE,
      role: "assistant",
      certain: false,
      state: this.#state("answered"),
      text: this.#hasTurns ? null : text,
      message: true,
    });
  }

  #userMessage(out: FindingsOf, text: string) {
    this.#lastText = null;
    if (text.trim() !== "") {
      this.#prompt(out, text);
      this.#answersCall(out, text);
    }
    out.add({ ...SIGN_OF_LIFE, role: "user", state: this.#state("open"), message: true });
  }

  #answersCall(out: FindingsOf, text: string) {
    if (this.#parent === null) return;
    const match = key.promptMatch(this.#parent, text);
    this.#parent = null;
    const says = "its first task is the prompt of the call";
    out.add({
      type: "spawn-match",
      agent: key.thread(this.#thread),
      match,
      rule: "prompt",
      source: "inferred",
      exclusive: true,
      says,
    });
  }

  /** If turns are recorded, only they decide the state. */
  #state = (state: RecordState): RecordState | null => (this.#hasTurns ? null : state);

  #turn(out: FindingsOf, state: RecordState, turn: string, text: string | null = null) {
    this.#hasTurns = true;
    this.#isOpen = state === "open";
    out.add({ ...SIGN_OF_LIFE, state, turn, text });
  }

  /**
   * A turn begins although the last one did not end: the process was killed. Up to 0.150 the usage of the last response
   * may be missing.
   */
  #began(out: FindingsOf) {
    if (this.#isOpen) this.#tokens.resumed();
    if (this.#isOpen && this.#counted < this.#responses) this.#lost(out, LOST_COUNT);
    this.#turn(out, "open", "its last turn has not ended");
  }

  /** Of all responses but the current one, those without usage are stated by now. */
  #lost(out: FindingsOf, warning: string) {
    this.#counted = this.#inResponse ? this.#responses - 1 : this.#responses;
    out.add({ type: "agent-described", agent: key.thread(this.#thread), warning });
  }

  #completed(out: FindingsOf, { payload }: Row) {
    const error = payload.error ?? null;
    if (error !== null) return this.#turn(out, "failed", `its last turn failed: ${errorText(error)}`);
    this.#turn(out, "answered", "its last turn is complete", asNonBlank(payload.last_agent_message) ?? this.#lastText);
  }

  #aborted(out: FindingsOf, reason: string) {
    if (this.#counted < this.#responses) this.#lost(out, CUT_OFF);
    if (reason === "interrupted" || reason === "budget_limited")
      return this.#turn(out, "interrupted", `its last turn was cut short (${reason})`);
    this.#turn(out, "failed", `its last turn was aborted (${reason})`);
  }

  #stated(out: FindingsOf, total: TotalStated | null) {
    if (total !== null) out.add(total);
  }

  #used(out: FindingsOf, counted: Counted | null) {
    if (counted === null) return;
    this.#inResponse = false;
    this.#counted = this.#responses;
    // In V8 a spread is fast only as the first property of a literal.
    out.add({ ...counted, type: "model-call", rows: this.#responseKey(), model: this.#model, chars: 0, ended: true });
  }
}

/** A crash truncates a record, and the next one follows in the same line, complete. */
function recordAtEnd(text: string): { readonly value: unknown } | null {
  const start = text.lastIndexOf('{"timestamp":"');
  return start > 0 ? parseJson(text.slice(start)) : null;
}

type FindingsKeys = ConstructorParameters<typeof FindingsOf>[0]["keys"];

const LOST_COUNT = "it was killed before Codex recorded the usage of its last response: tokens and cost are too low";

const CUT_OFF =
  "a response was cut off before Codex recorded its usage, for example by the answer of an agent: tokens and cost may be too low";

const SIGN_OF_LIFE: RecordRead = {
  type: "record",
  role: "other",
  state: null,
  certain: true,
  calls: [],
  results: [],
  text: null,
  message: false,
};

const COUNTS = new Set(["event_msg/token_count", "token_usage_record"]);
/** Lines that may occur between those of one response. */
const BETWEEN = new Set([
  "event_msg/item_completed",
  "event_msg/agent_message",
  "event_msg/agent_reasoning",
  "event_msg/token_count",
  "token_usage_record",
]);

function isResponseRow({ type, payload }: Row): boolean {
  return (
    type.startsWith("response_item/") &&
    (type === "response_item/message"
      ? payload.role === "assistant"
      : type === "response_item/reasoning" || type.endsWith("_call"))
  );
}
