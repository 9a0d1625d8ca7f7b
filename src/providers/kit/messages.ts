import type { AgentKey, CallKey, RecordKey } from "../../core/facts/ids.ts";
import type { Fact, RecordRead } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { isTooDeep } from "../../core/tools/json.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { ShellCalls, type ShellMemory } from "./launch/shell-calls.ts";
import type { ToolUse } from "./message-blocks.ts";
import { statePlan } from "./plan.ts";
import { RECORD } from "./record.ts";

/** A message of a conversation, independent of the product. Its facts and its events follow from it. */
export interface Message extends Pick<RecordRead, "role" | "state"> {
  /** False if the product does not record whether a response was complete; true if not given. */
  readonly certain?: boolean;
  /** False for bookkeeping. */
  readonly isMessage: boolean;
  readonly text: string;
  /** How the text is shown, if not as what its role wrote; null: it is not shown. */
  readonly shown?: Pick<EventDraft, "kind" | "text"> | null;
  readonly thoughts?: readonly string[];
  readonly calls?: readonly MessageCall[];
  readonly results?: readonly MessageResult[];
  /** What else its record states, such as its usage. */
  readonly facts?: readonly Fact[];
  /** Its response, if the tokens of that are known. */
  readonly response?: RecordKey | null;
}

export interface MessageCall extends ToolUse {
  /** Set for calls of the shell tool. */
  readonly shell?: ShellUse | null;
}

export interface ShellUse {
  readonly command: string | null;
  readonly cwd: string | null;
  /** The tool itself returns before the command ends. */
  readonly isBackground: boolean;
}

export interface MessageResult {
  readonly id: string;
  readonly isError: boolean;
  readonly text: string;
}

/** What the tools of a product do. `Result` is what it records of a result. */
export interface Tools<Result extends MessageResult = MessageResult> {
  key(id: string): CallKey;
  /** States what a call spawns. True if the result of the call states more. */
  spawn(out: FindingsOf, call: ToolUse): boolean;
  /** States the result of a call for which `spawn` returned true. */
  spawned(out: FindingsOf, result: Result): void;
}

export interface MessagesMemory {
  readonly spawns: readonly string[];
  readonly shells: ShellMemory;
}

/** States the messages of one conversation, and makes their events on demand. */
export class Messages<Result extends MessageResult = MessageResult> {
  readonly #tools: Tools<Result>;
  /** Spawn calls without a result. */
  readonly #spawns: Set<string>;
  readonly #shells: ShellCalls;

  constructor(tools: Tools<Result>, saved?: MessagesMemory) {
    this.#tools = tools;
    this.#spawns = new Set(saved?.spawns);
    this.#shells = new ShellCalls(saved?.shells);
  }

  save(): MessagesMemory {
    return { spawns: [...this.#spawns], shells: this.#shells.save() };
  }

  add(
    out: FindingsOf,
    speaker: AgentKey,
    message: Message & { readonly results?: readonly Result[] },
  ): () => readonly EventDraft[] {
    const { role, state, certain = true, isMessage, text, calls = [], results = [], facts = [] } = message;
    const { keys, at } = out.place;
    out.add({
      ...RECORD,
      role,
      state,
      certain,
      calls: calls.map(({ id, name }) => ({ call: this.#tools.key(id), name })),
      results: results.map(({ id, isError }) => ({ call: this.#tools.key(id), isError })),
      text: state === "answered" && text.trim() !== "" ? text : null,
      message: isMessage,
    });
    for (const result of results) {
      if (this.#spawns.delete(result.id)) this.#tools.spawned(out, result);
      this.#shells.returned(out, this.#tools.key(result.id), { text: result.text, at });
    }
    for (const fact of facts) out.add(fact);
    for (const call of calls) {
      const { id, input, shell = null } = call;
      statePlan(out, input);
      if (shell !== null)
        this.#shells.called(out, this.#tools.key(id), shell.command, shell.cwd, at, shell.isBackground);
      if (this.#tools.spawn(out, call)) this.#spawns.add(id);
    }
    return () => this.#events({ speaker, keys, at }, message);
  }

  #events(of: Pick<EventDraft, "speaker" | "keys" | "at">, message: Message): readonly EventDraft[] {
    const { role, text, thoughts = [], calls = [], results = [], response = null } = message;
    const { shown = { kind: role === "other" ? "note" : role, text } } = message;
    const base = { ...of, tool: null, response };
    return [
      ...results.map(({ id, isError, text: output }) => ({
        ...base,
        kind: "toolResult" as const,
        text: output,
        tool: { name: null, call: this.#tools.key(id), input: null, isError },
      })),
      ...thoughts.map((thought) => ({ ...base, kind: "reasoning" as const, text: thought })),
      ...(shown === null || text.trim() === "" ? [] : [{ ...base, ...shown }]),
      ...calls.map(({ id, name, input }) => ({
        ...base,
        kind: "toolCall" as const,
        text: null,
        tool: { name, call: this.#tools.key(id), input: isTooDeep(input) ? null : input, isError: false },
      })),
    ];
  }
}
