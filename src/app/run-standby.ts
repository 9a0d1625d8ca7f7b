/** Takes over when `retinue run` was killed: goes on recording what the command prints, and passing it on. A program of its own. */
import { readFileSync } from "node:fs";
import { Socket } from "node:net";
import { parseJson } from "../core/json.ts";
import type { RunBegan } from "../core/run-note.ts";
import { PROVIDERS } from "../providers/index.ts";
import { heldBytes, STANDBY_READS } from "../transports/standby.ts";
import { passOn } from "../transports/wrapped.ts";
import { RunOutput } from "./run-output.ts";

/** What the wrapper knew, as it wrote it to our input. */
export interface RunInProgress {
  readonly name: string;
  readonly provider: string;
  readonly hasFallback: boolean;
  readonly began: RunBegan;
}

// Missing only if the wrapper was killed before it could write it: then the bytes are passed on, and nothing is recorded.
const run = parseJson(readFileSync(0, "utf8"))?.value as RunInProgress | undefined;
const provider = PROVIDERS.find(({ name }) => name === run?.provider);
const output = run === undefined || provider === undefined ? null : new RunOutput(process.env, run.name, provider, run.hasFallback ? provider : null);
if (run !== undefined) output?.resume(run.began);

const from = new Socket({ fd: STANDBY_READS, readable: true, writable: false });
const held = heldBytes();
from.unshift(held);
// The wrapper may have been killed after it had recorded what it held, and before it could say so.
let recorded = output?.recordedAlready(linesIn(held.toString("utf8"))) ?? 0;
// How the command ended only its parent could know.
from.once("close", () => output?.ended(null));
passOn(from, process.stdout, (line) => {
  if (recorded > 0) recorded -= 1;
  else output?.line(line);
});

/** Whole lines that say anything. */
function linesIn(text: string): string[] {
  return text
    .split("\n")
    .slice(0, -1)
    .filter((line) => line.trim() !== "");
}
