import { type AgentKey, partsOf } from "../../../core/facts/ids.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import type { Wrapping } from "../../../core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, asTime, type JsonObject } from "../../../core/tools/json.ts";
import { commandOf, optionIn } from "../command.ts";
import { AT_WORK, type LiveReader, outputOnly, turnEnded } from "../live-stream.ts";
import type { Keys } from "./keys.ts";
import { readMessage, type ToolCall, type ToolResult } from "./message.ts";

/** `<program> --mode json`. */
export function wrapOf(programs: readonly string[], argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !programs.includes(command.name)) return null;
  const mode = optionIn(command.args, "--mode");
  return outputOnly(mode === "json", mode === "json" ? argv : mode === null ? [...argv, "--mode", "json"] : null);
}

/** Reads `--mode json`: messages without entry ids, calls with ids. Products differ in how they spawn agents. */
export abstract class SessionStream implements LiveReader {
  readonly #key: Keys;

  constructor(key: Keys) {
    this.#key = key;
  }

  abstract save(): unknown;
  protected abstract started(out: FindingsOf, call: ToolCall, thread: AgentKey): void;
  /** A report about a running call. */
  protected abstract reported(out: FindingsOf, report: ToolResult, session: string): void;
  protected abstract returned(out: FindingsOf, result: ToolResult, session: string): void;

  threadIn(line: JsonObject): AgentKey | null {
    const id = line.type === "session" ? asNonBlank(line.id) : null;
    return id === null ? null : this.#key.thread(id);
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
      case "tool_execution_start":
        if (id !== null && tool !== null)
          this.started(out, { id, name: tool, args: asObject(line.args) ?? {} }, thread);
        return;
      case "tool_execution_update":
        if (id !== null) this.reported(out, resultOf(id, tool, line, line.partialResult), session);
        return;
      case "tool_execution_end":
        if (id !== null) this.returned(out, resultOf(id, tool, line, line.result), session);
        return;
      case "agent_end":
        return out.add(endOf(thread, asList(line.messages)));
    }
  }
}

const resultOf = (call: string, tool: string | null, line: JsonObject, result: unknown): ToolResult => ({
  call,
  tool,
  isError: line.isError === true,
  details: asObject(asObject(result)?.details),
  durationMs: null,
  nested: [],
});

function endOf(thread: AgentKey, messages: readonly unknown[]) {
  const last = asObject(messages.at(-1));
  const failed = asText(last?.stopReason) === "error";
  return turnEnded(
    thread,
    failed ? "errored" : "completed",
    `its stream ends${failed ? `: ${asNonBlank(last?.errorMessage) ?? "an error"}` : ""}`,
  );
}
