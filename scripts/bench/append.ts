/** CPU time of one appended record while a client follows, for threads of several lengths. */
import { rmSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { Load } from "../soak/load.ts";
import { CCUSAGE } from "./ccusage.ts";
import type { Context } from "./context.ts";
import { held, markdownTable, milliseconds, ratio, thousands } from "./format.ts";
import { measure } from "./measure.ts";
import { Serving } from "./serving.ts";

/** Long enough for the previous record to be processed, and not round, so that writes do not align with timers. */
const PAUSE_MS = 370;
const BLOCK = 10_000;
const LIMIT_MS = 8;
const RATIO_LIMIT = 1.5;

export interface AppendCost {
  readonly records: number;
  /** CPU seconds of the server per record. */
  readonly followed: number;
  /** The same if the client also follows the spans of the waterfall. */
  readonly waterfall: number;
  /** CPU seconds of ccusage to read the same file again. */
  readonly ccusage: number;
}

/** A growing thread with a history of this many records, one second apart. */
export function longThread(home: string, records: number): Load {
  let past = Date.now() - 1_000 * records;
  let isPast = true;
  const now = () => {
    if (!isPast) return Date.now();
    past += 1_000;
    return past;
  };
  const load = new Load(home, { threads: 1, agents: 0, now });
  for (let left = records - load.written.records; left > 0; left -= BLOCK) load.write(Math.min(left, BLOCK), 1);
  load.flush();
  isPast = false;
  return load;
}

export async function appendCost(context: Context, records: number, appends: number): Promise<AppendCost> {
  context.notify(`${appends} appends to a thread of ${thousands(records)} records`);
  const home = context.folder("append");
  const load = longThread(home, records);
  const serving = await Serving.start(home);
  const cost = async (waterfall: boolean) => {
    const follower = await serving.follow(`claude://${load.first}`, waterfall);
    load.write(1, 1);
    await wait(4 * PAUSE_MS);
    const before = serving.cpuSeconds;
    for (let i = 0; i < appends; i += 1) {
      load.write(1, 1);
      await wait(PAUSE_MS);
    }
    await wait(PAUSE_MS);
    follower.stop();
    return (serving.cpuSeconds - before) / appends;
  };
  try {
    const followed = await cost(false);
    const waterfall = await cost(true);
    return { records, followed, waterfall, ccusage: measure(await context.ccusage(home)).cpuSeconds };
  } finally {
    await serving.stop();
    rmSync(home, { recursive: true });
  }
}

export function appendSection(costs: readonly AppendCost[], appends: number): string {
  const [least] = costs;
  const rows = costs.map(({ records, followed, waterfall, ccusage }) => {
    const growth = followed / (least?.followed ?? followed);
    return [
      thousands(records),
      milliseconds(followed),
      held(`at most ${LIMIT_MS} ms`, 1_000 * followed <= LIMIT_MS),
      ratio(growth, 1),
      held(`at most ${RATIO_LIMIT.toFixed(2)}×`, growth <= RATIO_LIMIT),
      milliseconds(waterfall),
      milliseconds(ccusage),
    ];
  });
  const head = [
    "records",
    "CPU an append",
    "limit",
    `/ ${thousands(least?.records ?? 0)} records`,
    "limit",
    "with the waterfall",
    `ccusage ${CCUSAGE}, one run`,
  ];
  return `## Appended records

CPU of \`retinue serve\` for one record appended to a thread, while a client follows the list, the tree and the log (mean of ${appends} appends, one every ${PAUSE_MS} ms). "With the waterfall" it also follows the spans, as the dashboard's page does. ccusage has no server: it reads everything again.

${markdownTable(head, rows)}`;
}
