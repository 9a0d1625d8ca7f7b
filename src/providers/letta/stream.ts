import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, asText, asTime, type JsonObject, parseJson } from "../../core/tools/json.ts";
import { commandOf, hasFlag, optionIn } from "../kit/command.ts";
import { AT_WORK, type LiveReader, outputOnly, turnEnded } from "../kit/live-stream.ts";
import { idOf, key } from "./keys.ts";
import { readSpawn, readSpawnResult } from "./spawns.ts";

const NAMES = new Set(["letta", "@letta-ai/letta-code"]);

/** `letta -p … --output-format stream-json`. */
export function wrap(argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !NAMES.has(command.name)) return null;
  const format = optionIn(command.args, "--output-format");
  if (format === "stream-json") return outputOnly(true, argv);
  const canPrint = format === null && hasFlag(command.args, "-p", "--prompt");
  return outputOnly(false, canPrint ? [...argv, "--output-format", "stream-json"] : null);
}

/** Whether Letta printed a line: the first one names agent and conversation. */
export const isPrinted = (line: JsonObject): boolean | null =>
  line.type === "system" &&
  line.subtype === "init" &&
  asNonBlank(line.agent_id) !== null &&
  asNonBlank(line.conversation_id) !== null
    ? true
    : null;

/**
 * Reads `--output-format stream-json`. Messages and usage are in the transcripts; only the stream states that a turn
 * failed.
 */
export class LettaStream implements LiveReader {
  /** Spawn calls without a result. */
  readonly #open: Set<string>;

  constructor(saved?: unknown) {
    this.#open = new Set(saved as readonly string[] | undefined);
  }

  save = () => [...this.#open];

  threadIn(line: JsonObject): AgentKey | null {
    const [agent, conversation] = [asNonBlank(line.agent_id), asNonBlank(line.conversation_id)];
    return agent === null || conversation === null ? null : key.thread(idOf(agent, conversation));
  }

  timeIn = (line: JsonObject) => asTime(line.timestamp);
  events = () => [];

  read(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    const session = partsOf(thread).thread;
    switch (line.type) {
      case "system": {
        const cwd = asNonBlank(line.cwd);
        if (cwd !== null) out.add({ type: "agent-described", agent: thread, cwd });
        return out.add(AT_WORK);
      }
      case "message":
        return this.#readMessage(out, line, session);
      case "error":
        return out.add(turnEnded(thread, "errored", `its stream reports an error: ${asText(line.message) ?? ""}`));
      case "result": {
        const isError = line.subtype !== "success";
        const result = isError ? null : asNonBlank(line.result);
        const says = `its stream ends with ${asText(line.subtype) ?? "a result"}`;
        return out.add(turnEnded(thread, isError ? "errored" : "completed", says, result));
      }
    }
  }

  #readMessage(out: FindingsOf, line: JsonObject, session: string) {
    if (line.message_type === "tool_call_message") {
      const call = asObject(line.tool_call);
      const [id, name] = [asNonBlank(call?.tool_call_id), asNonBlank(call?.name)];
      const args = asObject(parseJson(asText(call?.arguments) ?? "")?.value) ?? {};
      if (id !== null && name !== null && readSpawn(out, session, id, name, args)) this.#open.add(id);
    }
    const returned = line.message_type === "tool_return_message" ? asNonBlank(line.tool_call_id) : null;
    if (returned !== null && this.#open.delete(returned))
      readSpawnResult(out, key.call(session, returned), asText(line.tool_return) ?? "");
  }
}
