import type { CallKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import {
  asList,
  asNonBlank,
  asNumber,
  asObject,
  asText,
  isTooDeep,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";
import { commandIn as commandText, type ShellCalls } from "../kit/launch/shell-calls.ts";
import * as key from "./keys.ts";
import { argumentsOf, isCiphertext, itemOf, outputText, type Row } from "./rows.ts";

/** A tool call, a tool result, or both in one record. */
export interface ToolUse {
  readonly is: "call" | "result" | "both";
  readonly call: CallKey;
  readonly name: string | null;
  /** As recorded. `shown` replaces encrypted texts. */
  readonly input: unknown;
  readonly text: string | null;
  readonly isError: boolean;
}

export function toolUseIn(row: Row, thread: string): ToolUse | null {
  const { payload } = row;
  const id = asNonBlank(payload.call_id) ?? asNonBlank(payload.id);
  const called = (name: string | null, input: unknown): ToolUse | null =>
    id === null || name === null
      ? null
      : { is: "call", call: key.call(thread, id), name, input, text: null, isError: false };
  switch (row.type) {
    case "response_item/function_call":
      return called(asNonBlank(payload.name), argumentsOf(payload.arguments));
    case "response_item/custom_tool_call":
      return called(asNonBlank(payload.name), payload.input ?? null);
    case "response_item/local_shell_call":
      return called("local_shell", payload.action ?? null);
    case "response_item/web_search_call":
      return called("web_search", payload.action ?? null);
    case "response_item/tool_search_call":
      return called("tool_search", argumentsOf(payload.arguments));
    case "response_item/image_generation_call":
      return called("image_generation", payload.revised_prompt ?? null);
    case "response_item/function_call_output":
    case "response_item/custom_tool_call_output":
    case "response_item/tool_search_output": {
      const text = outputText(payload.output);
      return id === null
        ? null
        : {
            is: "result",
            call: key.call(thread, id),
            name: null,
            input: null,
            text,
            isError: isFailure(text, payload.output),
          };
    }
    default:
      return commandIn(row, thread);
  }
}

const SHELLS = new Set(["exec_command", "shell", "shell_command", "local_shell", "container.exec"]);
/** The command still runs; its later output is in the results of other calls. */
const STILL_RUNNING = /^(?:Chunk ID: [^\n]*\n)?(?:Wall time: [^\n]*\n)?Process running with session ID/;

/** States shell commands that start agents. `cwd` is the folder of the turn. */
export function readShell(shells: ShellCalls, out: FindingsOf, row: Row, use: ToolUse, cwd: string | null): void {
  const { is, call, name, text } = use;
  const input = asObject(use.input);
  if (is !== "result" && name !== null && SHELLS.has(name)) {
    const seconds = is === "both" ? durationOf(row) : null;
    const at = row.at !== null && seconds !== null ? row.at - seconds * 1_000 : row.at;
    // Since 0.166 a URL.
    const recorded = asNonBlank(itemOf(row)?.json.cwd)?.replace(/^file:\/\//, "");
    const folder = asNonBlank(input?.workdir) ?? recorded ?? cwd;
    shells.called(out, call, commandText(input, "cmd", "command"), folder, at);
  }
  if (is !== "call")
    shells.returned(out, call, { text: text ?? "", at: row.at, continues: STILL_RUNNING.test(text ?? "") });
}

/** How long the command of a record ran, in seconds. */
function durationOf(row: Row): number | null {
  const duration = asObject(itemOf(row)?.json.duration);
  const [secs, nanos] = [asNumber(duration?.secs), asNumber(duration?.nanos)];
  return secs === null ? null : secs + (nanos ?? 0) / 1e9;
}

/** In code mode commands run inside JavaScript, and only this record names them. Otherwise it repeats a call. */
function commandIn(row: Row, thread: string): ToolUse | null {
  const item = itemOf(row);
  if (item?.type !== "CommandExecution" || item.id === null || !item.id.startsWith("exec-")) return null;
  const command = asList(item.json.command).map((word) => asText(word) ?? "");
  const exit = asNumber(item.json.exit_code);
  return {
    is: "both",
    call: key.call(thread, item.id),
    name: "exec_command",
    input: { cmd: command.at(-1) ?? "" },
    text: asText(item.json.aggregated_output),
    isError: exit !== null && exit !== 0,
  };
}

/** The input of a call with encrypted task texts replaced by a note. */
export function shown(input: unknown): unknown {
  if (isTooDeep(input)) return null;
  const object = asObject(input);
  return object === null
    ? input
    : Object.fromEntries(
        Object.entries(object).map(([name, value]) => [name, isSecret(value) ? "(encrypted by Codex)" : value]),
      );
}

const isSecret = (value: unknown) => typeof value === "string" && isCiphertext(value);

/** Commands state their exit code as text or, up to 0.5x, as JSON; other tools have a flag. */
function isFailure(text: string, output: unknown): boolean {
  if (asObject(output)?.success === false) return true;
  const exit =
    /^(?:Chunk ID: [^\n]*\n)?(?:Wall time: [^\n]*\n)?(?:Process exited with code|Exit code:) (-?\d+)/.exec(text)?.[1] ??
    exitCode(text);
  return (
    (exit !== null && exit !== undefined && Number(exit) !== 0) || /^(?:unsupported call: |failed to |err: )/.test(text)
  );
}

function exitCode(text: string): number | null {
  const json: JsonObject | null =
    text.startsWith("{") && text.includes('"exit_code"') ? asObject(parseJson(text)?.value) : null;
  return asNumber(asObject(json?.metadata)?.exit_code);
}
