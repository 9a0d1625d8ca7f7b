import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import { fingerprintsOf, NO_TOKENS } from "../../core/facts/usage.ts";
import { FindingsOf } from "../../core/ports/findings.ts";
import type { Findings, Parser, SourceFile } from "../../core/ports/provider.ts";
import {
  asAmount,
  asCount,
  asList,
  asNonBlank,
  asObject,
  asText,
  asTime,
  isTooDeep,
  type JsonObject,
  printJson,
} from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls } from "../kit/launch/shell-calls.ts";
import { readJsonLine } from "../kit/lines.ts";
import { blockText, thoughtsIn, toolResultsIn, toolUsesIn } from "../kit/message-blocks.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import * as key from "./keys.ts";
import { type OpenSpawn, readSpawn, readSpawnResult, type Speaker } from "./spawns.ts";

const UNWRITTEN = "its messages and usage are unknown: Cline records them when a sub-agent ends";
/** Never matches: the file is one document. */
const NO_RECORD = /(?!)/g;
const SHELL = "run_commands";

/** `<session>.messages.json` or `<agent>.messages.json`: all messages, rewritten as a whole. */
export class Transcript implements Parser {
  readonly #of: Speaker;
  readonly #agent: AgentKey;
  readonly #file: SourceFile;
  readonly #spawns = new Map<string, OpenSpawn>();
  #shells = new ShellCalls();
  #drafts: EventDraft[] = [];
  #isRead = false;

  constructor(of: Speaker, file: SourceFile) {
    this.#of = of;
    this.#agent = key.agent(of.session, of.agent);
    this.#file = file;
  }

  save = () => null;

  events(record: Uint8Array): readonly EventDraft[] {
    if (!this.#isRead) this.push(record);
    return this.#drafts;
  }

  push(record: Uint8Array): Findings {
    this.#isRead = true;
    this.#drafts = [];
    this.#spawns.clear();
    this.#shells = new ShellCalls();
    const { value, isRead, problems } = readJsonLine(record, this.#file.path, 0, NO_RECORD);
    const json = asObject(value);
    const out = new FindingsOf({ path: this.#file.path, line: 0, at: null, speaker: this.#agent, keys: [] });
    out.addProblems(problems);
    if (json === null) {
      if (isRead) out.problem("record-malformed", "not an object");
      return out;
    }
    const messages = asList(json.messages).map(asObject);
    this.#introduce(out, json, messages.length === 0);
    for (const [i, message] of messages.entries())
      if (message === null) out.problem("record-malformed", `message ${i + 1} is not an object`);
      else this.#readMessage(out, message, i + 1);
    return out;
  }

  #introduce(out: FindingsOf, json: JsonObject, isEmpty: boolean) {
    const { path, bytes, bornMs = null } = this.#file;
    const version = asNonBlank(asObject(json.origin)?.version);
    out.addOfFile({
      type: "agent-described",
      agent: this.#agent,
      file: { path, bytes, bornMs },
      ...(version === null ? {} : { productVersion: version }),
      ...(isEmpty && this.#of.agent !== null ? { warning: UNWRITTEN } : {}),
    });
    // A fallback: the row of the agent names the direct parent.
    if (this.#of.agent !== null)
      out.addOfFile({
        type: "parent-named",
        child: this.#agent,
        parent: key.agent(this.#of.session, null),
        rule: "sessions/<session>",
        source: "child_rollout",
        confidence: 0.5,
        says: `its file lies in the folder of session ${this.#of.session}`,
      });
  }

  #readMessage(all: FindingsOf, message: JsonObject, order: number) {
    const [id, at] = [asNonBlank(message.id), asTime(message.ts)];
    const record = key.record(id ?? `${this.#of.session} ${this.#of.agent ?? ""} ${order}`, at);
    const out = all.part({ at, keys: [record], order });
    const blocks = (typeof message.content === "string" ? [message.content] : asList(message.content)).map((block) =>
      typeof block === "string" ? { type: "text", text: block } : (asObject(block) ?? {}),
    );
    const displayRole = asText(asObject(message.metadata)?.displayRole);
    if (displayRole === "error") return this.#readError(out, blockText(blocks), at, record);
    if (displayRole === "status" || displayRole === "system") return this.#draft("note", blockText(blocks), at, record);
    if (message.role === "assistant") return this.#readResponse(out, message, blocks, at, record);
    if (message.role === "user") return this.#readUser(out, blocks, at, record);
    out.problem("record-malformed", "a message without a role");
  }

  #readError(out: FindingsOf, text: string, at: number | null, record: RecordKey) {
    const error = text.trim().split("\n")[0] ?? "";
    out.add({ ...RECORD, state: "failed", ...(error === "" ? {} : { error }) });
    this.#draft("error", text, at, record);
  }

  #readUser(out: FindingsOf, blocks: readonly JsonObject[], at: number | null, record: RecordKey) {
    const { session } = this.#of;
    const results = toolResultsIn(blocks).map((one) => ({ ...one, text: resultText(one.content) }));
    const text = withoutFrame(blockText(blocks));
    const isMessage = text.trim() !== "";
    out.add({
      ...RECORD,
      role: "user",
      state: "open",
      results: results.map(({ id, isError }) => ({ call: key.call(session, id), isError })),
      message: isMessage && results.length === 0,
    });
    for (const { id, text: result, isError } of results) {
      const spawn = this.#spawns.get(id);
      if (spawn !== undefined) readSpawnResult(out, spawn, result, isError);
      this.#shells.returned(out, key.call(session, id), { text: result, at });
      this.#draft("toolResult", result, at, record, { name: null, id, input: null, isError });
    }
    // The first one of its own counts: a restored session begins with copies.
    if (isMessage && results.length === 0) out.add({ type: "agent-described", agent: this.#agent, prompt: text });
    this.#draft("user", text, at, record);
  }

  #readResponse(
    out: FindingsOf,
    message: JsonObject,
    blocks: readonly JsonObject[],
    at: number | null,
    record: RecordKey,
  ) {
    const { session } = this.#of;
    const calls = toolUsesIn(blocks);
    const text = blockText(blocks);
    const isFinal = calls.length === 0;
    out.add({
      ...RECORD,
      role: "assistant",
      state: isFinal ? "answered" : "open",
      calls: calls.map(({ id, name }) => ({ call: key.call(session, id), name })),
      text: isFinal && text.trim() !== "" ? text : null,
      message: true,
    });
    const metrics = asObject(message.metrics);
    if (metrics !== null)
      readUsage(out, metrics, asObject(message.modelInfo), record, [text, ...calls.map((call) => call.id)]);
    for (const thought of thoughtsIn(blocks)) this.#draft("reasoning", thought, at, record, null, record);
    this.#draft("assistant", text, at, record, null, record);
    for (const { id, name, input } of calls) {
      statePlan(out, input);
      if (name === SHELL) this.#shells.called(out, key.call(session, id), commandsIn(input), null, at);
      const spawn = readSpawn(out, this.#of, id, name, input);
      if (spawn !== null) this.#spawns.set(id, spawn);
      const shown = isTooDeep(input) ? null : input;
      this.#draft("toolCall", null, at, record, { name, id, input: shown, isError: false }, record);
    }
  }

  #draft(
    kind: EventDraft["kind"],
    text: string | null,
    at: number | null,
    record: RecordKey,
    tool: { readonly name: string | null; id: string; input: unknown; isError: boolean } | null = null,
    response: RecordKey | null = null,
  ) {
    if (tool === null && (text === null || text.trim() === "")) return;
    const { id, ...rest } = tool ?? { id: "", name: null, input: null, isError: false };
    this.#drafts.push({
      speaker: this.#agent,
      keys: [record],
      at,
      kind,
      text,
      tool: tool === null ? null : { ...rest, call: key.call(this.#of.session, id) },
      response,
    });
  }
}

/** `inputTokens` includes both caches. Reasoning is not recorded; a cost of 0 means that it is unknown. */
function readUsage(
  out: FindingsOf,
  metrics: JsonObject,
  info: JsonObject | null,
  response: RecordKey,
  content: readonly string[],
) {
  const [cacheReadTokens, cacheWriteTokens] = [asCount(metrics.cacheReadTokens), asCount(metrics.cacheWriteTokens)];
  const [vendor, cost] = [asNonBlank(info?.provider), asAmount(metrics.cost)];
  const tokens = {
    ...NO_TOKENS,
    inputTokens: Math.max(0, asCount(metrics.inputTokens) - cacheReadTokens - cacheWriteTokens),
    outputTokens: asCount(metrics.outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
  };
  out.add({
    type: "model-call",
    response,
    model: asText(info?.id) ?? "",
    ...(vendor === null ? {} : { vendor }),
    ...(cost === null || cost <= 0 ? {} : { costUsd: cost }),
    ...fingerprintsOf({ id: null, tokens, content }),
    tokens,
    chars: 0,
    ended: true,
  });
}

/** Several commands, which run one after the other. */
const commandsIn = (input: JsonObject) =>
  asList(input.commands)
    .flatMap((command) => asNonBlank(command) ?? commandIn(command, "command") ?? [])
    .join("\n");

/** A text, blocks with texts, or whatever the tool returned. */
function resultText(content: unknown): string {
  if (typeof content === "string") return content;
  const blocks = asList(content).map(asObject);
  if (blocks.length > 0 && blocks.every((block) => block?.type === "text"))
    return blocks.map((block) => asText(block?.text) ?? "").join("\n");
  return content == null || isTooDeep(content) ? "" : printJson(content);
}

const FRAME = /^<user_input(?: [^>]*)?>([\s\S]*)<\/user_input>\s*$/;

/** The text that the user typed, without the tag around it. */
const withoutFrame = (text: string) => FRAME.exec(text)?.[1] ?? text;
