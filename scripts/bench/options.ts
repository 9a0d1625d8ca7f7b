import { parseArgs } from "node:util";
import { parseBytes } from "./format.ts";

export const TABLE_NAMES = [
  "hooks",
  "first",
  "newest",
  "readers",
  "warm",
  "append",
  "busy",
  "dashboard",
  "tracing",
  "proxy",
  "team",
] as const;
export type TableName = (typeof TABLE_NAMES)[number];

export interface BenchOptions {
  readonly only: readonly TableName[];
  /** Bytes of the homes of `first` and `newest`. */
  readonly sizes: readonly number[];
  /** Sessions of the home of `warm`, with three transcripts each. */
  readonly sessions: number;
  /** Whether `first` and `newest` measure that home, too. */
  readonly many: boolean;
  /** Records of the threads of `append`, and how many are appended to each. */
  readonly lengths: readonly number[];
  readonly appends: number;
  /** Of `busy`: number of threads, records per second and thread, and duration. */
  readonly threads: number;
  readonly rate: number;
  readonly seconds: number;
  readonly agents: number;
  readonly operations: number;
  readonly requests: number;
  /** Numbers of events of `team`. */
  readonly events: readonly number[];
  readonly runs: number;
  readonly seed: number;
  readonly built: boolean;
  readonly write: boolean;
}

const USUAL = {
  size: "100MB,1GB",
  sessions: "10000",
  lengths: "500,2000,8000,24000,100000",
  appends: "40",
  threads: "20",
  rate: "40",
  seconds: "120",
  agents: "1000",
  operations: "400",
  requests: "100000",
  events: "1000000,10000000",
  runs: "3",
};
/** The smallest size of every table, to check that it works. */
const QUICK: typeof USUAL = {
  size: "5MB",
  sessions: "50",
  lengths: "500,2000",
  appends: "5",
  threads: "3",
  rate: "10",
  seconds: "4",
  agents: "60",
  operations: "20",
  requests: "500",
  events: "20000",
  runs: "1",
};
const HUGE = "10GB";

export const HELP = `npm run bench -- [table…] [options]

  --only <tables>      of ${TABLE_NAMES.join(", ")}; all by default
  --size <sizes>       homes of first and newest (${USUAL.size})
  --huge               adds a home of ${HUGE}: takes 30 GB of disk and an hour
  --sessions <count>   home of warm, three transcripts each (${USUAL.sessions})
  --many               first and newest measure the home of warm, too
  --lengths <counts>   threads of append, in records (${USUAL.lengths})
  --appends <count>    records appended to each (${USUAL.appends})
  --threads <count>, --rate <count>, --seconds <count>
                       of busy: threads, records a second each, duration (${USUAL.threads}, ${USUAL.rate}, ${USUAL.seconds})
  --agents <count>     of dashboard, in a real browser (${USUAL.agents})
  --operations <count> of tracing (${USUAL.operations})
  --requests <count>   of proxy (${USUAL.requests})
  --events <counts>    stored by the server of team (${USUAL.events})
  --runs <count>       of each command; the median counts (${USUAL.runs})
  --seed <number>      of the generated homes (1)
  --quick              the smallest size of every table, to check that it works
  --built              measures the existing dist without building it
  --write              replaces these tables in docs/benchmarks.md

append, busy, proxy and team read /proc and run on Linux only.`;

/** Null for `--help`. */
export function readOptions(args: readonly string[]): BenchOptions | null {
  const text = { type: "string" } as const;
  const flag = { type: "boolean", default: false } as const;
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      ...{
        only: text,
        size: text,
        sessions: text,
        lengths: text,
        appends: text,
        threads: text,
        rate: text,
        seconds: text,
      },
      ...{ agents: text, operations: text, requests: text, events: text, runs: text, seed: text },
      ...{ huge: flag, many: flag, quick: flag, built: flag, write: flag, help: flag },
    },
  });
  if (values.help) return null;
  const named = [...positionals, ...listOf(values.only ?? "")];
  const given = { ...(values.quick ? QUICK : USUAL), ...values };
  return {
    only: named.length === 0 ? TABLE_NAMES : named.map(tableName),
    sizes: [...listOf(given.size), ...(values.huge ? [HUGE] : [])].map(parseBytes),
    lengths: listOf(given.lengths).map((text) => count("lengths", text)),
    ...{
      sessions: count("sessions", given.sessions),
      appends: count("appends", given.appends),
      threads: count("threads", given.threads),
    },
    ...{
      rate: count("rate", given.rate),
      seconds: count("seconds", given.seconds),
      agents: count("agents", given.agents),
    },
    ...{
      operations: count("operations", given.operations),
      requests: count("requests", given.requests),
      runs: count("runs", given.runs),
    },
    events: listOf(given.events).map((text) => count("events", text)),
    seed: count("seed", values.seed ?? "1"),
    many: values.many,
    built: values.built,
    write: values.write,
  };
}

const listOf = (text: string) => text.split(",").filter((item) => item !== "");

function tableName(given: string): TableName {
  const found = TABLE_NAMES.find((name) => name === given);
  if (found === undefined) throw new Error(`--only ${given}: no such table; the tables are ${TABLE_NAMES.join(", ")}`);
  return found;
}

function count(option: string, given: string): number {
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1)
    throw new Error(`--${option} ${given}: not a whole number of at least 1`);
  return number;
}
