import { type Command, commandOf, hasFlag, optionIn } from "../../core/command.ts";
import type { Control, Wrapping } from "../../core/provider.ts";

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
  const prompt = promptIn(speaking);
  const listening = optionIn(command.args, INPUT) === STREAM ? speaking : [...speaking.filter((word) => word !== prompt), INPUT, STREAM];
  let requests = 0;
  const request = (asked: object) => {
    requests += 1;
    return JSON.stringify({ type: "control_request", request_id: `retinue-${requests}`, request: asked });
  };
  const user = (content: unknown) => JSON.stringify({ type: "user", message: { role: "user", content } });
  return {
    listening,
    send: user,
    interrupt: () => request({ subtype: "interrupt" }),
    stop: (agent) => request({ subtype: "stop_task", task_id: agent }),
    background: (call) => request({ subtype: "background_tasks", tool_use_id: call }),
    toolResult: (call, content) => user([{ type: "tool_result", tool_use_id: call, content }]),
  };
}

/** What stands behind `-p`. Given elsewhere, it cannot be told from the values of options that we do not know. */
export function promptIn(words: readonly string[]): string | null {
  const at = words.findIndex((word) => word === "-p" || word === "--print");
  const prompt = at < 0 ? undefined : words[at + 1];
  return prompt === undefined || prompt.startsWith("-") ? null : prompt;
}
