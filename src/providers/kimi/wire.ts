import { agentKey, type RecordKey } from "../../core/facts/ids.ts";
import type { RecordState } from "../../core/facts/observation.ts";
import { fingerprintsOf, type KnownResponse, type Tokens } from "../../core/facts/usage.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, isTooDeep, type JsonObject } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { commandIn, ShellCalls, type ShellMemory } from "../kit/launch/shell-calls.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import { firstLine, textOf } from "../kit/text.ts";
import { type RecordHead, TranscriptFile } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import { NAME } from "./manifest.ts";
import { isSpawn, readEnd, readSpawn, readSpawned, readTask } from "./spawns.ts";
import { tokensOf } from "./tokens.ts";

const RECORD_START = /\{"type":"/g;
const SHELL = "Bash";
/** Records that repeat others, and long ones that are not needed: recognised by their first bytes. */
const SKIPPED = ['{"message":{', '{"type":"llm.tools_snapshot"', '{"type":"token_counting.'].map((text) =>
  new TextEncoder().encode(text),
);

interface Memory {
  readonly isIntroduced: boolean;
  readonly isPrompted: boolean;
  readonly model: string;
  readonly kind: string;
  readonly step: string;
  readonly responses: number;
  readonly prompt: string | null;
  readonly known: readonly string[];
  readonly openSpawns: readonly string[];
  readonly cwd: string | null;
  readonly shells: ShellMemory;
  readonly tokens: Tokens | null;
  readonly content: readonly string[];
}

/** `agents/<agent>/wire.jsonl` of Kimi Code: one record per line, with its time. */
export class Wire extends TranscriptFile {
  readonly #session: string;
  readonly #id: string;
  #isPrompted: boolean;
  /** The model of the last request; usage records name only an alias. */
  #model: string;
  /** The kind of the last request: `loop`, or internal work such as a compaction. */
  #kind: string;
  /** The current step, which is one response, and the number of its usage records. */
  #step: string;
  #responses: number;
  /** The id of the last prompt. */
  #prompt: string | null;
  /** Agents spawned so far. */
  readonly #known: Set<string>;
  /** Spawn calls that have not spawned yet. */
  readonly #openSpawns: Set<string>;
  #cwd: string | null;
  readonly #shells: ShellCalls;
  /** The usage, texts and calls of the current response. */
  #tokens: Tokens | null;
  #content: readonly string[];

  constructor(session: string, id: string, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    super(key.agent(session, id), file, RECORD_START, memory?.isIntroduced);
    this.#session = session;
    this.#id = id;
    this.#isPrompted = memory?.isPrompted ?? false;
    this.#model = memory?.model ?? "";
    this.#kind = memory?.kind ?? "loop";
    this.#step = memory?.step ?? "";
    this.#responses = memory?.responses ?? 0;
    this.#prompt = memory?.prompt ?? null;
    this.#known = new Set(memory?.known);
    this.#openSpawns = new Set(memory?.openSpawns);
    this.#cwd = memory?.cwd ?? null;
    this.#shells = new ShellCalls(memory?.shells);
    this.#tokens = memory?.tokens ?? null;
    this.#content = memory?.content ?? [];
  }

  save(): Memory {
    return {
      isIntroduced: this.isIntroduced,
      isPrompted: this.#isPrompted,
      model: this.#model,
      kind: this.#kind,
      step: this.#step,
      responses: this.#responses,
      prompt: this.#prompt,
      known: [...this.#known],
      openSpawns: [...this.#openSpawns],
      cwd: this.#cwd,
      shells: this.#shells.save(),
      tokens: this.#tokens,
      content: this.#content,
    };
  }

  protected override isSkipped(record: Uint8Array): boolean {
    return SKIPPED.some((start) => start.every((byte, i) => record[i] === byte)) && record.at(-1) === 0x7d;
  }

  protected headOf(json: JsonObject | null): RecordHead {
    return { at: asTime(json?.time) ?? asTime(json?.created_at), keys: [] };
  }

  protected read(out: FindingsOf, json: JsonObject, line: number): readonly EventDraft[] {
    // The other family of records repeats the same content when a turn has ended.
    if (json.kind === "event") return [];
    this.#introduce(out);
    const type = asNonBlank(json.type);
    if (type !== null) return this.#read(out, json, type, out.place.at, line);
    out.problem("record-malformed", "a record without a type");
    return [];
  }

  #introduce(out: FindingsOf) {
    if (!this.introduce(out) || this.#id === key.MAIN) return;
    // A fallback: the parent's transcript names the direct parent.
    out.addOfFile({
      type: "parent-named",
      child: this.agent,
      parent: key.agent(this.#session, key.MAIN),
      rule: "agents/<agent>",
      source: "child_rollout",
      confidence: 0.5,
      says: `its file lies in the folder of session ${this.#session}`,
    });
  }

  #read(out: FindingsOf, json: JsonObject, type: string, at: number | null, line: number): readonly EventDraft[] {
    switch (type) {
      case "profile.bind": {
        const [cwd, profile] = [asNonBlank(asObject(json.environmentDisclosure)?.cwd), asNonBlank(json.profileName)];
        const isAgent = this.#id !== key.MAIN && profile !== null;
        this.#cwd = cwd ?? this.#cwd;
        if (cwd !== null || isAgent)
          out.addOfFile({
            type: "agent-described",
            agent: this.agent,
            ...(cwd === null ? {} : { cwd }),
            ...(isAgent ? { agentType: profile } : {}),
          });
        return [];
      }
      case "turn.prompt":
        return this.#readPrompt(out, json, at, line);
      case "context.append_message":
        return this.#readMessage(json, at, line);
      case "llm.request":
        this.#model = asNonBlank(json.model) ?? asText(json.modelAlias) ?? "";
        this.#kind = asText(json.kind) ?? "loop";
        return [];
      case "usage.record":
        this.#readUsage(out, json, line);
        return [];
      case "context.append_loop_event":
        return this.#readStep(out, asObject(json.event) ?? {}, at, line);
      case "subagent.spawned": {
        const call = readSpawned(out, this.#session, json, this.#known);
        if (call !== null) this.#openSpawns.delete(call);
        return [];
      }
      case "subagent.completed":
      case "subagent.failed":
      case "subagent.cancelled":
        readEnd(out, this.#session, type, json);
        return [];
      case "task.terminated":
        readTask(out, this.#session, json);
        return [];
      case "turn.ended":
        return this.#readTurnEnd(out, json, at, line);
      case "context.apply_compaction":
        return [this.#draft(line, at, "compaction", "The conversation was compacted.")];
      default:
        // Settings, permissions, counters.
        return [];
    }
  }

  #readPrompt(out: FindingsOf, json: JsonObject, at: number | null, line: number) {
    const text = textOf(json.input, "");
    const isNotice = asText(asObject(json.origin)?.kind) === "task";
    this.#prompt = asNonBlank(json.promptId);
    if (!isNotice && !this.#isPrompted && text.trim() !== "") {
      this.#isPrompted = true;
      out.add({ type: "agent-described", agent: this.agent, prompt: text });
    }
    out.add({ ...RECORD, role: "user", state: "open", turn: "its turn has begun", message: !isNotice });
    return text.trim() === "" ? [] : [this.#draft(line, at, isNotice ? "note" : "user", text)];
  }

  /** A user message in the middle of a turn. The prompt of a turn is repeated here, and reminders are inserted. */
  #readMessage(json: JsonObject, at: number | null, line: number) {
    const message = asObject(json.message);
    const isUser = message?.role === "user" && asText(asObject(message.origin)?.kind) === "user";
    const id = asNonBlank(message?.id);
    if (!isUser || id === null || id === this.#prompt) return [];
    const text = textOf(message.content, "");
    return text.trim() === "" ? [] : [this.#draft(line, at, "user", text)];
  }

  #readUsage(out: FindingsOf, json: JsonObject, line: number) {
    const usage = asObject(json.usage);
    if (usage === null) return;
    const isLoop = this.#kind === "loop";
    const speaker = isLoop ? this.agent : agentKey(NAME, this.#session, `${this.#id}~${this.#kind}`);
    if (!isLoop)
      out.part({ speaker }).add({
        type: "agent-described",
        agent: speaker,
        internal: { why: `the product's own request (${this.#kind})`, unlessSpawned: false },
      });
    const tokens = tokensOf(usage);
    const name = isLoop && this.#step !== "" ? `${this.#step} ${this.#responses}` : `line ${line}`;
    this.#responses += 1;
    out.part({ speaker }).add({
      type: "model-call",
      response: key.record(this.#session, this.#id, name),
      model: this.#model !== "" ? this.#model : (asText(json.model) ?? ""),
      tokens,
      chars: 0,
      ended: true,
    });
    if (isLoop) this.#tokens = tokens;
  }

  #readStep(out: FindingsOf, event: JsonObject, at: number | null, line: number): readonly EventDraft[] {
    const uuid = asNonBlank(event.uuid) ?? `line ${line}`;
    const keys = [uuid, asNonBlank(event.stepUuid) ?? uuid].map((id) => key.record(this.#session, this.#id, id));
    const part = out.part({ keys });
    switch (event.type) {
      case "step.begin":
        this.#step = uuid;
        this.#responses = 0;
        this.#tokens = null;
        this.#content = [];
        return [];
      case "step.end":
        this.#readStepEnd(out, event);
        return [];
      case "content.part":
        return this.#readPart(part, asObject(event.part) ?? {}, at, line, keys);
      case "tool.call":
        return this.#readCall(part, event, at, line, keys);
      case "tool.result":
        return this.#readResult(part, event, at, line);
      default:
        return [];
    }
  }

  /** Repeats the usage of the response, with the API's id of it. */
  #readStepEnd(out: FindingsOf, event: JsonObject) {
    const [usage, id] = [asObject(event.usage), asNonBlank(event.messageId)];
    if (usage !== null && id !== null) this.#identify(out, { id, tokens: tokensOf(usage), content: null });
  }

  /**
   * States fingerprints, because the proxy may have seen the same response. The API's id is known only when the step has
   * ended, after the results of its calls; until then its texts and calls identify it.
   */
  #identify(out: FindingsOf, known: KnownResponse) {
    const { tokens } = known;
    if (tokens === null) return;
    out.part({ keys: [this.#response] }).add({
      type: "model-call",
      response: this.#response,
      ...fingerprintsOf(known),
      model: this.#model,
      tokens,
      chars: 0,
      ended: true,
    });
  }

  #readPart(out: FindingsOf, part: JsonObject, at: number | null, line: number, keys: readonly RecordKey[]) {
    const isText = part.type === "text";
    const text = (isText ? asText(part.text) : (asText(part.think) ?? asText(part.text))) ?? "";
    if (text.trim() === "") return [];
    if (isText) this.#content = [...this.#content, text];
    if (isText) out.add({ ...RECORD, role: "assistant", text, message: true });
    return [{ ...this.#draft(line, at, isText ? "assistant" : "reasoning", text, keys), response: this.#response }];
  }

  #readCall(out: FindingsOf, event: JsonObject, at: number | null, line: number, keys: readonly RecordKey[]) {
    const [id, name] = [asNonBlank(event.toolCallId), asNonBlank(event.name)];
    if (id === null || name === null) return [];
    const [call, args] = [key.call(this.#session, id), asObject(event.args) ?? {}];
    out.add({ ...RECORD, role: "assistant", calls: [{ call, name, ...waitsFor(name) }], message: true });
    statePlan(out, args);
    if (name === SHELL)
      this.#shells.called(
        out,
        call,
        commandIn(args, "command"),
        asNonBlank(args.cwd) ?? this.#cwd,
        at,
        args.run_in_background === true,
      );
    if (isSpawn(name)) {
      this.#openSpawns.add(id);
      readSpawn(out, this.#session, id, name, args);
    }
    this.#content = [...this.#content, id];
    this.#identify(out, { id: null, tokens: this.#tokens, content: this.#content });
    const tool = { name, call, input: isTooDeep(args) ? null : args, isError: false };
    return [{ ...this.#draft(line, at, "toolCall", null, keys), tool, response: this.#response }];
  }

  #readResult(out: FindingsOf, event: JsonObject, at: number | null, line: number) {
    const id = asNonBlank(event.toolCallId);
    if (id === null) return [];
    const result = asObject(event.result);
    const [call, isError] = [key.call(this.#session, id), result?.isError === true];
    out.add({ ...RECORD, role: "user", results: [{ call, isError }] });
    const text = textOf(result?.output, "");
    this.#shells.returned(out, call, { text, at });
    // Agents have no tool to spawn others, but models call it anyway. Of equal calls in one response, Kimi runs one and
    // gives its result to all.
    const isRepeated = this.#known.has(/^agent_id: (\S+)/m.exec(text)?.[1] ?? "");
    if (this.#openSpawns.delete(id) && (isError || isRepeated)) out.add({ type: "call-refused", call, says: text });
    return [{ ...this.#draft(line, at, "toolResult", text), tool: { name: null, call, input: null, isError } }];
  }

  #readTurnEnd(out: FindingsOf, json: JsonObject, at: number | null, line: number): readonly EventDraft[] {
    const reason = asText(json.reason) ?? "completed";
    const error = asNonBlank(asObject(json.error)?.message);
    const state: RecordState = reason === "completed" ? "answered" : reason === "failed" ? "failed" : "interrupted";
    const turn = `its turn ended: ${reason}${error === null ? "" : `: ${firstLine(error)}`}`;
    out.add({ ...RECORD, state, turn, ...(error === null ? {} : { error: firstLine(error) }) });
    return error === null ? [] : [this.#draft(line, at, "error", error)];
  }

  get #response(): RecordKey {
    return key.record(this.#session, this.#id, `${this.#step} 0`);
  }

  #draft(
    line: number,
    at: number | null,
    kind: EventDraft["kind"],
    text: string | null,
    keys: readonly RecordKey[] = [key.record(this.#session, this.#id, `line ${line}`)],
  ): EventDraft {
    return { speaker: this.agent, keys, at, kind, text, tool: null, response: null };
  }
}

const waitsFor = (tool: string) => (tool === "AskUserQuestion" ? { waitsFor: "answer" } : {});
