import type { AgentKey, RecordKey } from "../../../core/facts/ids.ts";
import type { ModelCalled } from "../../../core/facts/observation.ts";
import { fingerprintsOf } from "../../../core/facts/usage.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import { asNonBlank, isTooDeep, type JsonObject } from "../../../core/tools/json.ts";
import type { EventDraft } from "../../../core/views/event.ts";
import { commandIn, ShellCalls } from "../launch/shell-calls.ts";
import { type Keys, partOf } from "./keys.ts";
import { type Message, readMessage, type ToolCall, type ToolResult, type Used } from "./message.ts";

/** The agent, time and record key of a message. */
export interface Context {
  readonly agent: AgentKey;
  readonly at: number | null;
  readonly record: RecordKey;
  readonly order: number;
  /** Nesting depth in results of spawn calls. */
  readonly depth: number;
}

/** A message of the current record, from which its events are made on demand. */
interface ReadMessage {
  readonly message: Message;
  readonly context: Context;
  readonly keys: readonly RecordKey[];
  readonly response: RecordKey | null;
}

export interface StateAfter extends Pick<Message, "state" | "text"> {
  readonly error?: string;
}

/** The shell tool, as the products name it. */
const SHELLS = new Set(["bash", "Bash"]);

/** Reads the messages of a session. Products differ in how they spawn agents. */
export abstract class Conversation {
  protected readonly key: Keys;
  session: string;
  /** The folder of the session, if known. */
  cwd: string | null = null;
  shells = new ShellCalls();
  #events: EventDraft[] = [];
  #messages: ReadMessage[] = [];

  constructor(key: Keys, session: string) {
    this.key = key;
    this.session = session;
  }

  abstract save(): unknown;
  /** A tool call of the model; states the spawn, if it is one. */
  protected abstract called(out: FindingsOf, call: ToolCall, context: Context): void;
  /** A tool result; states what it contains about agents. */
  protected abstract returned(out: FindingsOf, message: Message, result: ToolResult, context: Context): void;
  /** Whether the usage stated in the result of a call is that of agents. */
  protected abstract isOfAgents(result: ToolResult): boolean;

  /** Called before each record. */
  begin(session: string): void {
    this.session = session;
    if (this.#messages.length > 0) this.#messages = [];
    if (this.#events.length > 0) this.#events = [];
  }

  /** An event of the current record that is not a message. */
  addEvent(draft: EventDraft): void {
    this.#events.push(draft);
  }

  /** The events of the current record. Made on demand, because most records are read without them. */
  events(): readonly EventDraft[] {
    return [...this.#events, ...this.#messages.flatMap((message) => this.#eventsOf(message))];
  }

  message(out: FindingsOf, json: JsonObject, context: Context): void {
    const message = readMessage(json);
    if (message === null) out.problem("record-malformed", "a message without a role");
    else this.#read(out, message, context);
  }

  #read(out: FindingsOf, message: Message, context: Context) {
    const { response: given, resultOf } = message;
    const response = given?.id == null ? null : this.key.response(given.provider, given.id);
    const alias = given?.id == null ? null : this.key.responseById(given.id);
    const keys = alias === null || response === null ? [context.record] : [context.record, alias, response];
    const returned = resultOf === null ? null : this.key.call(this.session, resultOf.call);
    const part = out.part({ speaker: context.agent, at: context.at, keys, order: context.order });
    const { state, text, error } = this.stateAfter(message);
    part.add({
      type: "record",
      role:
        message.role === "assistant"
          ? "assistant"
          : message.role === "user" || message.role === "toolResult"
            ? "user"
            : "other",
      state,
      certain: true,
      calls: message.calls.map(({ id, name }) => ({ call: this.key.call(this.session, id), name })),
      results: resultOf === null || returned === null ? [] : [{ call: returned, isError: resultOf.isError }],
      text: state === "answered" && text.trim() !== "" ? text : null,
      message: message.role === "assistant" || message.role === "user",
      ...(error === undefined ? {} : { error }),
    });
    if (given !== null)
      part.add({
        ...modelCall(given, response ?? partOf(context.record, "answer"), given.provider, given.model),
        ...(alias === null || given.id === null
          ? {}
          : { alias, ...fingerprintsOf({ id: given.id, tokens: given.tokens, content: null }) }),
      });
    if (message.used !== null && (resultOf === null || !this.isOfAgents(resultOf)))
      this.addInternalCall(out, message.used, context, "", "");
    for (const call of message.calls) {
      this.called(part, call, context);
      if (SHELLS.has(call.name)) this.#shellCalled(part, call, context.at);
    }
    if (resultOf !== null && returned !== null) {
      this.returned(part, message, resultOf, context);
      this.shells.returned(part, returned, { text: message.text, at: context.at });
    }
    this.#messages.push({ message, context, keys, response });
  }

  #shellCalled(out: FindingsOf, { id, args }: ToolCall, at: number | null) {
    const isBackground = args.run_in_background === true || args.async === true;
    this.shells.called(
      out,
      this.key.call(this.session, id),
      commandIn(args, "command"),
      folderIn(args) ?? this.cwd,
      at,
      isBackground,
    );
  }

  /** The state of the agent after a message, and its response if that is final. */
  protected stateAfter({ state, text }: Message): StateAfter {
    return { state, text };
  }

  /** A model call of the product itself or of a tool. */
  addInternalCall(
    out: FindingsOf,
    used: Used,
    { at, record, order }: Pick<Context, "at" | "record" | "order">,
    provider: string,
    model: string,
  ): void {
    const agent = this.key.internal(this.session);
    const response = partOf(record, "used");
    const part = out.part({ speaker: agent, at, keys: [response], order });
    part.add({
      type: "agent-described",
      agent,
      internal: { why: "a request of the product itself", unlessSpawned: false },
    });
    part.add(modelCall(used, response, provider, model));
  }

  #eventsOf({ message, context: { agent, at }, keys, response }: ReadMessage): readonly EventDraft[] {
    const drafts: EventDraft[] = [];
    const base = { speaker: agent, keys, at, tool: null, response };
    const addText = (kind: EventDraft["kind"], text: string | null) => {
      if (text !== null && text.trim() !== "") drafts.push({ ...base, kind, text });
    };
    for (const thought of message.thoughts) addText("reasoning", thought);
    if (message.resultOf !== null) {
      const tool = {
        name: message.resultOf.tool,
        call: this.key.call(this.session, message.resultOf.call),
        input: null,
        isError: message.resultOf.isError,
      };
      drafts.push({ ...base, kind: "toolResult", text: message.text, tool });
      return drafts;
    }
    addText(KINDS.get(message.role) ?? "note", message.role === "system" ? null : message.text);
    addText("error", message.error);
    for (const { id, name, args } of message.calls)
      drafts.push({
        ...base,
        kind: "toolCall",
        text: null,
        tool: {
          name,
          call: this.key.call(this.session, id),
          input: isTooDeep(args) ? null : args,
          isError: false,
        },
      });
    return drafts;
  }
}

const folderIn = (args: JsonObject) => {
  const folder = asNonBlank(args.cwd);
  return folder?.startsWith("/") === true ? folder : null;
};

const KINDS: ReadonlyMap<string, EventDraft["kind"]> = new Map([
  ["user", "user"],
  ["assistant", "assistant"],
]);

/** A cost is recorded if the price is known. The vendor is the product's own name for the API. */
export function modelCall({ tokens, costUsd }: Used, response: RecordKey, vendor: string, model: string): ModelCalled {
  return {
    type: "model-call",
    response,
    model,
    ...(vendor === "" ? {} : { vendor }),
    ...(costUsd === null ? {} : { costUsd }),
    tokens,
    chars: 0,
    ended: true,
  };
}
