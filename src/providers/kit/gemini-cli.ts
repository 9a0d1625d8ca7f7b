/** The command line of Gemini CLI and its forks. */
import type { AttachRequest } from "../../core/ports/attach.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import { commandOf, optionIn } from "./command.ts";
import { outputOnly } from "./live-stream.ts";

const FORMAT = ["--output-format", "-o"] as const;
const STREAM = "stream-json";

/** Adds `--output-format stream-json` to a command of the product, unless it asks for another format. */
export function wrapStream(names: ReadonlySet<string>, argv: readonly string[]): Wrapping | null {
  const command = commandOf(argv);
  if (command === null || !names.has(command.name)) return null;
  const format = optionIn(command.args, ...FORMAT);
  const printsJson = format === STREAM;
  return outputOnly(printsJson, printsJson ? argv : format === null ? [...argv, FORMAT[0], STREAM] : null);
}

/** The command that begins or continues a session; `session` has the options that select it. */
export const attachCommand = (
  program: string,
  session: readonly string[],
  model: string | null,
  { message, isInteractive, args }: AttachRequest,
): readonly string[] => [
  program,
  ...session,
  ...(model === null ? [] : ["-m", model]),
  ...args,
  // `=`, because a message may begin with a dash.
  ...(message === null ? [] : [`${isInteractive ? "--prompt-interactive" : "--prompt"}=${message}`]),
];
