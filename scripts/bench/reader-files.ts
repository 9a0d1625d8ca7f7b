/** Files of the size of real ones, made from the recordings of a product. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { asSource, discover, type Found } from "../../src/app/ingest/discover.ts";
import type { Provider } from "../../src/core/ports/provider.ts";
import { asList, asObject, parseJson } from "../../src/core/tools/json.ts";
import { homeEnv, isOnlyRecorded, RECORDED, recordedHomes } from "../../test/support/fixtures.ts";
import { enlarge, writeDatabase } from "./reader-databases.ts";
import { idsIn, renewed, withLongTexts } from "./reader-texts.ts";

/** The records of a transcript are repeated up to this size, so that opening it does not matter. */
export const TRANSCRIPT_BYTES = 256 << 10;
/** Enough for every kind of record of a product. */
const PRODUCT_BYTES = 24e6;

export type Files = ReadonlyMap<string, Found>;

/** Copies of the recorded homes of a product, with longer files. `onlyFacts` leaves out records without facts. */
export async function longFiles(provider: Provider, folder: string, onlyFacts: boolean): Promise<Files> {
  const all = new Map<string, Found>();
  const add = async (home: string) => {
    for (const found of await filesIn(provider, home)) all.set(found.path, found);
  };
  if (!RECORDED.includes(provider) && writeDatabase(provider.name, join(folder, "home")))
    await add(join(folder, "home"));
  const homes = RECORDED.includes(provider) ? recordedHomes(provider.name) : [];
  for (const [i, { home }] of homes.filter((one) => !isOnlyRecorded(one.home)).entries()) {
    if (sizeOf([...all.values()]) > PRODUCT_BYTES) break;
    const copy = join(folder, String(i), "home");
    cpSync(home, copy, { recursive: true });
    for (const found of await filesIn(provider, copy)) {
      const { shape, packed } = found.stream;
      if (shape === "database") enlarge(found.path);
      else if (shape === "document") lengthenDocument(found.path);
      else if (packed === undefined) lengthen(found, onlyFacts);
    }
    await add(copy);
  }
  return all;
}

export async function filesIn(provider: Provider, home: string): Promise<Found[]> {
  const files: Found[] = [];
  await discover(homeEnv(home), new Map(), [provider], new Map(), (folder) => files.push(...folder.files));
  return files;
}

export const sizeOf = (files: readonly Found[]) => files.reduce((sum, { stamp }) => sum + stamp.size, 0);

/** Repeats the records of a transcript with longer texts, and each time with new ids and later times. */
function lengthen(found: Found, onlyFacts: boolean): void {
  const recorded = readFileSync(found.path, "utf8").trimEnd().split("\n");
  const lines = onlyFacts ? withFacts(found, recorded) : recorded;
  writeFileSync(found.path, `${repeated(lines, "\n", found.path).join("\n")}\n`);
}

/** The same for a document with a list of messages; other documents stay as they are. */
function lengthenDocument(path: string): void {
  const json = asObject(parseJson(readFileSync(path, "utf8"))?.value);
  const messages = asList(json?.messages).filter((message) => asObject(message) !== null);
  if (messages.length === 0) return;
  const [before = "", after = ""] = JSON.stringify({ ...json, messages: [0] }).split('"messages":[0]');
  const all = repeated(
    messages.map((message) => JSON.stringify(message)),
    ",",
    path,
  );
  writeFileSync(path, `${before}"messages":[${all.join(",")}]${after}`);
}

/** Ids in the path or in the first record are those of the session and stay. */
function repeated(records: readonly string[], separator: string, path: string): string[] {
  const text = withLongTexts(records).join(separator);
  const ids = idsIn(records);
  for (const id of ids) if (path.includes(id) || records[0]?.includes(id)) ids.delete(id);
  const times = Math.max(1, Math.ceil(TRANSCRIPT_BYTES / text.length));
  return Array.from({ length: times }, (_, n) => (n === 0 ? text : renewed(text, ids, n)));
}

function withFacts(found: Found, lines: readonly string[]): string[] {
  const parser = found.stream.open(asSource(found));
  return lines.filter((line, i) => parser.push(Buffer.from(line), i + 1).observations.length > 0);
}
