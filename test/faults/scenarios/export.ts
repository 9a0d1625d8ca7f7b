/** `retinue export` and `retinue hook --flush` are killed while they send: in the end every run has arrived once. */
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { openKept } from "../../../src/app/kept/kept-file.ts";
import { FIXTURES } from "../../support/fixtures.ts";
import { startLangSmith } from "../../support/langsmith-server.ts";
import { environment, Run } from "../process.ts";
import { type Scenario, Tally } from "../scenario.ts";
import { leftoversIn } from "../state.ts";

const ROUND = 5;
const SEND = ["export", "langsmith", "latest"];
const FLUSH = ["hook", "--flush"];

export const exporting: Scenario = {
  name: "export",
  fault: "SIGKILL of export and flush",
  weight: 3,
  few: 2,
  async run({ scratch, times, random }) {
    const home = join(scratch, "home");
    const data = join(scratch, "data");
    cpSync(join(FIXTURES, "claude/c3-nested-parallel/home"), home, { recursive: true });
    const tally = new Tally();
    let right: string[] | null = null;
    while (right === null || tally.faults < times) {
      rmSync(data, { recursive: true, force: true });
      const server = await startLangSmith();
      const env = environment(home, data, {
        CC_LANGSMITH_API_KEY: "test-key",
        LANGSMITH_ENDPOINT: server.url,
        TRACE_TO_LANGSMITH: "true",
      });
      // As if tracing had been enabled before all of it happened.
      const kept = await openKept(env);
      kept.outbox.open(`langsmith ${server.url} (by product)`, 0);
      kept.close();
      // The first round is not disturbed.
      for (let n = 0; right !== null && n < ROUND && tally.faults < times; n += 1) {
        const before = server.requests.length;
        const sending = new Run(random.chance(0.5) ? SEND : FLUSH, env);
        // At any moment after its start, or right after it has sent something.
        if (random.chance(0.5)) await Promise.race([wait(random.next() * 900), sending.ended]);
        else while (server.requests.length === before && !sending.isOver) await wait(1);
        if (await sending.kill()) tally.faults += 1;
      }
      const last = new Run(SEND, env);
      const code = await last.ended;
      if (code !== 0) tally.losses.push(`the last export exits with ${code}: ${last.stderr}`);
      const runs = [...server.runs.values()]
        .map(({ name, run_type, end_time }) => JSON.stringify([run_type, name, end_time]))
        .sort();
      right ??= runs;
      const counts = new Map<string, number>();
      for (const run of right) counts.set(run, (counts.get(run) ?? 0) + 1);
      for (const run of runs) counts.set(run, (counts.get(run) ?? 0) - 1);
      for (const [run, count] of counts)
        if (count !== 0) (count > 0 ? tally.losses : tally.duplicates).push(`${Math.abs(count)} times: ${run}`);
      await server.close();
      tally.leftovers.push(...leftoversIn(data));
    }
    return tally;
  },
};
