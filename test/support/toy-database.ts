/** A made-up product that keeps everything in one database: things, each with texts. */
import { DatabaseSync } from "node:sqlite";
import { recordKey, threadKey } from "../../src/core/facts/ids.ts";
import { FindingsOf } from "../../src/core/ports/findings.ts";
import type { DatabasePlan, Parser, Provider } from "../../src/core/ports/provider.ts";
import { asObject, asText, parseJson } from "../../src/core/tools/json.ts";

const KEY = "toy";
const number = (saved: unknown, name: string) => Number(asObject(saved)?.[name] ?? 0);
const RECORD =
  "SELECT id AS row, rowid AS position, json_object('id', id, 'thing', thing, 'at', at, 'text', text, 'of', (SELECT count(*) FROM line o WHERE o.thing = line.thing)) AS record FROM line WHERE thing = ?";

const plan: DatabasePlan = {
  objects: { sql: "SELECT id AS object, revision FROM thing", values: [] },
  changes: {
    mark: { sql: "SELECT (SELECT max(rowid) FROM line) AS line, (SELECT count(*) FROM thing) AS things", values: [] },
    changed: (since) => ({
      sql: "SELECT DISTINCT thing AS object FROM line WHERE rowid > ?",
      values: [since.line ?? 0],
    }),
    lost: (since) => ({ sql: "SELECT count(*) < ? AS lost FROM thing", values: [since.things ?? 0] }),
    isOpen: (saved) => asObject(saved)?.open === true,
  },
  rows: (object, saved) => ({ sql: `${RECORD} AND at > ?`, values: [object, number(saved, "seen")] }),
  row: (object, row) => ({ sql: `${RECORD} AND id = ?`, values: [object, row] }),
  extent: (object, saved) => ({
    sql: "SELECT (SELECT sum(length(text)) FROM line WHERE thing = ?1) AS bytes, (SELECT count(*) FROM line WHERE thing = ?1) >= ?2 AS intact FROM thing WHERE id = ?1",
    values: [object, number(saved, "count")],
  }),
};

function parserOf(path: string, saved: unknown): Parser {
  let [seen, count, open] = [number(saved, "seen"), number(saved, "count"), asObject(saved)?.open === true];
  const read = (record: Uint8Array) => asObject(parseJson(new TextDecoder().decode(record))?.value);
  return {
    push(record, line, row) {
      const value = read(record);
      seen = Math.max(seen, number(value, "at"));
      count = number(value, "of");
      const text = asText(value?.text) ?? "";
      open = text === "…";
      const speaker = threadKey(KEY, asText(value?.thing) ?? "");
      const found = new FindingsOf({
        path,
        line,
        row,
        at: line,
        speaker,
        keys: [recordKey(KEY, asText(value?.id) ?? "")],
      });
      found.add({ type: "agent-described", agent: speaker, kind: "main", file: { path, bytes: 0 } });
      found.add({
        type: "record",
        role: "assistant",
        state: "answered",
        certain: true,
        calls: [],
        results: [],
        text,
        message: true,
      });
      return found;
    },
    events(record, line) {
      const value = read(record);
      const text = asText(value?.text);
      const thing = asText(value?.thing) ?? "";
      return [
        {
          speaker: threadKey(KEY, thing),
          keys: [],
          at: line,
          kind: "assistant",
          text,
          tool: null,
          response: null,
          name: String(text?.length),
        },
      ];
    },
    save: () => ({ seen, count, open }),
  };
}

export const toyProvider: Provider = {
  name: KEY,
  product: "Toy",
  versions: null,
  docs: "",
  vendor: "nobody",
  folders: [],
  rootFiles: true,
  idForm: "any word",
  roots: (_env, home) => [`${home}/toy`],
  isThreadId: () => true,
  isAgentId: () => true,
  stream: (path) =>
    /^\w+\.db$/.test(path)
      ? {
          shape: "database",
          plan: ({ tables }) =>
            tables.get("line")?.includes("thing") === true
              ? plan
              : { unknown: `has the tables ${[...tables.keys()].join(", ") || "of none"}` },
          open: (file, saved) => parserOf(file.path, saved),
        }
      : null,
};

/** The product itself, which writes the database. */
export class ToyProduct {
  readonly db: DatabaseSync;
  #at = 1;

  constructor(path: string) {
    this.db = new DatabaseSync(path);
    this.db.exec(
      `PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS thing (id TEXT PRIMARY KEY, revision INTEGER);
       CREATE TABLE IF NOT EXISTS line (id TEXT PRIMARY KEY, thing TEXT, at INTEGER, text TEXT); CREATE INDEX IF NOT EXISTS line_of ON line (thing, at)`,
    );
  }

  write(thing: string, id: string, text: string) {
    this.#at += 1;
    this.db
      .prepare("INSERT INTO thing VALUES (?, ?) ON CONFLICT DO UPDATE SET revision = excluded.revision")
      .run(thing, this.#at);
    this.db
      .prepare("INSERT INTO line VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at, text = excluded.text")
      .run(`${thing}-${id}`, thing, this.#at, text);
  }

  forget(thing: string) {
    this.db.prepare("DELETE FROM line WHERE thing = ?").run(thing);
    this.db.prepare("DELETE FROM thing WHERE id = ?").run(thing);
  }

  close() {
    this.db.close();
  }
}
