import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import { AT_WORK, type LiveReader, turnEnded } from "./live-stream.ts";

/** Hook payloads in the common format that several products share. They have no time and contain no events. */
export abstract class HookReader implements LiveReader {
  /** The thread was prompted and has not responded yet. */
  protected isPrompted: boolean;

  constructor(saved?: unknown) {
    this.isPrompted = saved === true;
  }

  protected abstract threadOf(session: string): AgentKey;
  abstract read(out: FindingsOf, payload: JsonObject, thread: AgentKey): void;

  threadIn(payload: JsonObject): AgentKey | null {
    const session = asNonBlank(payload.session_id);
    // A session without a prompt is not recorded.
    return session === null || payload.hook_event_name === "SessionStart" ? null : this.threadOf(session);
  }

  timeIn(_: JsonObject): number | null {
    return null;
  }

  events = () => [];
  save = () => this.isPrompted;

  /** The user submitted a prompt, which begins a turn. */
  protected prompted(
    out: FindingsOf,
    payload: JsonObject,
    thread: AgentKey,
    prompt = asNonBlank(payload.prompt),
  ): void {
    const cwd = asNonBlank(payload.cwd);
    this.isPrompted = true;
    out.add({
      type: "agent-described",
      agent: thread,
      ...(prompt === null ? {} : { prompt }),
      ...(cwd === null ? {} : { cwd }),
    });
    out.add(AT_WORK);
  }

  protected stopped(out: FindingsOf, payload: JsonObject, thread: AgentKey): void {
    this.isPrompted = false;
    out.add(
      turnEnded(
        thread,
        "completed",
        "a hook reports that its turn is over",
        asNonBlank(payload.last_assistant_message),
      ),
    );
  }

  /** Ends an open turn. A thread that had already responded does not count as shut down. */
  protected sessionEnded(out: FindingsOf, payload: JsonObject, thread: AgentKey): void {
    if (this.isPrompted)
      out.add(
        turnEnded(
          thread,
          "shutdown",
          `a hook reports that the session ended: ${asNonBlank(payload.reason) ?? "no reason is given"}`,
        ),
      );
    this.isPrompted = false;
  }
}
