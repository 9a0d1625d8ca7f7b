import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** What a line of the file is about. */
export interface Login {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

const MAX_BYTES = 1 << 20;

/** The password in `.pgpass`, or in the file that PGPASSFILE names; null if there is none. */
export function passwordFromFile(login: Login): string | null {
  const file = process.env.PGPASSFILE ?? join(homedir(), ".pgpass");
  try {
    const stat = statSync(file);
    // As PostgreSQL's own programs do: a file that others can read is not used.
    const isPrivate = process.platform === "win32" || (stat.mode & 0o077) === 0;
    return stat.isFile() && isPrivate && stat.size <= MAX_BYTES ? passwordIn(readFileSync(file, "utf8"), login) : null;
  } catch {
    return null;
  }
}

/** Of the first line that fits: `host:port:database:user:password`, where `*` fits everything. */
export function passwordIn(text: string, { host, port, database, user }: Login): string | null {
  const wanted = [[host, ...(host.startsWith("/") ? ["localhost"] : [])], [String(port)], [database], [user]];
  for (const line of text.split(/\r?\n/)) {
    const fields = line.startsWith("#") ? [] : fieldsOf(line);
    if (fields.length > wanted.length && wanted.every((values, i) => ["*", ...values].includes(fields[i] ?? "")))
      return fields[wanted.length] ?? null;
  }
  return null;
}

/** Colons and backslashes in a field have a backslash before them. */
const fieldsOf = (line: string) =>
  (line.match(/(?<=^|:)(?:\\.|[^:\\])*(?=:|$)/g) ?? []).map((field) => field.replace(/\\(.)/g, "$1"));
