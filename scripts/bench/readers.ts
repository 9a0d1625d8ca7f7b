/** CPU time of each product's reader, by the way that records take into the store. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { sync } from "../../src/app/ingest/sync.ts";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { noReads } from "../../src/transports/files.ts";
import type { Context } from "./context.ts";
import { bytes, held, markdownTable, ratio } from "./format.ts";
import { DATABASE_BYTES } from "./reader-databases.ts";
import { type Files, longFiles, TRANSCRIPT_BYTES } from "./reader-files.ts";
import { RECORD_BYTES } from "./reader-texts.ts";

const LEAST_CPU_SECONDS = 0.4;
const LIMIT = 0.8;
const BASE = "claude";

export interface ReaderSpeed {
  readonly product: string;
  readonly shapes: readonly string[];
  /** Of all records, and their number: lines, rows and documents. */
  readonly bytes: number;
  readonly records: number;
  /** Seconds of CPU time, one for each round. */
  readonly seconds: readonly number[];
}

/** Measures all products in turn, several times. */
export async function readerSpeeds(context: Context): Promise<ReaderSpeed[]> {
  const folder = context.folder("readers");
  const products: { readonly product: string; readonly files: Files }[] = [];
  for (const provider of PROVIDERS) {
    const files = await longFiles(provider, join(folder, provider.name), provider.name === BASE);
    if (files.size > 0) products.push({ product: provider.name, files });
  }
  const seconds = products.map((): number[] => []);
  const amounts: Amount[] = [];
  for (const { files } of products) amounts.push(await read(files));
  for (let round = 0; round < context.runs; round += 1) {
    context.notify(`round ${round + 1} of ${products.length} readers`);
    for (const [i, { files }] of products.entries()) seconds[i]?.push((await read(files)).seconds);
  }
  rmSync(folder, { recursive: true });
  return products.map(({ product, files }, i) => ({
    product,
    shapes: [...new Set([...files.values()].map(({ stream }) => stream.shape))].toSorted(),
    bytes: amounts[i]?.bytes ?? 0,
    records: amounts[i]?.records ?? 0,
    seconds: seconds[i] ?? [],
  }));
}

export function readersSection(speeds: readonly ReaderSpeed[]): string {
  const rateOf = (speed: ReaderSpeed | undefined) => (speed?.bytes ?? 0) / median(speed?.seconds ?? []);
  const base = rateOf(speeds.find(({ product }) => product === BASE));
  const rows = speeds.map((speed) => [
    speed.product,
    speed.shapes.join(", "),
    bytes(speed.bytes),
    bytes(speed.bytes / speed.records),
    `${((1e6 * median(speed.seconds)) / speed.records).toFixed(0)} µs`,
    `${bytes(rateOf(speed))}/s`,
    ratio(rateOf(speed), base),
    speed.product === BASE ? "" : held(`at least ${LIMIT.toFixed(2)}×`, rateOf(speed) / base >= LIMIT),
  ]);
  return `## Readers

CPU time of each product's reader, from the open file to the facts in a store in memory. A record is a line, a row or a document; its bytes are those that the reader is given. Products are read in turn, in one process; the median of the runs counts.

The files are made from the recordings of the product. Recorded texts are short, because the models were scripted, and a short record costs nearly as much as a long one: texts are extended until records have ${bytes(RECORD_BYTES)} on average, as in public sessions of Claude Code. In OpenCode's databases the parts of a message have this size, and a record is a whole message. Records are repeated with new ids and later times, up to ${bytes(TRANSCRIPT_BYTES)} a transcript and ${bytes(DATABASE_BYTES)} a database. Databases of products that could not be recorded are written by their schema.

Three quarters of the bytes that Claude Code recorded are requests and attachments, which its reader skips unread. In public sessions they are 3 %, so the base is measured without records that state nothing; other products keep all their records. The text of rows is prepared for search while they are read, that of transcripts later.

${markdownTable(["", "files", "bytes", "bytes a record", "CPU a record", "bytes a second", `/ ${BASE}`, "limit"], rows)}`;
}

interface Amount {
  readonly bytes: number;
  readonly records: number;
  readonly seconds: number;
}

/** Reads the files, again and again until that took long enough; the average of one time. */
async function read(files: Files): Promise<Amount> {
  const documents = [...files.values()].filter(({ stream }) => stream.shape === "document").length;
  const began = process.cpuUsage();
  for (let times = 1; ; times += 1) {
    const counts = noReads();
    await sync(new MemoryStore(), { files, rootOf: () => undefined }, new Map(), {
      counts,
      onUnreadable: ({ where, detail }) => {
        throw new Error(`${where}: ${detail}`);
      },
    });
    const { user, system } = process.cpuUsage(began);
    const seconds = (user + system) / 1e6;
    if (seconds >= LEAST_CPU_SECONDS)
      return { bytes: counts.bytes, records: counts.lines + counts.rows + documents, seconds: seconds / times };
  }
}

const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
