/**
 * Disturbs every kind of retinue process, and compares the final state with that of an undisturbed run:
 * `npm run test:faults -- --kills 1000 --seed 7 [--only serve]`.
 * Prints a table of faults, losses, duplicates and leftovers.
 */
import { parseArgs } from "node:util";
import type { Outcome, Scenario } from "./scenario.ts";
import { SCENARIOS } from "./scenarios.ts";
import { runScenario } from "./stage.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
    jobs: { type: "string", default: "2" },
    only: { type: "string", multiple: true },
  },
});
const chosen = SCENARIOS.filter(({ name }) => values.only === undefined || values.only.includes(name));
if (chosen.length === 0) throw new Error(`no such scenario; there are ${SCENARIOS.map(({ name }) => name).join(", ")}`);
const weights = chosen.reduce((sum, { weight = 0 }) => sum + weight, 0);
const timesOf = ({ weight = 0, times = Math.ceil((Number(values.kills) * weight) / weights) }: Scenario) => times;

const MAX_TOLD = 5;
const row = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(" | ")} |`);
row(["process", "fault", "faults", "losses", "duplicates", "leftovers", "seconds"]);
row(Array.from({ length: 7 }, () => "---"));
const began = Date.now();
const details: string[] = [];
let kills = 0;
let faults = 0;
// Several at a time: a scenario mostly waits.
const waiting = [...chosen];
await Promise.all(
  Array.from({ length: Number(values.jobs) }, async () => {
    for (let scenario = waiting.shift(); scenario !== undefined; scenario = waiting.shift()) await one(scenario);
  }),
);
console.log(
  `\n${kills} kills, ${faults} other faults, ${Math.round((Date.now() - began) / 1_000)} s, seed ${values.seed}`,
);
for (const line of details) console.log(line);
process.exitCode = details.length === 0 ? 0 : 1;

async function one(scenario: Scenario): Promise<void> {
  const { name, fault, weight, cannot } = scenario;
  const reason = cannot?.() ?? null;
  if (reason !== null) return row([name, fault, `skipped: ${reason}`, "", "", "", ""]);
  const start = Date.now();
  const outcome: Outcome = await runScenario(scenario, timesOf(scenario), Number(values.seed));
  if (weight === undefined) faults += outcome.faults;
  else kills += outcome.faults;
  row([
    name,
    fault,
    outcome.faults,
    outcome.losses.length,
    outcome.duplicates.length,
    outcome.leftovers.length,
    Math.round((Date.now() - start) / 1_000),
  ]);
  for (const kind of ["losses", "duplicates", "leftovers"] as const)
    details.push(...outcome[kind].slice(0, MAX_TOLD).map((line) => `${name}: ${kind}: ${line}`));
}
