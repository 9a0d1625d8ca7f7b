/**
 * `retinue ls` is killed while it reads the home into the index: between files, and between the writes of one large
 * file.
 */
import { appendFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { filesBelow } from "../../support/fixtures.ts";
import { type Environment, environment, Run } from "../process.ts";
import { type Scenario, type Stage, Tally } from "../scenario.ts";
import { compare, freshState, leftoversIn, makeHome, stateOf } from "../state.ts";

const ROUND = 8;
/** Megabytes appended to each of the two files that are written to the index in several pieces. */
const LARGE = 16;

async function killed({ scratch, times, random }: Stage, prepare: (home: string) => void): Promise<Tally> {
  const home = join(scratch, "home");
  const env = environment(home, join(scratch, "data"));
  makeHome(home);
  prepare(home);
  const right = await freshState(env);
  const wholeMs = await durationOf(env);
  const tally = new Tally();
  while (tally.faults < times) {
    rmSync(env.RETINUE_HOME ?? "", { recursive: true, force: true });
    // Ends early if it finished before it was killed: there is nothing left to read then.
    for (let n = 0; n < ROUND && tally.faults < times; n += 1) {
      if (!(await new Run(["ls"], env).killAfter(random.next() * wholeMs))) break;
      tally.faults += 1;
    }
    const { losses, duplicates } = compare(await stateOf(env), right);
    tally.losses.push(...losses);
    tally.duplicates.push(...duplicates);
    tally.leftovers.push(...leftoversIn(env.RETINUE_HOME ?? ""));
  }
  return tally;
}

/** How long it takes undisturbed, once its code is compiled. */
async function durationOf(env: Environment): Promise<number> {
  let start = 0;
  for (let n = 0; n < 2; n += 1) {
    rmSync(env.RETINUE_HOME ?? "", { recursive: true, force: true });
    start = Date.now();
    await new Run(["ls"], env).ended;
  }
  return Date.now() - start;
}

/**
 * Appends records to two transcripts in turn, each followed by a megabyte that the reader skips: the read takes
 * long, and every piece of it contains records that could be lost.
 */
function enlarge(home: string): void {
  const skipped = `{"type":"api-request","params":"${"x".repeat(1 << 20)}"}\n`;
  const transcripts = filesBelow(home).filter((path) => /\.claude\/projects\/[^/]+\/[^/]+\.jsonl$/.test(path));
  for (const path of transcripts.slice(0, 2))
    for (let i = 0; i < LARGE; i += 1) {
      const [sessionId, uuid] = [basename(path, ".jsonl"), `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`];
      const message = { role: "user", content: `Line ${i}` };
      const record = {
        type: "user",
        uuid,
        sessionId,
        isSidechain: false,
        timestamp: new Date(Date.UTC(2026, 10, 16, 0, i)).toISOString(),
        message,
      };
      appendFileSync(join(home, path), `${JSON.stringify(record)}\n${skipped}`);
    }
}

export const indexing: Scenario = {
  name: "index",
  fault: "SIGKILL of ls",
  weight: 5,
  few: 2,
  run: (stage) => killed(stage, () => {}),
};
export const indexingLarge: Scenario = {
  name: "index, large files",
  fault: "SIGKILL of ls",
  weight: 1,
  few: 1,
  run: (stage) => killed(stage, enlarge),
};
