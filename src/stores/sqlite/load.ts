/**
 * Node 22 warns that its SQLite is experimental. Nobody who runs a command can do anything about that, so the one
 * warning is left out.
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
