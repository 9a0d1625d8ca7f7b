/** Connections of tests and benchmarks to PostgreSQL, which know nothing of the code under test. */
import pg from "pg";

type Row = Record<string, unknown>;

interface Queryable {
  query(text: string, parameters: unknown[]): Promise<{ readonly rows: unknown[] }>;
}

export class Sql {
  readonly #on: Queryable;
  readonly #pool: pg.Pool;

  private constructor(pool: pg.Pool, on: Queryable = pool) {
    this.#pool = pool;
    this.#on = on;
  }

  /** Connects when it is asked. A connection that the server closes is opened again for the next statement. */
  static open(url: string, max = 1): Sql {
    const pool = new pg.Pool({ connectionString: url, max });
    pool.on("error", () => {});
    return new Sql(pool);
  }

  /** The rows of a statement. Without parameters there may be several statements, whose rows are not returned. */
  async all<R extends object = Row>(text: string, parameters: readonly unknown[] = []): Promise<R[]> {
    return ((await this.#on.query(text, [...parameters])).rows ?? []) as R[];
  }

  /** Runs the work in a transaction. */
  async begin<T>(work: (held: Sql) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect();
    try {
      await client.query("begin");
      const result = await work(new Sql(this.#pool, client));
      await client.query("commit");
      return result;
    } finally {
      client.release(true);
    }
  }

  end(): Promise<void> {
    return this.#pool.end();
  }
}
