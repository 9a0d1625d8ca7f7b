/** The older Kimi CLI (Python, `~/.kimi`), from its sources: docs/formats/kimi.md. */
import { type AgentKey, ANONYMOUS } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Parser, SourceFile } from "../../core/ports/provider.ts";
import { asNonBlank, asNumber, asObject, asText, asTime, type JsonObject, parseJson } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { JsonRecords } from "../kit/json-records.ts";
import { statePlan } from "../kit/plan.ts";
import { RECORD } from "../kit/record.ts";
import { textOf } from "../kit/text.ts";
import { type RecordHead, TranscriptFile } from "../kit/transcript-file.ts";
import * as key from "./keys.ts";
import { endOf } from "./spawns.ts";
import { tokensOf } from "./tokens.ts";

const RECORD_START = /\{"(?:timestamp|type)":/g;
const SPAWN_TOOLS = new Set(["Agent", "Task"]);

interface Memory {
  readonly isIntroduced: boolean;
  readonly prompted: readonly string[];
  readonly linked: readonly string[];
}

/** The agent of a record: events of an agent without its own file are in its parent's. */
interface Place {
  readonly id: string;
  readonly agent: AgentKey;
  readonly line: number;
  readonly at: number | null;
}

/** `wire.jsonl` of a session or of one of its agents: `{timestamp, message: {type, payload}}`. */
export class OldWire extends TranscriptFile {
  readonly #session: string;
  readonly #id: string;
  readonly #prompted: Set<string>;
  readonly #linked: Set<string>;
  #drafts: EventDraft[] = [];

  constructor(session: string, id: string, file: SourceFile, saved?: unknown) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory | undefined;
    super(key.agent(session, id), file, RECORD_START, memory?.isIntroduced);
    this.#session = session;
    this.#id = id;
    this.#prompted = new Set(memory?.prompted);
    this.#linked = new Set(memory?.linked);
  }

  save(): Memory {
    return { isIntroduced: this.isIntroduced, prompted: [...this.#prompted], linked: [...this.#linked] };
  }

  protected headOf(json: JsonObject | null): RecordHead {
    return { at: secondsIn(json?.timestamp), keys: [] };
  }

  protected read(out: FindingsOf, json: JsonObject, line: number): readonly EventDraft[] {
    this.#drafts = [];
    const message = asObject(json.message);
    if (message === null) {
      if (out.problems.length === 0 && json.type !== "metadata") out.problem("record-malformed", "not a message");
      return [];
    }
    if (this.introduce(out) && this.#id !== key.MAIN) out.addOfFile(below(this.#session, this.agent));
    this.#read(out, message, { id: this.#id, agent: this.agent, line, at: out.place.at });
    return this.#drafts;
  }

  #read(out: FindingsOf, { type, payload: value }: JsonObject, place: Place) {
    const payload = asObject(value) ?? {};
    switch (type) {
      case "TurnBegin":
        return this.#readPrompt(out, payload, place);
      case "StatusUpdate":
        return this.#readUsage(out, payload, place);
      case "ContentPart":
        return this.#readPart(out, payload, place);
      case "ToolCall":
        return this.#readCall(out, payload, place);
      case "ToolResult":
        return this.#readResult(out, payload, place);
      case "TurnEnd":
        return out.add({ ...RECORD, state: "answered", turn: "its turn ended" });
      case "StepInterrupted":
        return out.add({ ...RECORD, state: "interrupted", turn: "its step was interrupted" });
      case "SubagentEvent":
        return this.#readAgent(out, payload, place);
    }
  }

  #readAgent(out: FindingsOf, payload: JsonObject, { line, at }: Place) {
    const call = asNonBlank(payload.parent_tool_call_id) ?? asNonBlank(payload.task_tool_call_id);
    const named = asNonBlank(payload.agent_id);
    const id = named ?? (call === null ? null : ANONYMOUS + call);
    if (id === null) return;
    const agent = key.agent(this.#session, id);
    const type = asNonBlank(payload.subagent_type);
    if (!this.#linked.has(id)) {
      this.#linked.add(id);
      out.add({ type: "agent-described", agent, ...(type === null ? {} : { agentType: type }) });
      if (call !== null)
        out.add({
          type: "call-spawned",
          call: key.call(this.#session, call),
          child: agent,
          rule: "SubagentEvent.parent_tool_call_id",
          source: "parent_rollout",
          says: `its parent's transcript names call ${call}`,
        });
    }
    const event = asObject(payload.event);
    // An agent with an id has a file of its own.
    if (named === null && event !== null) this.#read(out.part({ speaker: agent }), event, { id, agent, line, at });
  }

  #readPrompt(out: FindingsOf, payload: JsonObject, place: Place) {
    const text = textOf(payload.user_input, "");
    if (!this.#prompted.has(place.id) && text.trim() !== "") {
      this.#prompted.add(place.id);
      out.add({ type: "agent-described", agent: place.agent, prompt: text });
    }
    out.add({ ...RECORD, role: "user", state: "open", turn: "its turn has begun", message: true });
    this.#draft(place, "user", text);
  }

  #readUsage(out: FindingsOf, payload: JsonObject, { id, line }: Place) {
    const usage = asObject(payload.token_usage);
    if (usage === null) return;
    const name = asNonBlank(payload.message_id) ?? `usage ${line}`;
    const response = key.record(this.#session, id, name);
    out.add({ type: "model-call", response, model: "", tokens: tokensOf(usage), chars: 0, ended: true });
  }

  #readPart(out: FindingsOf, part: JsonObject, place: Place) {
    const text = asText(part.text);
    if (text !== null && text.trim() !== "") out.add({ ...RECORD, role: "assistant", text, message: true });
    this.#draft(place, text === null ? "reasoning" : "assistant", text ?? asText(part.think) ?? "");
  }

  #readCall(out: FindingsOf, payload: JsonObject, place: Place) {
    const made = asObject(payload.function);
    const [id, name] = [asNonBlank(payload.id), asNonBlank(made?.name)];
    if (id === null || name === null) return;
    const call = key.call(this.#session, id);
    const args = asObject(parseJson(asText(made?.arguments) ?? "")?.value) ?? {};
    out.add({ ...RECORD, role: "assistant", calls: [{ call, name }], message: true });
    statePlan(out, args);
    if (SPAWN_TOOLS.has(name) && asNonBlank(args.resume) === null)
      out.add({
        type: "spawn-called",
        call,
        tool: name,
        makes: "one",
        prompt: asText(args.prompt),
        agentType: asNonBlank(args.subagent_type) ?? asNonBlank(args.subagent_name),
        description: asNonBlank(args.description),
        name: null,
        offers: [],
      });
    this.#draft(place, "toolCall", null, { name, call, input: args, isError: false });
  }

  #readResult(out: FindingsOf, payload: JsonObject, place: Place) {
    const id = asNonBlank(payload.tool_call_id);
    if (id === null) return;
    const [call, value] = [key.call(this.#session, id), asObject(payload.return_value)];
    const isError = value?.is_error === true;
    out.add({ ...RECORD, role: "user", results: [{ call, isError }] });
    this.#draft(place, "toolResult", textOf(value?.output, ""), { name: null, call, input: null, isError });
  }

  #draft(
    { id, agent, line, at }: Place,
    kind: EventDraft["kind"],
    text: string | null,
    tool: EventDraft["tool"] = null,
  ) {
    if (tool === null && (text ?? "").trim() === "") return;
    const keys = [key.record(this.#session, id, `line ${line}`)];
    this.#drafts.push({ speaker: agent, keys, at, kind, text, tool, response: null });
  }
}

/** `subagents/<agent>/meta.json`. */
export function oldMeta(session: string, id: string, file: SourceFile): Parser {
  const agent = key.agent(session, id);
  return new JsonRecords(file, {
    speaker: () => agent,
    at: (meta) => secondsIn(meta.created_at),
    read(meta, out) {
      const [type, description] = [asNonBlank(meta.subagent_type), asNonBlank(meta.description)];
      out.add({
        type: "agent-described",
        agent,
        vouched: true,
        ...(type === null ? {} : { agentType: type }),
        ...(description === null ? {} : { description }),
        ...(meta.status === "running_background" ? { background: true } : {}),
      });
      out.addOfFile(below(session, agent));
      const state = endOf(meta.status);
      if (state !== null)
        out.addAt(secondsIn(meta.updated_at), {
          type: "lifecycle",
          of: agent,
          state,
          source: "protocol",
          says: `its meta file has status ${asText(meta.status)}`,
          result: null,
        });
    },
  });
}

const below = (session: string, agent: AgentKey) =>
  ({
    type: "parent-named",
    child: agent,
    parent: key.agent(session, key.MAIN),
    rule: "subagents/<agent>",
    source: "child_rollout",
    confidence: 0.9,
    says: `its files lie in the folder of session ${session}`,
  }) as const;

const secondsIn = (value: unknown) => {
  const seconds = asNumber(value);
  return seconds === null ? null : asTime(Math.round(seconds * 1000));
};
