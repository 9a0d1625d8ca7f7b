import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { commandOf, optionIn } from "../kit/command.ts";
import { AT_WORK, type LiveReader, outputOnly, turnEnded } from "../kit/live-stream.ts";
import { readMessage } from "../kit/pi/message.ts";
import { key } from "./keys.ts";
import { type End, endByStatus, outcomesIn, type Task, tasksOf } from "./spawns.ts";

const NAMES = new Set(["pi", "@mariozechner/pi-coding-agent", "@earendil-works/pi-coding-agent"]);

/** `pi --mode json`. */
export function wrap(argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !NAMES.has(command.name)) return null;
  const mode = optionIn(command.args, "--mode");
  return outputOnly(mode === "json", mode === "json" ? argv : mode === null ? [...argv, "--mode", "json"] : null);
}

/** Whether Pi printed a line. Session files begin with the same header, so only lines that occur in no file count. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "agent_start" && !("id" in line) ? true : null;

/** Reads `--mode json`: messages without entry ids, calls with ids. */
export class PiStream implements LiveReader {
  /** Number of agents per call. */
  readonly #spawns: Map<string, number>;

  constructor(saved?: unknown) {
    this.#spawns = new Map(saved as readonly (readonly [string, number])[] | undefined);
  }

  save = () => [...this.#spawns];

  threadIn(line: JsonObject): AgentKey | null {
    const id = line.type === "session" ? asNonBlank(line.id) : null;
    return id === null ? null : key.thread(id);
  }

  timeIn = (line: JsonObject) => asTime(asObject(line.message)?.timestamp) ?? asTime(line.timestamp);
  events = () => [];

  read(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    const session = partsOf(thread).thread;
    const [id, tool] = [asNonBlank(line.toolCallId), asNonBlank(line.toolName)];
    switch (line.type) {
      case "session":
        return out.add(AT_WORK);
      case "message_end": {
        const message = readMessage(asObject(line.message) ?? {});
        if (message?.role === "user" && message.text.trim() !== "")
          out.add({ type: "agent-described", agent: thread, prompt: message.text });
        return;
      }
      case "tool_execution_start": {
        const tasks =
          id === null || tool === null ? null : tasksOf({ id, name: tool, args: asObject(line.args) ?? {} });
        if (id !== null && tool !== null && tasks !== null) this.#ask(out, id, tool, tasks, thread);
        return;
      }
      case "tool_execution_end":
        return id === null ? undefined : this.#answered(out, id, asObject(line.result), line.isError === true, session);
      case "agent_end":
        return out.add(endOf(thread, asList(line.messages)));
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
      return out.add({
        type: "spawn-called",
        call,
        tool,
        makes: "one",
        prompt,
        agentType,
        description,
        name: null,
        offers,
      });
    }
    out.add({
      type: "spawn-called",
      call,
      tool,
      makes: "maybe",
      prompt: null,
      agentType: null,
      description: null,
      name: null,
      offers: [],
    });
    for (const [i, { prompt, agentType }] of tasks.entries()) {
      const child = this.#childOf(session, id, i);
      out.add({
        type: "agent-described",
        agent: child,
        ...(prompt === null ? {} : { prompt }),
        ...(agentType === null ? {} : { agentType }),
      });
      out.add({
        type: "call-spawned",
        call,
        child,
        rule: "subagent.tasks",
        source: "protocol",
        says: `task ${i + 1} of its parent's call`,
      });
    }
  }

  #answered(out: FindingsOf, id: string, result: JsonObject | null, isError: boolean, session: string) {
    if (!this.#spawns.has(id)) return;
    const details = asObject(result?.details);
    const call = key.call(session, id);
    const agent = asNonBlank(details?.agentId);
    // Without a time, because the session's own file is more accurate.
    const ended = (of: AgentKey | { readonly call: typeof call }, end: End) =>
      out.addAt(null, { type: "lifecycle", of, source: "protocol", ...end, yields: true });
    if (agent !== null) {
      const child = key.agent(session, agent);
      out.add({
        type: "call-spawned",
        call,
        child,
        rule: "details.agentId",
        source: "protocol",
        says: `the result of its call names agent ${agent}`,
      });
      const end = endByStatus(asText(details?.status), asNonBlank(details?.error), null);
      return end === null ? undefined : ended(child, end);
    }
    const outcomes = outcomesIn(details);
    for (const { index, run, end } of outcomes) {
      const child = run === null ? this.#childOf(session, id, index) : key.agent(session, run.agent);
      out.add({
        type: "call-spawned",
        call,
        child,
        rule: "details.results",
        source: "protocol",
        says: "a result of its parent's call is its own",
      });
      if (end !== null) ended(child, end);
    }
    if (outcomes.length === 0 && isError) ended({ call }, { state: "errored", says: "its call failed", result: null });
  }
}

function endOf(thread: AgentKey, messages: readonly unknown[]) {
  const last = asObject(messages.at(-1));
  const failed = asText(last?.stopReason) === "error";
  return turnEnded(
    thread,
    failed ? "errored" : "completed",
    `its stream ends${failed ? `: ${asNonBlank(last?.errorMessage) ?? "an error"}` : ""}`,
  );
}
