/** Continues recording and forwarding a command's output if `retinue run` is killed. Runs as its own process. */
import { Socket } from "node:net";
import type { RunBegan } from "../../core/ports/run-note.ts";
import { parseJson } from "../../core/tools/json.ts";
import { PROVIDERS } from "../../providers/loaded.ts";
import { readInput } from "../../transports/bounded.ts";
import { heldBytes, NO_STANDBY, STANDBY_READS } from "../../transports/standby.ts";
import { passOn } from "../../transports/wrapped.ts";
import { RunOutput } from "./run-output.ts";

/** The state that the wrapper wrote to our stdin. */
export interface RunInProgress {
  readonly name: string;
  readonly provider: string;
  readonly hasFallback: boolean;
  /** The command whose output is expected, if another one runs in its place. */
  readonly given: readonly string[] | null;
  readonly began: RunBegan;
}

// Missing if the wrapper was killed before writing it: output is then forwarded but not recorded.
const run = parseJson(readInput() ?? "")?.value as RunInProgress | undefined;
const provider = PROVIDERS.find(({ name }) => name === run?.provider);
const output =
  run === undefined || provider === undefined
    ? null
    : new RunOutput(process.env, run.name, provider, run.hasFallback ? provider : null);
if (run !== undefined) output?.resume(run.began);

const from = new Socket({ fd: STANDBY_READS, readable: true, writable: false });
const held = heldBytes();
from.unshift(held);
// The wrapper may have been killed between recording these lines and reporting it.
let recorded = output?.recordedAlready(linesIn(held.toString("utf8"))) ?? 0;
// Only the parent process could know the exit code.
from.once("close", () => output?.ended(null));
const onLine = (line: string) => {
  if (recorded > 0) recorded -= 1;
  else output?.line(line);
};
const control = run?.given == null ? null : (provider?.wrap?.(run.given)?.control ?? null);
passOn(from, process.stdout, onLine, NO_STANDBY, control?.shown);

/** Complete, non-empty lines. */
function linesIn(text: string): string[] {
  return text
    .split("\n")
    .slice(0, -1)
    .filter((line) => line.trim() !== "");
}
