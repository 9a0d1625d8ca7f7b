/**
 * No part of a key leaves the machine: nothing that is exported or shipped is computed from texts that still contain
 * secrets. Keys are planted in every text of recordings, so that wherever a text is cut, it is cut in a key.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { renderFile } from "../../src/app/export/file.ts";
import { FILE_FORMATS } from "../../src/app/export/formats.ts";
import { readStory } from "../../src/app/export/story.ts";
import { redacted } from "../../src/core/redaction/redact-story.ts";
import { DEFAULT_REDACTION, REDACTION_LEVELS, Redactor } from "../../src/core/redaction/redaction.ts";
import { SECRET } from "../../src/core/redaction/secrets.ts";
import { runsOf } from "../../src/exporters/langsmith/runs.ts";
import { exportRequest } from "../../src/exporters/otlp/shape.ts";
import { otlpSpans } from "../../src/exporters/otlp/spans.ts";
import { tracesOf } from "../../src/exporters/trace/spans.ts";
import { caseNames, filesBelow, RECORDED, recordedHome } from "../support/fixtures.ts";
import { Received } from "../support/received.ts";
import { maker } from "../support/secret-formats.ts";
import { libraryIn, shipperTo, TARGET } from "../support/shipping.ts";

const NOW = Date.UTC(2030, 0);
/** A shorter part of a key is in texts by chance. */
const PART = 6;

const make = maker(77);
/** The random parts of keys, and the texts around them. */
const KEYS: readonly (readonly [secret: string, text: string])[] = [
  ["ghp_", make.alnum(36)],
  ["sk-ant-api03-", make.url(60)],
  ["AKIA", make.upper(16)],
  ["export API_TOKEN=", make.alnum(32)],
  ["github_pat_", make.alnum(60)],
  ["glpat-", make.alnum(20)],
  ["xoxb-", `${make.digits(12)}-${make.alnum(24)}`],
  ["sk_live_", make.alnum(32)],
  ["password: ", make.password(14)],
  ["postgres://app:", make.alnum(14), "@db/x"],
].map(([before = "", secret = "", after = ""]) => [secret, `${before}${secret}${after}`]);
const FRAGMENTS = new Set(
  KEYS.flatMap(([secret]) =>
    Array.from({ length: secret.length - PART + 1 }, (_, at) => secret.slice(at, at + PART)).filter((one) =>
      /[a-z]/i.test(one),
    ),
  ),
);

/** Names of fields with ids, paths, times and words that the product itself chose. */
const IS_REFERENCE =
  /(?:id|ids|uuid|type|kind|role|path|file|dir|cwd|folder|model|version|time(?:stamp)?|at|status|state|subtype|entrypoint|reason|hash|signature|branch|level|provider|api|source|format|encoding|tier|mode|event|name|slug|originator|stop_?reason|parent|url|user|agent|sender|to|from|recipient|phase|outcome|operation|scope|effort|currency|timezone|schema|method)$/i;

let turn = 0;
/** The keys, beginning with another one each time and after a text of another length. */
function plant(text: string): string {
  turn += 1;
  const order = [...KEYS.slice(turn % KEYS.length), ...KEYS.slice(0, turn % KEYS.length)].map(([, key]) => key);
  const begin = text.slice(0, 3 + (turn % 23));
  return `${begin} ${order.join(" and ")} ${text}\n${order.join("\n")}`;
}

function planted(value: unknown, key = ""): unknown {
  if (typeof value === "string") {
    if (IS_REFERENCE.test(key)) return value;
    // Arguments of calls are JSON in a text.
    if (/^[{[]/.test(value)) {
      try {
        return JSON.stringify(planted(JSON.parse(value)));
      } catch {
        return value;
      }
    }
    return /[a-z]/i.test(value) && !value.startsWith("/") && !value.startsWith("<") ? plant(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => planted(item, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, planted(item, name)]));
}

/** The same in the rows of a database. */
function plantInRows(path: string): void {
  const database = new DatabaseSync(path);
  for (const { name: table } of database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all())
    for (const { name: column } of database.prepare(`PRAGMA table_info("${table}")`).all()) {
      const rows = database.prepare(
        `SELECT rowid, "${column}" AS value FROM "${table}" WHERE typeof("${column}") = 'text'`,
      );
      const update = database.prepare(`UPDATE "${table}" SET "${column}" = ? WHERE rowid = ?`);
      for (const { rowid, value } of rows.all()) update.run(planted(value, String(column)) as string, rowid as number);
    }
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
}

/** Each part of a key in a text, with what is around it. */
function partsIn(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at + PART <= text.length; at += 1) {
    if (!FRAGMENTS.has(text.slice(at, at + PART))) continue;
    const start = at;
    while (FRAGMENTS.has(text.slice(at, at + PART))) at += 1;
    found.push(text.slice(Math.max(0, start - 60), at + PART + 20));
  }
  return [...new Set(found)];
}

/** Recordings with errors and with several levels: they are quoted in reasons, evidence and notifications. */
const CASES = RECORDED.filter(({ name }) => name !== "run").flatMap(({ name }) => {
  const like = (pattern: RegExp, most: number) =>
    caseNames(name)
      .filter((one) => pattern.test(one))
      .slice(0, most);
  return [...new Set([...like(/fail/, 3), ...like(/nested|team/, 1)])].map((one) => [name, one] as const);
});

describe.each(CASES)("what leaves of %s %s", (provider, name) => {
  const scratch = mkdtempSync(join(tmpdir(), "retinue-fragments-"));
  const home = join(scratch, "home");
  const library = libraryIn(home, () => NOW);
  beforeAll(async () => {
    cpSync(recordedHome(provider, name).home, home, { recursive: true });
    for (const path of filesBelow(home).filter((one) => /\.jsonl?$/.test(one))) {
      const text = readFileSync(join(home, path), "utf8");
      const texts = path.endsWith("l") ? text.split("\n") : [text];
      const spoilt = texts.map((one) => (one === "" ? "" : JSON.stringify(planted(JSON.parse(one)))));
      writeFileSync(join(home, path), spoilt.join("\n"));
    }
    for (const path of filesBelow(home).filter((one) => /\.(?:db|sqlite)$/.test(one))) plantInRows(join(home, path));
    await library.refresh();
  });
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const roots = () => [...library.forests()].flatMap((forest) => forest.roots.map((root) => ({ forest, root })));

  it.each(REDACTION_LEVELS)("shipped with the level %s contains no part of a key", async (level) => {
    const received = new Received();
    const target = { ...TARGET, redaction: { ...DEFAULT_REDACTION, level } };
    const { shipper, shipped } = await shipperTo(library, received, { target });
    await shipper.shipAll();
    shipped.close();
    const sent = JSON.stringify(received.documents);
    expect(level === "metadata" || sent.includes(SECRET)).toBe(true);
    expect(partsIn(sent)).toEqual([]);
  });

  it.each(FILE_FORMATS)("exported as %s contains no part of a key", async (format) => {
    for (const { root } of roots())
      expect(partsIn(await renderFile(format, library, root, DEFAULT_REDACTION))).toEqual([]);
  });

  it("sent to tracing services contains no part of a key", async () => {
    for (const { forest, root } of roots()) {
      const story = redacted(await readStory(library, forest, root), new Redactor(DEFAULT_REDACTION));
      const traces = tracesOf(story);
      const options = { project: "tests", version: "1", metadata: {}, outer: null, shiftMs: 0 };
      const sent = [traces.map((trace) => runsOf(trace, options)), exportRequest(otlpSpans(traces), [], "1")];
      expect(partsIn(JSON.stringify(sent))).toEqual([]);
    }
  });
});
