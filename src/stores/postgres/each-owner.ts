import type { Parameter, Queries } from "./database.ts";

/** The rows of the same statement for each owner; the client sends them without waiting for each other. */
export async function eachOwner<Row extends object>(
  queries: Queries,
  owners: readonly string[],
  statement: string,
  parametersOf: (owner: string) => readonly Parameter[] = () => [],
): Promise<{ readonly owner: string; readonly row: Row }[]> {
  const found = await Promise.all(
    owners.map(async (owner) => {
      const rows = await queries.all<Row>(statement, [owner, ...parametersOf(owner)]);
      return rows.map((row) => ({ owner, row }));
    }),
  );
  return found.flat();
}
