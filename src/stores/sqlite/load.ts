/**
 * Node.js 22 prints a warning that its SQLite is experimental. Users cannot do anything about it, so this warning is
 * suppressed.
 */
export async function loadSqlite(): Promise<typeof import("node:sqlite")> {
  const { emitWarning } = process;
  const quiet = (warning: string | Error, ...rest: unknown[]) => {
    if (!String(warning).startsWith("SQLite is an experimental feature"))
      Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  process.emitWarning = quiet as typeof process.emitWarning;
  try {
    return await import("node:sqlite");
  } finally {
    process.emitWarning = emitWarning;
  }
}
