import type { FindingsOf } from "./findings.ts";
import type { AgentKey } from "./ids.ts";
import { asWords, type JsonObject } from "./json.ts";
import { type LiveReader, turnEnded } from "./live-stream.ts";

/** What products tell their hooks: payloads of one form, which others took over from the first that had them. They come without a time, and are nothing to read. */
export abstract class HookReader implements LiveReader {
  /** The thread was asked something and has not answered yet. */
  protected isAsked: boolean;

  constructor(saved?: unknown) {
    this.isAsked = saved === true;
  }

  protected abstract threadOf(session: string): AgentKey;
  abstract read(out: FindingsOf, said: JsonObject, thread: AgentKey): void;

  threadIn(said: JsonObject): AgentKey | null {
    const session = asWords(said.session_id);
    // A session that only began is none yet, and nothing is written down of it.
    return session === null || said.hook_event_name === "SessionStart" ? null : this.threadOf(session);
  }

  timeIn = () => null;
  events = () => [];
  save = () => this.isAsked;

  protected stopped(out: FindingsOf, said: JsonObject, thread: AgentKey): void {
    this.isAsked = false;
    out.add(turnEnded(thread, "completed", "a hook says that its turn is over", asWords(said.last_assistant_message)));
  }

  /** Ends what was still asked; a thread that had answered is not shut down by that. */
  protected sessionEnded(out: FindingsOf, said: JsonObject, thread: AgentKey): void {
    if (this.isAsked) out.add(turnEnded(thread, "shutdown", `a hook says that the session ended: ${asWords(said.reason) ?? "no reason is given"}`));
    this.isAsked = false;
  }
}
