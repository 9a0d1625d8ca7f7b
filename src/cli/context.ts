import { closeHome } from "../app/home.ts";
import type { Library, ThreadFilter } from "../app/ingest/library.ts";
import { openLibrary } from "../app/open.ts";
import { listPrice } from "../app/query/prices.ts";
import { checkTarget, resolve } from "../app/query/resolve.ts";
import { troubleLine, troubleOf } from "../app/query/trouble.ts";
import { loadSettings, type SettingsFile } from "../app/settings/settings.ts";
import type { AgentKey } from "../core/facts/ids.ts";
import type { Problem } from "../core/facts/problem.ts";
import { agentOf, type Forest, type LinkedAgent } from "../core/link/forest.ts";
import { ago, bytes, plural } from "../core/tools/format.ts";
import type { AgentTree } from "../core/views/agent.ts";
import { treeOf } from "../core/views/record.ts";
import { oneLine } from "./render/printable.ts";
import { type Host, openTerminal, type Terminal } from "./terminal.ts";

/** Options that every command accepts. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
  readonly debug?: boolean;
}

/** The environment of a command: its output, settings and library. */
export interface Context {
  readonly terminal: Terminal;
  readonly host: Host;
  readonly env: Host["env"];
  readonly json: boolean;
  /** Loaded on first use, so that --help works with an invalid settings file. */
  settings(): Promise<SettingsFile>;
  /** Synced with the disk. With a page, only the files of its threads are read; `Library.reading` counts the rest. */
  library(page?: ThreadFilter): Promise<Library>;
  /** Resolves the URIs to agents and loads their trees. Invalid URIs are rejected before anything is read. */
  find<Uris extends readonly string[]>(...uris: Uris): Promise<Found<Uris>>;
  treeOf(forest: Forest, key: AgentKey): AgentTree;
}

export interface Found<Uris extends readonly string[]> {
  readonly library: Library;
  readonly forest: Forest;
  readonly agents: { readonly [K in keyof Uris]: LinkedAgent };
}

/** Prints a warning to stderr if records of these agents could not be read. */
export function warnOfProblems({ notify }: Terminal, problems: readonly Problem[]): void {
  const line = troubleLine(problems);
  if (line !== null) notify(oneLine(line));
}

/** Prints to stderr how much was not read yet; `next` is the suggested next step. */
export function printUnread({ notify }: Terminal, { reading }: Library, next: string): void {
  if (reading === null) return;
  const [files, size] = [reading.all - reading.done, reading.allBytes - reading.bytes];
  const newest = ago(new Date(reading.reachesMs).toISOString(), Date.now());
  notify(`not read yet: ${plural(files, "file")}, ${bytes(size)}, last modified ${newest} or earlier; ${next}`);
}

export function openContext(options: CommonOptions, host: Host, onOpen: (library: Library) => void): Context {
  const terminal = openTerminal({ color: options.color !== false, quiet: options.quiet === true }, host);
  const { env } = host;
  closeHome(env);
  let loaded: Promise<SettingsFile> | undefined;
  const settings = () => {
    loaded ??= loadSettings(env);
    return loaded;
  };
  let price = listPrice;
  const library = async (page?: ThreadFilter) => {
    const began = performance.now();
    const { notify, progress } = terminal;
    const found = await openLibrary({
      env,
      settings: await settings(),
      notify,
      ...(progress === null ? {} : { onProgress: progress }),
    });
    onOpen(found);
    price = found.price;
    await found.refresh(page);
    progress?.(1, 1);
    if (options.debug === true) {
      const { files, bytes, lines } = found.counts;
      host.stderr.write(
        `debug: opened ${files} files, read ${bytes} bytes and ${lines} lines in ${Math.round(performance.now() - began)} ms\n`,
      );
    }
    return found;
  };
  return {
    terminal,
    host,
    env,
    json: options.json === true,
    settings,
    library,
    find: async (...uris) => {
      for (const uri of uris) checkTarget(uri);
      const found = await library();
      const rows = uris.map((uri) => resolve(found, uri));
      const forest = found.forestOf(rows.map((row) => row.key));
      warnOfProblems(
        terminal,
        rows.flatMap((row) => troubleOf(found, forest, row.key)),
      );
      return { library: found, forest, agents: rows.map((row) => agentOf(forest, row.key)) as never };
    },
    // Prices are loaded with the library, and a forest always comes from it.
    treeOf: (forest, key) => treeOf(forest, key, price),
  };
}
