import { type AgentKey, partsOf } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import { asNonBlank, asNumber, asObject, asText, asTime, type JsonObject } from "../../core/tools/json.ts";
import { commandOf, optionIn } from "../kit/command.ts";
import { AT_WORK, type LiveReader, outputOnly, turnEnded } from "../kit/live-stream.ts";
import * as key from "./keys.ts";
import { readNotice, readTask, readTaskResult, resumedIn, TASK } from "./tasks.ts";

const PROGRAMS = new Set(["droid", "@factory/cli"]);
const FORMAT = ["-o", "--output-format"] as const;

/** `droid exec -o stream-json`. */
export function wrap(argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !PROGRAMS.has(command.name)) return null;
  const at = argv.indexOf("exec");
  const format = optionIn(command.args, ...FORMAT);
  const printsJson = at >= 0 && format === "stream-json";
  const isPossible = at >= 0 && format === null;
  return outputOnly(
    printsJson,
    printsJson ? argv : isPossible ? argv.toSpliced(at + 1, 0, FORMAT[0], "stream-json") : null,
  );
}

/** Whether Droid printed a line: messages and calls with a session and a time as a number. */
export const isPrinted = (line: JsonObject): boolean | null =>
  asNonBlank(line.session_id) !== null &&
  asNumber(line.timestamp) !== null &&
  ((line.type === "message" && asText(line.text) !== null) || (line.type === "tool_call" && "toolId" in line))
    ? true
    : null;

/** Reads `exec -o stream-json`: the main session, its calls and their results. Totals that include children are not used. */
export class DroidStream implements LiveReader {
  /** Calls that spawn a child and have no result yet. */
  readonly #tasks: Set<string>;

  constructor(saved?: unknown) {
    this.#tasks = new Set(saved as readonly string[] | undefined);
  }

  save = () => [...this.#tasks];
  events = () => [];
  timeIn = (line: JsonObject) => asTime(line.timestamp);

  threadIn(line: JsonObject): AgentKey | null {
    const id = asNonBlank(line.session_id);
    return id === null ? null : key.session(id);
  }

  read(out: FindingsOf, line: JsonObject, thread: AgentKey) {
    const session = partsOf(thread).thread;
    const id = asNonBlank(line.id);
    switch (line.type) {
      case "system": {
        const cwd = asNonBlank(line.cwd);
        if (cwd !== null) out.add({ type: "agent-described", agent: thread, cwd });
        return out.add(AT_WORK);
      }
      case "message": {
        const text = line.role === "user" ? asNonBlank(line.text) : null;
        if (text !== null && !readNotice(out.part({ at: null }), text))
          out.add({ type: "agent-described", agent: thread, prompt: text });
        return;
      }
      case "tool_call": {
        const input = asObject(line.parameters) ?? {};
        if (id === null || line.toolName !== TASK) return;
        if (resumedIn(input) === null) this.#tasks.add(id);
        return readTask(out, session, id, input);
      }
      case "tool_result": {
        if (id === null || !this.#tasks.delete(id)) return;
        const text = asText(line.value) ?? asText(asObject(line.error)?.message) ?? "";
        // Without a time, because the files are more accurate.
        return readTaskResult(out.part({ at: null }), session, id, text, line.isError === true);
      }
      case "completion":
        return out.add(turnEnded(thread, "completed", "its stream ends", asNonBlank(line.finalText)));
    }
  }
}
