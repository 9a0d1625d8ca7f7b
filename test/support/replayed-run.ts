/** A recorded exchange with the stdin and stdout of a product, replayed by a program of the same name. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FIXTURES } from "./fixtures.ts";

type Line = { readonly in: object } | { readonly out: object };

export interface ReplayedRun {
  /** The program. It prints what the product printed, and waits for a line where the product received one. */
  readonly program: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  /** What the product received when it was recorded. */
  readonly recorded: readonly unknown[];
  /** What the program has received, once it has ended. */
  received(): readonly unknown[];
}

/** `name` is a file in fixtures/control: `<program>-<case>`. */
export function replayedRun(name: string): ReplayedRun {
  const lines = readFileSync(join(FIXTURES, "control", `${name}.jsonl`), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const scratch = mkdtempSync(join(tmpdir(), "retinue-replayed-"));
  const home = join(scratch, "home");
  mkdirSync(home);
  const program = join(scratch, name.split("-")[0] ?? "");
  writeFileSync(program, `#!${process.execPath}\nconst lines = ${JSON.stringify(lines)};\n${REPLAY}`);
  chmodSync(program, 0o755);
  return {
    program,
    home,
    env: { PATH: process.env.PATH ?? "", HOME: home, RETINUE_HOME: join(scratch, "data") },
    recorded: lines.flatMap((line) => ("in" in line ? [line.in] : [])),
    received: () => JSON.parse(readFileSync(join(home, "received"), "utf8")) as unknown[],
  };
}

const REPLAY = `
const received = [];
const play = () => {
  while (lines.length > 0 && "out" in lines[0]) process.stdout.write(JSON.stringify(lines.shift().out) + "\\n");
};
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  received.push(JSON.parse(line));
  if (lines.length > 0) lines.shift();
  play();
}).on("close", () => require("node:fs").writeFileSync(process.env.HOME + "/received", JSON.stringify(received)));
play();
`;
