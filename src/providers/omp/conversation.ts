import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, type JsonObject } from "../../core/tools/json.ts";
import { AT_WORK } from "../kit/live-stream.ts";
import { Conversation, type StateAfter } from "../kit/pi/conversation.ts";
import type { Message, ToolCall, ToolResult } from "../kit/pi/message.ts";
import { key } from "./keys.ts";
import { HUB, readDelivery, readDetails, readJobs, readTask, TASK, YIELD, yieldedIn } from "./tasks.ts";

/** Reads the spawn calls in messages, and what their results and those of the hub say about agents. */
export class OmpConversation extends Conversation {
  readonly #agent: string | null;
  /** The agent has not responded to its last prompt yet. */
  #isOpen: boolean;

  /** `agent` is null for the main agent. */
  constructor(session: string, agent: string | null, saved?: unknown) {
    super(key, session);
    this.#agent = agent;
    this.#isOpen = saved === true;
  }

  save = () => this.#isOpen;
  protected isOfAgents = ({ tool }: ToolResult) => tool === TASK;

  protected called(out: FindingsOf, { id, name, args }: ToolCall) {
    if (name === TASK) readTask(out, { session: this.session, agent: this.#agent }, id, args);
    const to = name === HUB && args.op === "send" ? asNonBlank(args.to) : null;
    if (to !== null) out.add({ type: "message-sent", to: { named: to } });
  }

  protected returned(out: FindingsOf, _: Message, { call: id, tool, isError, details }: ToolResult) {
    const call = key.call(this.session, id);
    if (tool === HUB) return readJobs(out, this.session, details, "parent_rollout");
    if (tool !== TASK) return;
    const isNamed = readDetails(out, this.session, call, details, "parent_rollout");
    // No agent was spawned, for example because its type is unknown.
    if (!isNamed && (isError || details !== null)) out.add({ type: "call-refused", call });
  }

  /** An agent ends by calling a tool. */
  protected override stateAfter(message: Message): StateAfter {
    const { resultOf } = message;
    const isYield = resultOf?.tool === YIELD && !resultOf.isError;
    const after = (isYield ? yieldedIn(resultOf.details) : null) ?? super.stateAfter(message);
    if (after.state !== null) this.#isOpen = after.state === "open";
    return after;
  }

  /** Results of background agents, which begin a new turn. */
  delivered(out: FindingsOf, text: string): void {
    this.#isOpen = true;
    out.add({ ...AT_WORK, role: "user" });
    readDelivery(out, this.session, text);
  }

  /** The session was closed, which ends a turn that is not complete. */
  closed(out: FindingsOf, data: JsonObject): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    const turn = `its session was closed: ${asNonBlank(data.reason) ?? "no reason is given"}`;
    out.add({ ...AT_WORK, state: "interrupted", turn });
  }
}
