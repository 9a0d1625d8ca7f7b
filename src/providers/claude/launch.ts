import { type Command, commandOf, hasFlag, optionIn } from "../../core/command.ts";
import { asObject, asWords, parseJson } from "../../core/json.ts";
import type { Control, Said, Wrapping } from "../../core/provider.ts";

const NAMES = new Set(["claude", "@anthropic-ai/claude-code"]);
const FORMAT = "--output-format";
const INPUT = "--input-format";
const STREAM = "stream-json";

const isPrint = ({ args }: Command) => hasFlag(args, "-p", "--print");

/** How Claude Code is made to talk: `-p --output-format stream-json --verbose`, and to listen: `--input-format stream-json`. */
export function wrap(words: readonly string[]): Wrapping | null {
  const command = commandOf(words);
  if (command === null || !NAMES.has(command.name)) return null;
  const format = optionIn(command.args, FORMAT);
  const speaks = isPrint(command) && format === STREAM;
  const speaking = speaks ? words : isPrint(command) && format === null ? [...words, ...speakingOf(command)] : null;
  return { speaks, speaking, control: speaking === null ? null : controlOf(speaking, command) };
}

const speakingOf = ({ args }: Command) => [FORMAT, STREAM, ...(hasFlag(args, "--verbose") ? [] : ["--verbose"])];

function controlOf(speaking: readonly string[], command: Command): Control {
  const isListening = optionIn(command.args, INPUT) === STREAM;
  const prompt = isListening ? null : promptIn(speaking);
  let requests = 0;
  const request = (asked: object): Said => {
    requests += 1;
    const id = `retinue-${requests}`;
    return { id, line: JSON.stringify({ type: "control_request", request_id: id, request: asked }) };
  };
  return {
    listening: isListening ? speaking : [...(prompt === null ? speaking : speaking.toSpliced(promptAt(speaking), 1)), INPUT, STREAM],
    first: prompt,
    send: (text) => ({ id: null, line: JSON.stringify({ type: "user", message: { role: "user", content: text } }) }),
    interrupt: () => request({ subtype: "interrupt" }),
    stop: (agent) => request({ subtype: "stop_task", task_id: agent }),
    background: (call) => request({ subtype: "background_tasks", tool_use_id: call }),
    answerIn,
  };
}

function answerIn(line: string): ReturnType<Control["answerIn"]> {
  if (!line.includes('"control_response"')) return null;
  const response = asObject(asObject(parseJson(line)?.value)?.response);
  const id = asWords(response?.request_id);
  return id === null ? null : { id, error: response?.subtype === "error" ? (asWords(response.error) ?? "it says no") : null };
}

/** What stands behind `-p`. Given elsewhere, it cannot be told from the values of options that we do not know. */
export function promptIn(words: readonly string[]): string | null {
  const prompt = words[promptAt(words)];
  return prompt === undefined || prompt.startsWith("-") ? null : prompt;
}

function promptAt(words: readonly string[]): number {
  const at = words.findIndex((word) => word === "-p" || word === "--print");
  return at < 0 ? words.length : at + 1;
}
