import type { Control } from "../../core/ports/control.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import { type Command, commandOf, hasFlag, optionIn } from "../kit/command.ts";
import { controlOf, type Format } from "./control.ts";

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
    control: controlIn(argv, command),
  };
}

const outputOptions = ({ args }: Command) => [FORMAT, STREAM, ...(hasFlag(args, "--verbose") ? [] : ["--verbose"])];

/**
 * Null for interactive commands, and for those whose own input format the user controls. `json` with `--verbose` prints
 * all messages as one array, which cannot be made from a stream without holding all of it.
 */
function controlIn(argv: readonly string[], command: Command): Control | null {
  const format = optionIn(command.args, FORMAT) ?? "text";
  if (!isPrint(command) || !FORMATS.has(format) || (format === "json" && hasFlag(command.args, "--verbose")))
    return null;
  const isListening = optionIn(command.args, INPUT) === STREAM;
  const first = isListening ? null : promptIn(argv);
  const withoutPrompt = first === null ? argv : argv.toSpliced(promptAt(argv), 1);
  return controlOf(
    [
      ...(format === STREAM ? withoutPrompt : without(FORMAT, withoutPrompt)),
      ...(format === STREAM ? [] : [FORMAT, STREAM]),
      ...(hasFlag(command.args, "--verbose") ? [] : ["--verbose"]),
      ...(isListening ? [] : [INPUT, STREAM]),
    ],
    { first, format: format as Format, isFed: isListening },
  );
}

const FORMATS: ReadonlySet<string> = new Set<Format>(["text", "json", STREAM]);

/** Without an option and its value. */
function without(option: string, argv: readonly string[]): readonly string[] {
  const at = argv.indexOf(option);
  return at < 0 ? argv.filter((word) => !word.startsWith(`${option}=`)) : argv.toSpliced(at, 2);
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
