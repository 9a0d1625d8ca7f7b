/** CPU time of each product's reader on its recordings, by the way that records take into the store. */
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { discover, type Found } from "../../src/app/ingest/discover.ts";
import { sync } from "../../src/app/ingest/sync.ts";
import type { Provider } from "../../src/core/ports/provider.ts";
import { parseJson } from "../../src/core/tools/json.ts";
import { MemoryStore } from "../../src/stores/memory.ts";
import { noReads } from "../../src/transports/files.ts";
import { homeEnv, isOnlyRecorded, RECORDED, recordedHomes } from "../../test/support/fixtures.ts";
import type { Context } from "./context.ts";
import { bytes, held, markdownTable, ratio } from "./format.ts";

/** The records of a transcript are repeated up to this size, so that opening it does not matter. */
const TRANSCRIPT_BYTES = 256 << 10;
/** Enough for every kind of record of a product. */
const PRODUCT_BYTES = 16e6;
/** Records of the recordings are shorter than usual, because their models are scripted. */
const RECORD_BYTES = 2_000;
const WORDS = /[a-z] [a-z]/i;
const FILLER = " and the next line of it\\n";
const LEAST_CPU_SECONDS = 0.4;
const LIMIT = 0.8;
const BASE = "claude";

export interface ReaderSpeed {
  readonly product: string;
  readonly shapes: readonly string[];
  readonly bytes: number;
  /** Null without transcripts: documents and databases are read whole. */
  readonly bytesARecord: number | null;
  /** Bytes per second of CPU time, one for each round. */
  readonly rates: readonly number[];
}

type Files = ReadonlyMap<string, Found>;

/** Measures all products in turn, several times. */
export async function readerSpeeds(context: Context): Promise<ReaderSpeed[]> {
  const folder = context.folder("readers");
  const products: { readonly product: string; readonly files: Files }[] = [];
  for (const provider of RECORDED) {
    const files = await recordsOf(provider, join(folder, provider.name));
    if (files.size > 0) products.push({ product: provider.name, files });
  }
  const rates = products.map((): number[] => []);
  let lines = products.map(() => 0);
  for (const { files } of products) await read(files);
  for (let round = 0; round < context.runs; round += 1) {
    context.notify(`round ${round + 1} of ${products.length} readers`);
    const found = [];
    for (const { files } of products) found.push(await read(files));
    for (const [i, { rate }] of found.entries()) rates[i]?.push(rate);
    lines = found.map((one) => one.lines);
  }
  rmSync(folder, { recursive: true });
  return products.map(({ product, files }, i) => {
    const all = [...files.values()];
    const inLines = sizeOf(all.filter(({ stream }) => stream.shape === "lines"));
    return {
      product,
      shapes: [...new Set(all.map(({ stream }) => stream.shape))].toSorted(),
      bytes: sizeOf(all),
      bytesARecord: lines[i] ? inLines / lines[i] : null,
      rates: rates[i] ?? [],
    };
  });
}

export function readersSection(speeds: readonly ReaderSpeed[]): string {
  const base = median(speeds.find(({ product }) => product === BASE)?.rates ?? []);
  const rows = speeds.map(({ product, shapes, bytes: size, bytesARecord, rates }) => [
    product,
    shapes.join(", "),
    bytes(size),
    bytesARecord === null ? "" : bytes(bytesARecord),
    `${bytes(median(rates))}/s`,
    ratio(median(rates), base),
    product === BASE || bytesARecord === null
      ? ""
      : held(`at least ${LIMIT.toFixed(2)}×`, median(rates) / base >= LIMIT),
  ]);
  return `## Readers

Bytes that each product's reader reads in a second of CPU time: the recordings of the product, from the open file to the facts in a store in memory. Recorded texts are short, because the models were scripted: in transcripts they are extended until records have ${bytes(RECORD_BYTES)}, and the records are repeated up to ${bytes(TRANSCRIPT_BYTES)} a file; documents and databases are as recorded: so small that opening them counts, so they have no limit. Products are read in turn, in one process; the median of the runs counts.

${markdownTable(["", "files", "bytes", "bytes a record", "bytes a second", `/ ${BASE}`, "limit"], rows)}`;
}

/** Copies of the recorded homes of a product, with longer transcripts. */
async function recordsOf(provider: Provider, folder: string): Promise<Files> {
  const all = new Map<string, Found>();
  const homes = recordedHomes(provider.name).filter(({ home }) => !isOnlyRecorded(home));
  for (const [i, { home }] of homes.entries()) {
    if (sizeOf([...all.values()]) > PRODUCT_BYTES) break;
    const copy = join(folder, String(i), "home");
    cpSync(home, copy, { recursive: true });
    for (const { path, stream } of await filesIn(provider, copy))
      if (stream.shape === "lines" && stream.packed === undefined) lengthen(path);
    for (const found of await filesIn(provider, copy)) all.set(found.path, found);
  }
  return all;
}

async function filesIn(provider: Provider, home: string): Promise<Found[]> {
  const files: Found[] = [];
  await discover(homeEnv(home), new Map(), [provider], new Map(), (folder) => files.push(...folder.files));
  return files;
}

/** Repeats the records of a transcript, with longer texts. */
function lengthen(path: string): void {
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const text = `${lines.map(withLongText).join("\n")}\n`;
  writeFileSync(path, text.repeat(Math.max(1, Math.ceil(TRANSCRIPT_BYTES / text.length))));
}

/** Extends the longest text of a record up to `RECORD_BYTES`; records without words and torn ones stay. */
function withLongText(line: string): string {
  const missing = RECORD_BYTES - line.length;
  const value = missing > 0 ? parseJson(line)?.value : undefined;
  let longest = "";
  const look = (part: unknown): void => {
    if (typeof part === "string" && part.length > longest.length && WORDS.test(part)) longest = part;
    if (typeof part === "object" && part !== null) for (const one of Object.values(part)) look(one);
  };
  look(value);
  const written = JSON.stringify(longest).slice(1, -1);
  if (longest === "" || !line.includes(written)) return line;
  return line.replace(written, () => written + FILLER.repeat(Math.ceil(missing / FILLER.length)).slice(0, missing));
}

/** Reads the files, again and again until that took long enough. */
async function read(files: Files): Promise<{ readonly rate: number; readonly lines: number }> {
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
      return { rate: (times * sizeOf([...files.values()])) / seconds, lines: counts.lines };
  }
}

const sizeOf = (files: readonly Found[]) => files.reduce((sum, { stamp }) => sum + stamp.size, 0);
const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
