/** Many threads that grow concurrently while the dashboard is open. */
import { rmSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { Load } from "../soak/load.ts";
import { CCUSAGE } from "./ccusage.ts";
import type { Context } from "./context.ts";
import { bytes, held, markdownTable, percent, seconds, thousands } from "./format.ts";
import { measure } from "./measure.ts";
import { Serving } from "./serving.ts";

const TICK_MS = 100;
const PARTS = 4;
const CPU_LIMIT = 1 / 3;
const MEMORY_LIMIT = 400e6;

export interface BusyOptions {
  readonly threads: number;
  /** Records per second and thread. */
  readonly rate: number;
  readonly seconds: number;
}

export interface BusyPart {
  readonly until: number;
  readonly records: number;
  /** Share of a core. */
  readonly cpu: number;
  readonly bytes: number;
}

export interface Busy {
  readonly parts: readonly BusyPart[];
  readonly messages: number;
  /** CPU seconds of ccusage to read the same files once. */
  readonly ccusage: number;
}

export async function busy(context: Context, options: BusyOptions): Promise<Busy> {
  const { threads, rate } = options;
  context.notify(`${threads} threads at ${rate} records a second each, for ${options.seconds} seconds`);
  const home = context.folder("busy");
  const load = new Load(home, { threads, agents: 0 });
  load.flush();
  const serving = await Serving.start(home);
  try {
    const follower = await serving.follow(`claude://${load.first}`, true);
    const parts: BusyPart[] = [];
    const began = performance.now();
    const elapsed = () => (performance.now() - began) / 1_000;
    let [last, cpu] = [0, serving.cpuSeconds];
    for (let at = 0; parts.length < PARTS; at = elapsed()) {
      load.write(Math.max(0, Math.round(threads * rate * at) - load.written.records), at / options.seconds);
      if (at >= ((parts.length + 1) * options.seconds) / PARTS) {
        const used = serving.cpuSeconds;
        parts.push({ until: at, records: load.written.records, cpu: (used - cpu) / (at - last), bytes: serving.bytes });
        [last, cpu] = [at, used];
      }
      await wait(TICK_MS);
    }
    follower.stop();
    return { parts, messages: follower.messages, ccusage: measure(await context.ccusage(home)).cpuSeconds };
  } finally {
    await serving.stop();
    rmSync(home, { recursive: true });
  }
}

export function busySection({ threads, rate }: BusyOptions, { parts, messages, ccusage }: Busy): string {
  const rows = parts.map((part) => [
    seconds(part.until),
    thousands(part.records),
    percent(part.cpu, 1),
    held("at most 33 %", part.cpu <= CPU_LIMIT),
    bytes(part.bytes),
    held("at most 400 MB", part.bytes <= MEMORY_LIMIT),
  ]);
  return `## Busy threads

\`retinue serve\` while ${threads} threads grow by ${rate} records a second each and a client follows what the dashboard follows on the page of a thread, with the waterfall; it received ${thousands(messages)} messages. CPU is the share of one core since the row above, memory is resident. One run of ccusage ${CCUSAGE} over the files at the end takes ${seconds(ccusage)} of CPU.

${markdownTable(["after", "records", "CPU", "limit", "memory", "limit"], rows)}`;
}
