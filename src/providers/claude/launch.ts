import type { Control, ControlMessage, Wrapping } from "../../core/ports/provider.ts";
import { asNonBlank, asObject, parseJson } from "../../core/tools/json.ts";
import { type Command, commandOf, hasFlag, optionIn } from "../kit/command.ts";

const NAMES = new Set(["claude", "@anthropic-ai/claude-code"]);
const FORMAT = "--output-format";
const INPUT = "--input-format";
const STREAM = "stream-json";

const isPrint = ({ args }: Command) => hasFlag(args, "-p", "--print");

/**
 * Options for machine-readable output (`-p --output-format stream-json --verbose`) and input (`--input-format
 * stream-json`).
 */
export function wrap(argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !NAMES.has(command.name)) return null;
  const format = optionIn(command.args, FORMAT);
  const printsJson = isPrint(command) && format === STREAM;
  const withOutput = printsJson
    ? argv
    : isPrint(command) && format === null
      ? [...argv, ...outputOptions(command)]
      : null;
  return {
    printsJson,
    withJsonOutput: withOutput,
    control: withOutput === null ? null : controlOf(withOutput, command),
  };
}

const outputOptions = ({ args }: Command) => [FORMAT, STREAM, ...(hasFlag(args, "--verbose") ? [] : ["--verbose"])];

function controlOf(withOutput: readonly string[], command: Command): Control {
  const isListening = optionIn(command.args, INPUT) === STREAM;
  const prompt = isListening ? null : promptIn(withOutput);
  let requests = 0;
  const request = (body: object): ControlMessage => {
    requests += 1;
    const id = `retinue-${requests}`;
    return { id, line: JSON.stringify({ type: "control_request", request_id: id, request: body }) };
  };
  return {
    withJsonInput: isListening
      ? withOutput
      : [...(prompt === null ? withOutput : withOutput.toSpliced(promptAt(withOutput), 1)), INPUT, STREAM],
    first: prompt,
    send: (text) => ({ id: null, line: JSON.stringify({ type: "user", message: { role: "user", content: text } }) }),
    interrupt: () => request({ subtype: "interrupt" }),
    stop: (agent) => request({ subtype: "stop_task", task_id: agent }),
    background: (call) => request({ subtype: "background_tasks", tool_use_id: call }),
    responseIn: responseOf,
  };
}

function responseOf(line: string): ReturnType<Control["responseIn"]> {
  if (!line.includes('"control_response"')) return null;
  const response = asObject(asObject(parseJson(line)?.value)?.response);
  const id = asNonBlank(response?.request_id);
  return id === null
    ? null
    : { id, error: response?.subtype === "error" ? (asNonBlank(response.error) ?? "the request was refused") : null };
}

/** The prompt after `-p`. In other positions it cannot be distinguished from values of unknown options. */
export function promptIn(argv: readonly string[]): string | null {
  const prompt = argv[promptAt(argv)];
  return prompt === undefined || prompt.startsWith("-") ? null : prompt;
}

function promptAt(argv: readonly string[]): number {
  const at = argv.findIndex((word) => word === "-p" || word === "--print");
  return at < 0 ? argv.length : at + 1;
}
