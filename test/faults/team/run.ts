/**
 * `npm run test:team -- --minutes 5 --shippers 50 --seed 1`: machines, team servers and PostgreSQL are killed at random.
 * Then a thousand machines come back at once.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { seeded } from "../../../scripts/bench/random.ts";
import { chaos } from "./chaos.ts";
import { crowd } from "./crowd.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    shippers: { type: "string", default: "50" },
    alive: { type: "string", default: "10" },
    seed: { type: "string", default: "1" },
  },
});
const MAX_TOLD = 20;
/** Machines that come back at once, and how many shipments each has. */
const [CROWD, BACKLOG] = [1_000, 8];
const scratch = mkdtempSync(join(tmpdir(), "retinue-team-"));
const began = Date.now();
const seconds = () => Math.round((Date.now() - began) / 1_000);
try {
  const { tally, kills, compared, sent, reconnects } = await chaos({
    scratch,
    random: seeded(Number(values.seed)),
    machines: Number(values.shippers),
    alive: Number(values.alive),
    kills: Number.POSITIVE_INFINITY,
    ms: Number(values.minutes) * 60_000,
    haste: 1,
    notify: (text) => process.stderr.write(`${seconds()} s: ${text}\n`),
  });
  const row = (cells: readonly (string | number)[]) => console.log(`| ${cells.join(" | ")} |`);
  row(["machines", "kills of shippers", "of servers", "of PostgreSQL", "losses", "duplicates", "leftovers", "seconds"]);
  row(Array.from({ length: 8 }, () => "---"));
  const { losses, duplicates, leftovers } = tally;
  const counts = [losses, duplicates, leftovers].map(({ length }) => length);
  row([values.shippers, kills.shippers, kills.servers, kills.databases, ...counts, seconds()]);
  console.log(
    `\ncompared: ${compared.threads} threads, ${compared.events} events, ${compared.lines} lines on each of 2 servers; ${sent.before} documents were acknowledged during the disturbance and ${sent.now} after it; the live stream reconnected ${reconnects} times; seed ${values.seed}`,
  );
  for (const [name, list] of Object.entries({ losses, duplicates, leftovers }))
    for (const line of list.slice(0, MAX_TOLD)) console.log(`${name}: ${line}`);
  const notify = (text: string) => process.stderr.write(`${seconds()} s: ${text}\n`);
  const many = await crowd({ scratch, machines: CROWD, shipments: BACKLOG, events: 20, haste: 4, notify });
  console.log(
    `\n${CROWD} machines at once: ${many.acknowledged} shipments acknowledged, ${many.refused} asked to come back (one machine at most ${many.mostRefused} times), ${many.connections} connections to PostgreSQL, ${Math.round(many.peakBytes / 2 ** 20)} MB`,
  );
  for (const fault of many.faults.slice(0, MAX_TOLD)) console.log(`fault: ${fault}`);
  process.exitCode = counts.some((count) => count > 0) || many.faults.length > 0 ? 1 : 0;
} finally {
  rmSync(scratch, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
}
