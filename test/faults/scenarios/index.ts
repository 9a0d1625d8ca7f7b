/** `retinue ls` is killed while it reads the home into the index: alone, and with threads that read side by side. */
import { appendFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { filesBelow } from "../../fixtures.ts";
import { type Environment, environment, Run } from "../process.ts";
import { type Scenario, type Stage, Tally } from "../scenario.ts";
import { compare, freshState, leftoversIn, makeHome, stateOf } from "../state.ts";

const ROUND = 8;
/** More than this is read by several threads. */
const MUCH_BYTES = 130 << 20;

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
    // Ends early where it was faster than its killer: there is nothing left to read then.
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

/** Lines that are passed over by their first bytes, so that much is read and little is kept. */
function enlarge(home: string): void {
  const line = `{"type":"api-request","params":"${"x".repeat(1 << 20)}"}\n`;
  const transcripts = filesBelow(home).filter((path) => /\.claude\/projects\/[^/]+\/[^/]+\.jsonl$/.test(path));
  for (let bytes = 0, i = 0; bytes < MUCH_BYTES; bytes += line.length, i += 1) appendFileSync(join(home, transcripts[i % transcripts.length] ?? ""), line);
}

export const indexing: Scenario = { name: "index", fault: "SIGKILL of ls", weight: 5, few: 4, run: (stage) => killed(stage, () => {}) };
export const indexingTogether: Scenario = { name: "index, threads", fault: "SIGKILL of ls", weight: 1, few: 0, run: (stage) => killed(stage, enlarge) };
