import type { Exchange, ExchangeFilter, RecordedExchange } from "../../core/facts/exchange.ts";
import type { CallKey } from "../../core/facts/ids.ts";
import { packJson, unpackJson } from "./packing.ts";
import type { Statements } from "./statements.ts";

const SELECT =
  "SELECT e.row, d.path || '/' || f.name AS path FROM exchange e JOIN file f ON f.id = e.file JOIN folder d ON d.id = f.folder";
const UNDER = "f.root IN (SELECT value FROM json_each(?))";

/** Requests to an API. */
export class Exchanges {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  save(file: number, exchange: Exchange): void {
    const { id, at, speaker, thread, invocations } = exchange;
    this.#sql("INSERT OR REPLACE INTO exchange (id, file, at, speaker, thread, row) VALUES (?, ?, ?, ?, ?, ?)").run(
      id,
      file,
      at,
      speaker,
      thread,
      packJson(exchange),
    );
    for (const { call } of invocations)
      this.#sql("INSERT OR IGNORE INTO invocation (call, exchange) VALUES (?, ?)").run(call, id);
  }

  retract(file: number): void {
    this.#sql("DELETE FROM invocation WHERE exchange IN (SELECT id FROM exchange WHERE file = ?)").run(file);
    this.#sql("DELETE FROM exchange WHERE file = ?").run(file);
  }

  list({ under, thread, speakers, limit, after }: ExchangeFilter): readonly RecordedExchange[] {
    const conditions = [UNDER];
    const values: (string | number)[] = [JSON.stringify(under)];
    const only = (condition: string, ...given: readonly (string | number)[]) => {
      conditions.push(condition);
      values.push(...given);
    };
    if (thread !== undefined) only("e.thread = ?", thread);
    if (speakers !== undefined) only("e.speaker IN (SELECT value FROM json_each(?))", JSON.stringify(speakers));
    if (after !== undefined) only("(e.at < ? OR (e.at = ? AND e.id < ?))", after.at, after.at, after.id);
    return this.#all(
      `${SELECT} WHERE ${conditions.join(" AND ")} ORDER BY e.at DESC, e.id DESC LIMIT ?`,
      ...values,
      limit,
    );
  }

  find(id: string, under: readonly string[]): RecordedExchange | null {
    return this.#all(`${SELECT} WHERE e.id = ? AND ${UNDER}`, id, JSON.stringify(under))[0] ?? null;
  }

  ofCall(call: CallKey, under: readonly string[]): RecordedExchange | null {
    const sql = `${SELECT} JOIN invocation i ON i.exchange = e.id WHERE i.call = ? AND ${UNDER} ORDER BY e.at, e.id LIMIT 1`;
    return this.#all(sql, call, JSON.stringify(under))[0] ?? null;
  }

  #all(sql: string, ...values: readonly (string | number)[]): RecordedExchange[] {
    return this.#sql(sql)
      .all(...values)
      .map((row) => ({ ...(unpackJson(row.row as Uint8Array) as Exchange), file: row.path as string }));
  }
}
