import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { SourceFile } from "../../core/ports/provider.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { type Message, type MessageResult, Messages, type MessagesMemory, type Tools } from "./messages.ts";
import { TranscriptFile } from "./transcript-file.ts";

interface Memory<State> {
  readonly isIntroduced: boolean;
  readonly state: State;
  readonly messages: MessagesMemory;
}

/** A transcript of messages. `state` is what the reader of a product remembers between records; it must be plain data. */
export abstract class ConversationFile<
  State extends object,
  Result extends MessageResult = MessageResult,
> extends TranscriptFile {
  protected readonly state: State;
  readonly #messages: Messages<Result>;

  constructor(
    agent: AgentKey,
    file: SourceFile,
    recordStart: RegExp,
    tools: Tools<Result>,
    initial: State,
    saved: unknown,
  ) {
    // Written by `save` of the same version; the index is rebuilt for another one.
    const memory = saved as Memory<State> | undefined;
    super(agent, file, recordStart, memory?.isIntroduced);
    this.state = { ...(memory?.state ?? initial) };
    this.#messages = new Messages(tools, memory?.messages);
  }

  save(): Memory<State> {
    return { isIntroduced: this.isIntroduced, state: { ...this.state }, messages: this.#messages.save() };
  }

  protected message(
    out: FindingsOf,
    message: Message & { readonly results?: readonly Result[] },
  ): () => readonly EventDraft[] {
    return this.#messages.add(out, this.agent, message);
  }

  /** An event that is not part of a message. */
  protected event({ place: { keys, at } }: FindingsOf, kind: EventDraft["kind"], text: string): EventDraft {
    return { speaker: this.agent, keys, at, kind, text, tool: null, response: null };
  }
}
