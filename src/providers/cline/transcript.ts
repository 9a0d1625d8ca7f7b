import type { AgentKey, RecordKey } from "../../core/facts/ids.ts";
import type { ModelCalled } from "../../core/facts/observation.ts";
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
import { commandIn } from "../kit/launch/shell-calls.ts";
import { readJsonLine } from "../kit/lines.ts";
import { blockText, thoughtsIn, toolResultsIn, toolUsesIn } from "../kit/message-blocks.ts";
import { type Message, Messages, type Tools } from "../kit/messages.ts";
import { RECORD } from "../kit/record.ts";
import * as key from "./keys.ts";
import { type OpenSpawn, readSpawn, readSpawnResult, type Speaker } from "./spawns.ts";

const UNWRITTEN = "its messages and usage are unknown: Cline records them when a sub-agent ends";
/** Never matches: the file is one document. */
const NO_RECORD = /(?!)/g;
const SHELL = "run_commands";

function toolsOf(of: Speaker): Tools {
  const spawns = new Map<string, OpenSpawn>();
  return {
    key: (id) => key.call(of.session, id),
    spawn(out, { id, name, input }) {
      const spawn = readSpawn(out, of, id, name, input);
      if (spawn !== null) spawns.set(id, spawn);
      return spawn !== null;
    },
    spawned(out, { id, text, isError }) {
      const spawn = spawns.get(id);
      if (spawn !== undefined) readSpawnResult(out, spawn, text, isError);
    },
  };
}

/** `<session>.messages.json` or `<agent>.messages.json`: all messages, rewritten as a whole. */
export class Transcript implements Parser {
  readonly #of: Speaker;
  readonly #agent: AgentKey;
  readonly #file: SourceFile;
  /** The events of the document; null before it is read. */
  #drafts: readonly EventDraft[] | null = null;

  constructor(of: Speaker, file: SourceFile) {
    this.#of = of;
    this.#agent = key.agent(of.session, of.agent);
    this.#file = file;
  }

  save = () => null;

  events(record: Uint8Array): readonly EventDraft[] {
    if (this.#drafts === null) this.push(record);
    return this.#drafts ?? [];
  }

  push(record: Uint8Array): Findings {
    this.#drafts = [];
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
    const read = new Messages(toolsOf(this.#of));
    this.#drafts = messages.flatMap((message, i) => {
      if (message !== null) return this.#readMessage(read, out, message, i + 1);
      out.problem("record-malformed", `message ${i + 1} is not an object`);
      return [];
    });
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

  #readMessage(read: Messages, all: FindingsOf, message: JsonObject, order: number): readonly EventDraft[] {
    const [id, at] = [asNonBlank(message.id), asTime(message.ts)];
    const record = key.record(id ?? `${this.#of.session} ${this.#of.agent ?? ""} ${order}`, at);
    const out = all.part({ at, keys: [record], order });
    const blocks = (typeof message.content === "string" ? [message.content] : asList(message.content)).map((block) =>
      typeof block === "string" ? { type: "text", text: block } : (asObject(block) ?? {}),
    );
    const displayRole = asText(asObject(message.metadata)?.displayRole);
    if (displayRole === "error") return this.#readError(out, blockText(blocks));
    if (displayRole === "status" || displayRole === "system") return this.#events(out, "note", blockText(blocks));
    if (message.role === "assistant") return read.add(out, this.#agent, responseIn(message, blocks, record))();
    if (message.role === "user") return read.add(out, this.#agent, this.#userIn(blocks))();
    out.problem("record-malformed", "a message without a role");
    return [];
  }

  #readError(out: FindingsOf, text: string) {
    const error = text.trim().split("\n")[0] ?? "";
    out.add({ ...RECORD, state: "failed", ...(error === "" ? {} : { error }) });
    return this.#events(out, "error", text);
  }

  #userIn(blocks: readonly JsonObject[]): Message {
    const results = toolResultsIn(blocks).map((one) => ({ ...one, text: resultText(one.content) }));
    const text = withoutFrame(blockText(blocks));
    const isMessage = text.trim() !== "" && results.length === 0;
    return {
      role: "user",
      state: "open",
      isMessage,
      text,
      results,
      // The first one of its own counts: a restored session begins with copies.
      facts: isMessage ? [{ type: "agent-described", agent: this.#agent, prompt: text }] : [],
    };
  }

  #events({ place: { keys, at } }: FindingsOf, kind: EventDraft["kind"], text: string): readonly EventDraft[] {
    return text.trim() === "" ? [] : [{ speaker: this.#agent, keys, at, kind, text, tool: null, response: null }];
  }
}

function responseIn(message: JsonObject, blocks: readonly JsonObject[], response: RecordKey): Message {
  const [calls, text] = [toolUsesIn(blocks), blockText(blocks)];
  const metrics = asObject(message.metrics);
  const content = [text, ...calls.map((call) => call.id)];
  return {
    role: "assistant",
    state: calls.length === 0 ? "answered" : "open",
    isMessage: true,
    text,
    thoughts: thoughtsIn(blocks),
    calls: calls.map((call) => ({
      ...call,
      shell: call.name === SHELL ? { command: commandsIn(call.input), cwd: null, isBackground: false } : null,
    })),
    facts: metrics === null ? [] : [usageIn(metrics, asObject(message.modelInfo), response, content)],
    response,
  };
}

/** `inputTokens` includes both caches. Reasoning is not recorded; a cost of 0 means that it is unknown. */
function usageIn(
  metrics: JsonObject,
  info: JsonObject | null,
  response: RecordKey,
  content: readonly string[],
): ModelCalled {
  const [cacheReadTokens, cacheWriteTokens] = [asCount(metrics.cacheReadTokens), asCount(metrics.cacheWriteTokens)];
  const [vendor, cost] = [asNonBlank(info?.provider), asAmount(metrics.cost)];
  const tokens = {
    ...NO_TOKENS,
    inputTokens: Math.max(0, asCount(metrics.inputTokens) - cacheReadTokens - cacheWriteTokens),
    outputTokens: asCount(metrics.outputTokens),
    cacheReadTokens,
    cacheWriteTokens,
  };
  return {
    type: "model-call",
    response,
    model: asText(info?.id) ?? "",
    ...(vendor === null ? {} : { vendor }),
    ...(cost === null || cost <= 0 ? {} : { costUsd: cost }),
    ...fingerprintsOf({ id: null, tokens, content }),
    tokens,
    chars: 0,
    ended: true,
  };
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
