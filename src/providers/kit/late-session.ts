import type { AgentKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import type { Wrapping } from "../../core/ports/provider.ts";
import type { JsonObject } from "../../core/tools/json.ts";
import { commandOf, hasFlag, optionIn } from "./command.ts";
import { type LiveReaderOf, outputOnly } from "./live-stream.ts";

/** A product whose output names the session only in its last line, and its agents not at all. */
interface LateSession {
  /** Names of its program and package. */
  readonly names: ReadonlySet<string>;
  /** The value of `--output-format`. */
  readonly format: string;
  /** The session that a line names. */
  sessionIn(line: JsonObject): AgentKey | null;
}

/** `<product> -p … --output-format <format>`. */
export const wrapLate =
  ({ names, format }: LateSession) =>
  (argv: readonly string[]): Wrapping | null => {
    const command = commandOf(argv);
    if (command === null || !names.has(command.name)) return null;
    const given = optionIn(command.args, "--output-format");
    const late = { namesThread: "last" } as const;
    if (given === format) return { ...outputOnly(true, argv), ...late };
    const canPrint = given === null && hasFlag(command.args, "-p", "--print", "--prompt", "--single");
    return { ...outputOnly(false, canPrint ? [...argv, "--output-format", format] : null), ...late };
  };

/** States only which session the output belongs to; the product's files have everything else. */
export const lateSession = ({ sessionIn }: LateSession): LiveReaderOf => ({
  open: () => ({
    threadIn: sessionIn,
    timeIn: () => null,
    events: () => [],
    read: (out: FindingsOf, line: JsonObject, thread: AgentKey) => {
      if (sessionIn(line) !== null) out.add({ type: "agent-described", agent: thread });
    },
    save: () => null,
  }),
  promptIn: () => null,
});
