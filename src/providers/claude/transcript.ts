import type { AgentKey } from "../../core/facts/ids.ts";
import type { ProblemCode } from "../../core/facts/problem.ts";
import { FindingsOf, problemAt } from "../../core/ports/findings.ts";
import { type Findings, NOTHING, type Parser, type SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, decodeText, parseJson } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { Conversation, type ConversationMemory } from "./conversation.ts";
import { eventsOf } from "./events.ts";
import { Introduction, type IntroductionMemory, type TranscriptOf } from "./introduction.ts";
import * as key from "./keys.ts";
import { isNotification } from "./notification.ts";
import { isWarmUp, readUserText } from "./prompt.ts";
import { CONVERSATION, keysOf, type Row, readRow, textOf } from "./rows.ts";
import { readNotifications } from "./spawns.ts";
import { TITLE, totalStated } from "./totals.ts";

/**
 * How much of a request record is decoded. Since 2.1.300 such records are 97 % of the bytes, and they are not needed, so
 * they are skipped before parsing.
 */
const REQUEST_HEAD_BYTES = 400;
const REQUEST = /^\{"type":"api-request",[^{}]*?"id":"([^"]+)","timestamp":"([^"]+)"/;
/** Number of requests remembered; a response follows soon after its request. */
const OPEN_REQUESTS = 8;
const REQUEST_PREFIX = new TextEncoder().encode('{"type":"api-request');
const ATTACHMENT =
  /^\{"parentUuid":(?:null|"[^"]*"),"isSidechain":(?:true|false),(?:"agentId":"[^"]*",)?"attachment":\{"type":"([a-z_]+)"/;
/** Attachments that contain messages. */
const MESSAGE_ATTACHMENTS = new Set(["queued_command", "task_status"]);

const BOOKKEEPING = new Set(
  "queue-operation last-prompt mode permission-mode atis-latch tools-used cost-state file-history-snapshot file-history-delta agent-setting fork-context-ref api-request api-request-shape api-request-blob ai-title custom-title summary pr-link worktree-state agent-name frame-link relocated bridge-session content-replacement".split(
    " ",
  ),
);

const decoder = new TextDecoder();

interface Memory {
  readonly session: string | null;
  readonly refused: boolean;
  readonly read: number;
  readonly sawMain: boolean;
  readonly chains: readonly (readonly [string, string])[];
  readonly conversation: ConversationMemory;
  readonly stated: readonly string[];
  readonly requests: readonly (readonly [string, number])[];
  readonly introduction: IntroductionMemory;
}

export class Transcript implements Parser {
  readonly #of: TranscriptOf;
  readonly #file: SourceFile;
  readonly #introduction: Introduction;
  #session: string | null;
  /** The content of the file contradicts its path. This is reported once, and the other records are skipped. */
  #refused: boolean;
  /** Number of the last line read. */
  #read: number;
  /** The thread's own records have begun; earlier sidechain records belong to a promoted agent or a warm-up. */
  #sawMain: boolean;
  /** Inline agents: the first record of the chain, by sidechain record. */
  readonly #chains: Map<string, string>;
  readonly #conversation: Conversation;
  readonly #stated: Set<string>;
  #last: { readonly line: number; readonly row: Row; readonly speaker: AgentKey } | null = null;
  /** When the last requests were sent, by id. */
  readonly #requests: Map<string, number>;

  constructor(of: TranscriptOf, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    this.#of = of;
    this.#file = file;
    this.#session = memory?.session ?? of.session;
    this.#refused = memory?.refused ?? false;
    this.#read = memory?.read ?? 0;
    this.#sawMain = memory?.sawMain ?? false;
    this.#chains = new Map(memory?.chains);
    this.#conversation = new Conversation({ statesTurns: false }, memory?.conversation);
    this.#stated = new Set(memory?.stated);
    this.#requests = new Map(memory?.requests);
    this.#introduction = new Introduction(of, file, memory?.introduction);
  }

  save(): Memory {
    return {
      session: this.#session,
      refused: this.#refused,
      read: this.#read,
      sawMain: this.#sawMain,
      chains: [...this.#chains],
      conversation: this.#conversation.save(),
      stated: [...this.#stated],
      requests: [...this.#requests],
      introduction: this.#introduction.save(),
    };
  }

  push(record: Uint8Array, line: number): Findings {
    this.#last = null;
    if (this.#refused) return NOTHING;
    // A gap in the line numbers is a line that could not be read at all.
    if (line > this.#read + 1) this.#introduction.damaged = true;
    this.#read = line;
    if (startsWith(record, REQUEST_PREFIX)) {
      this.#noteRequest(decoder.decode(record.subarray(0, REQUEST_HEAD_BYTES)));
      if (!RECORD_END.test(decoder.decode(record.subarray(-RECORD_END_BYTES)))) return NOTHING;
    }
    const { text, isUtf8 } = decodeText(record);
    const attachment = ATTACHMENT.exec(text)?.[1];
    if (attachment !== undefined && !MESSAGE_ATTACHMENTS.has(attachment) && text.lastIndexOf(RECORD_START) === 0)
      return NOTHING;
    const parsed = parseJson(text);
    if (parsed !== null) {
      const found = this.#readJson(parsed.value, line, isUtf8);
      return isUtf8 ? found : withProblem(found, this.#file.path, line, "text-not-utf8", `${record.length} bytes`);
    }
    this.#introduction.damaged = true;
    const torn = recordAtEnd(text);
    if (torn === null) return problemAt(this.#file.path, line, "line-not-json", `${record.length} bytes`);
    return withProblem(
      this.#readJson(torn.value, line, isUtf8),
      this.#file.path,
      line,
      "line-not-json",
      `${record.length} bytes; the complete record at its end was read`,
    );
  }

  #readJson(value: unknown, line: number, isUtf8: boolean): Findings {
    const json = asObject(value);
    const row = json === null ? null : readRow(json);
    if (row === null || row.type === "") {
      this.#introduction.damaged = true;
      return problemAt(this.#file.path, line, "record-malformed", row === null ? "not an object" : "no type");
    }
    if (!CONVERSATION.has(row.type) && !BOOKKEEPING.has(row.type))
      return problemAt(this.#file.path, line, "record-unknown", row.type);

    const refusal = this.#refusal(row, line, isUtf8);
    if (refusal !== null) return refusal;
    this.#session ??= row.sessionId ?? this.#of.fallback;
    const speaker = this.#speakerOf(row);
    this.#last = { line, row, speaker };
    const out = new FindingsOf({
      path: this.#file.path,
      line,
      at: row.at,
      speaker,
      keys: keysOf(row, this.#session ?? ""),
    });
    this.#introduction.of(out, row, speaker, this.#session);
    if (CONVERSATION.has(row.type)) this.#readConversation(out, row, speaker);
    else this.#readBookkeeping(out, row);
    return out;
  }

  events(record: Uint8Array, line: number): readonly EventDraft[] {
    if (this.#last?.line !== line) this.push(record, line);
    if (this.#last?.line !== line) return [];
    const { row, speaker } = this.#last;
    return eventsOf(row, speaker, this.#session ?? "");
  }

  /** Since 2.1.325 requests are recorded, and responses name theirs; other fields are not read. */
  #noteRequest(head: string) {
    const [, id, timestamp] = REQUEST.exec(head) ?? [];
    const at = asTime(timestamp);
    if (id === undefined || at === null) return;
    this.#requests.set(id, at);
    const [oldest] = this.#requests.keys();
    if (this.#requests.size > OPEN_REQUESTS && oldest !== undefined) this.#requests.delete(oldest);
  }

  /**
   * An agent's file must be marked as an agent's, and name this thread. A damaged record does not count; the next one
   * is checked.
   */
  #refusal(row: Row, line: number, isUtf8: boolean): Findings | null {
    if (
      this.#of.agent === null ||
      this.#introduction.begun ||
      row.type === "fork-context-ref" ||
      !CONVERSATION.has(row.type)
    )
      return null;
    // If the session id itself is damaged, the path is more reliable.
    const isForeign =
      isUtf8 && this.#of.session !== null && row.sessionId !== null && row.sessionId !== this.#of.session;
    if (row.isSidechain === true && !isForeign) return null;
    if (!isUtf8 || (row.isSidechain === null && row.uuid === null)) {
      this.#introduction.damaged = true;
      return problemAt(this.#file.path, line, "record-malformed", "it does not name its agent");
    }
    if (row.isSidechain !== true) return this.#refuse(row, line, "agent-file-unmarked", `agent ${this.#of.agent}`);
    return this.#refuse(row, line, "agent-file-foreign", `it names session ${row.sessionId}`);
  }

  #refuse(row: Row, line: number, code: ProblemCode, detail: string): Findings {
    this.#refused = true;
    const session = this.#of.session ?? row.sessionId;
    const agent =
      session === null ? key.unassignedAgent(this.#of.agent ?? "") : key.agent(session, this.#of.agent ?? "");
    const out = new FindingsOf({ path: this.#file.path, line, at: null, speaker: agent, keys: [] });
    out.problem(code, detail);
    out.add({ type: "file-refused", agent });
    return out;
  }

  #speakerOf(row: Row): AgentKey {
    const { agent } = this.#of;
    if (agent !== null) return this.#session === null ? key.unassignedAgent(agent) : key.agent(this.#session, agent);
    const session = this.#session ?? "unknown";
    if (row.isSidechain === false) this.#sawMain = true;
    if (row.isSidechain !== true) return key.thread(session);
    const chain = row.parentUuid === null ? undefined : this.#chains.get(row.parentUuid);
    if (!this.#sawMain && chain === undefined && !beginsWarmUp(row)) return key.thread(session);
    if (row.agentId !== null) return key.agent(session, row.agentId);
    const first = chain ?? row.uuid ?? "unknown";
    if (row.uuid !== null) this.#chains.set(row.uuid, first);
    return key.inlineAgent(session, first);
  }

  #readConversation(out: FindingsOf, row: Row, speaker: AgentKey) {
    const session = this.#session ?? "unknown";
    const asked = this.#requests.size === 0 ? undefined : this.#requests.get(asText(row.json.requestRef) ?? "");
    this.#conversation.read(out, row, session, asked);
    if (row.type === "user") this.#readUser(out, row, speaker, session);
    if (row.type === "attachment") readNotifications(out, asText(asObject(row.json.attachment)?.prompt) ?? "", session);
    if (row.type === "progress") this.#readProgress(out, row, session);
  }

  #readUser(out: FindingsOf, row: Row, speaker: AgentKey, session: string) {
    if (
      row.blocks.some((b) => b.is === "tool-result") ||
      row.json.isMeta === true ||
      row.json.isCompactSummary === true
    )
      return;
    const text = textOf(row);
    const isNote = isNotification(text);
    if (isNote) readNotifications(out, text, session);
    const user = readUserText(text);
    if (!isNote && user.is === "prompt" && user.text !== "")
      out.add({ type: "agent-described", agent: speaker, prompt: user.text });
  }

  /** 2.1.42 to 2.1.80 repeat a child's progress in the parent's transcript. */
  #readProgress(out: FindingsOf, row: Row, session: string) {
    const data = asObject(row.json.data);
    const [child, call] = [asNonBlank(data?.agentId), asNonBlank(row.json.parentToolUseID)];
    if (data?.type !== "agent_progress" || child === null || call === null || !this.#once(`progress ${call} ${child}`))
      return;
    out.add({
      type: "call-spawned",
      call: key.call(session, call),
      child: key.agent(session, child),
      rule: "progress.agentId",
      source: "parent_rollout",
      says: `a progress record of its call names agent ${child}`,
    });
  }

  #readBookkeeping(out: FindingsOf, row: Row) {
    const session = this.#session;
    if (session === null) return;
    const title = (value: unknown, rank: number) => {
      const text = asNonBlank(value);
      const leaf = asNonBlank(row.json.leafUuid);
      const of = row.type === "summary" && leaf !== null ? { record: key.record(session, leaf) } : key.thread(session);
      if (text !== null) out.addOfFile({ type: "thread-titled", of, title: text, rank });
    };
    switch (row.type) {
      case "custom-title":
        return title(row.json.customTitle, 0);
      case "ai-title": {
        const text = asNonBlank(row.json.aiTitle);
        // Repeated in the file; the model call is made once.
        if (text !== null && this.#once(`title ${text}`)) out.add(TITLE);
        return title(text, 1);
      }
      case "cost-state": {
        const total = totalStated(row);
        // A copied transcript contains totals of another session.
        if (total !== null && this.#of.agent === null && (row.sessionId ?? session) === session) out.add(total);
        return;
      }
      case "summary":
        return title(row.json.summary, 2);
      case "fork-context-ref":
        // In a thread's transcript it shows that a fork was promoted to this thread.
        if (this.#of.agent !== null)
          out.addOfFile({ type: "agent-described", agent: key.agent(session, this.#of.agent), kind: "fork" });
        return;
      case "queue-operation": {
        // A queue record is not part of the conversation, but it shows activity, and may be the first record of the
        // end of a background agent.
        out.add({
          type: "record",
          role: "other",
          state: null,
          certain: true,
          calls: [],
          results: [],
          text: null,
          message: false,
        });
        return readNotifications(out, asText(row.json.content) ?? "", session);
      }
    }
  }

  #once(what: string): boolean {
    const isNew = !this.#stated.has(what);
    this.#stated.add(what);
    return isNew;
  }
}

/** 2.0.19 warms up in the thread's transcript before the user has typed anything. */
const beginsWarmUp = (row: Row) =>
  row.type === "user" && row.parentUuid === null && isWarmUp(readUserText(textOf(row)));

/** Prefix and suffix of every conversation record. */
const RECORD_START = '{"parentUuid":';
const RECORD_END = /"(?:sessionId|version|gitBranch|slug)":"[^"]*"[^"]*$/;
const RECORD_END_BYTES = 300;

/** A crash truncates a record, and the next one follows in the same line, complete. */
function recordAtEnd(text: string): { readonly value: unknown } | null {
  const start = text.lastIndexOf(RECORD_START);
  return start > 0 ? parseJson(text.slice(start)) : null;
}

function withProblem(found: Findings, path: string, line: number, code: ProblemCode, detail: string): Findings {
  return {
    observations: found.observations,
    problems: [...found.problems, ...problemAt(path, line, code, detail).problems],
  };
}

function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i += 1) if (bytes[i] !== prefix[i]) return false;
  return true;
}
