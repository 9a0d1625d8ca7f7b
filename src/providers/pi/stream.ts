import { commandOf, optionIn } from "../../core/command.ts";
import type { FindingsOf } from "../../core/findings.ts";
import { type AgentKey, partsOf } from "../../core/ids.ts";
import { asList, asObject, asText, asTime, asWords, type JsonObject } from "../../core/json.ts";
import { AT_WORK, type LiveReader, speakingOnly, turnEnded } from "../../core/live-stream.ts";
import type { Wrapping } from "../../core/provider.ts";
import * as key from "./keys.ts";
import { readMessage } from "./message.ts";
import { type End, endByStatus, outcomesIn, type Task, tasksOf } from "./spawns.ts";

const NAMES = new Set(["pi", "@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"]);

/** `pi --mode json`. */
export function wrap(words: readonly string[]): Wrapping | null {
  const command = commandOf(words);
  if (command === null || !NAMES.has(command.name)) return null;
  const mode = optionIn(command.args, "--mode");
  return speakingOnly(mode === "json", mode === "json" ? words : mode === null ? [...words, "--mode", "json"] : null);
}

/** Whether Pi printed a line. Its sessions begin with the same header in their files, so only what stands in no file tells. */
export const isPrinted = (said: JsonObject): boolean | null => (said.type === "agent_start" && !("id" in said) ? true : null);

/** What `--mode json` prints: messages without the ids of their entries, and calls with theirs. */
export class PiStream implements LiveReader {
  /** How many agents a call makes. */
  readonly #spawns: Map<string, number>;

  constructor(saved?: unknown) {
    this.#spawns = new Map(saved as readonly (readonly [string, number])[] | undefined);
  }

  save = () => [...this.#spawns];

  threadIn(said: JsonObject): AgentKey | null {
    const id = said.type === "session" ? asWords(said.id) : null;
    return id === null ? null : key.thread(id);
  }

  timeIn = (said: JsonObject) => asTime(asObject(said.message)?.timestamp) ?? asTime(said.timestamp);
  events = () => [];

  read(out: FindingsOf, said: JsonObject, thread: AgentKey) {
    const session = partsOf(thread).thread;
    const [id, tool] = [asWords(said.toolCallId), asWords(said.toolName)];
    switch (said.type) {
      case "session":
        return out.add(AT_WORK);
      case "message_end": {
        const message = readMessage(asObject(said.message) ?? {});
        if (message?.role === "user" && message.text.trim() !== "") out.add({ type: "agent-described", agent: thread, prompt: message.text });
        return;
      }
      case "tool_execution_start": {
        const tasks = id === null || tool === null ? null : tasksOf({ id, name: tool, args: asObject(said.args) ?? {} });
        if (id !== null && tool !== null && tasks !== null) this.#ask(out, id, tool, tasks, thread);
        return;
      }
      case "tool_execution_end":
        return id === null ? undefined : this.#answered(out, id, asObject(said.result), said.isError === true, session);
      case "agent_end":
        return out.add(endOf(thread, asList(said.messages)));
    }
  }

  #childOf(session: string, call: string, index: number): AgentKey {
    const id = call.replaceAll("/", "_");
    return key.agent(session, (this.#spawns.get(call) ?? 1) === 1 ? id : `${id}.${index}`);
  }

  #ask(out: FindingsOf, id: string, tool: string, tasks: readonly Task[], thread: AgentKey) {
    const session = partsOf(thread).thread;
    const call = key.call(session, id);
    this.#spawns.set(id, tasks.length);
    const [first] = tasks;
    if (tasks.length === 1 && first !== undefined) {
      const { prompt, agentType, description } = first;
      const offers = prompt === null ? [] : [key.promptMatch(session, prompt)];
      return out.add({ type: "spawn-called", call, tool, makes: "one", prompt, agentType, description, name: null, offers });
    }
    out.add({ type: "spawn-called", call, tool, makes: "maybe", prompt: null, agentType: null, description: null, name: null, offers: [] });
    for (const [i, { prompt, agentType }] of tasks.entries()) {
      const child = this.#childOf(session, id, i);
      out.add({ type: "agent-described", agent: child, ...(prompt === null ? {} : { prompt }), ...(agentType === null ? {} : { agentType }) });
      out.add({ type: "call-spawned", call, child, rule: "subagent.tasks", source: "protocol", says: `task ${i + 1} of its parent's call` });
    }
  }

  #answered(out: FindingsOf, id: string, result: JsonObject | null, isError: boolean, session: string) {
    if (!this.#spawns.has(id)) return;
    const details = asObject(result?.details);
    const call = key.call(session, id);
    const agent = asWords(details?.agentId);
    // Without a time: what stands in the session's own file knows more, and counts where there is any.
    const ended = (of: AgentKey | { readonly call: typeof call }, end: End) =>
      out.addAt(null, { type: "lifecycle", of, source: "protocol", ...end, yields: true });
    if (agent !== null) {
      const child = key.agent(session, agent);
      out.add({ type: "call-spawned", call, child, rule: "details.agentId", source: "protocol", says: `the result of its call names agent ${agent}` });
      const end = endByStatus(asText(details?.status), asWords(details?.error), null);
      return end === null ? undefined : ended(child, end);
    }
    const outcomes = outcomesIn(details);
    for (const { index, run, end } of outcomes) {
      const child = run === null ? this.#childOf(session, id, index) : key.agent(session, run.agent);
      out.add({ type: "call-spawned", call, child, rule: "details.results", source: "protocol", says: "a result of its parent's call is its own" });
      if (end !== null) ended(child, end);
    }
    if (outcomes.length === 0 && isError) ended({ call }, { state: "errored", says: "its call failed", result: null });
  }
}

function endOf(thread: AgentKey, messages: readonly unknown[]) {
  const last = asObject(messages.at(-1));
  const failed = asText(last?.stopReason) === "error";
  return turnEnded(thread, failed ? "errored" : "completed", `its stream ends${failed ? `: ${asWords(last?.errorMessage) ?? "an error"}` : ""}`);
}
