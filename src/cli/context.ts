import { closeHome } from "../app/home.ts";
import type { Library } from "../app/library.ts";
import { openLibrary } from "../app/open.ts";
import { listPrice } from "../app/prices.ts";
import { checkTarget, resolve } from "../app/resolve.ts";
import { loadSettings, type SettingsFile } from "../app/settings.ts";
import { troubleLine, troubleOf } from "../app/trouble.ts";
import type { AgentTree } from "../core/agent.ts";
import type { AgentKey } from "../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "../core/link.ts";
import type { Problem } from "../core/problem.ts";
import { treeOf } from "../core/record.ts";
import { oneLine } from "./render/printable.ts";
import { openTerminal, type Terminal } from "./terminal.ts";

/** Options every command takes. */
export interface CommonOptions {
  readonly json?: boolean;
  readonly color?: boolean;
  readonly quiet?: boolean;
  readonly debug?: boolean;
}

/** What a command works with. */
export interface Context {
  readonly terminal: Terminal;
  readonly env: NodeJS.ProcessEnv;
  readonly json: boolean;
  /** Read once, when first asked for: help and the like must work whatever the file holds. */
  settings(): Promise<SettingsFile>;
  /** Up to date with the disk. */
  library(): Promise<Library>;
  /** The agents that the words name, and the trees they stand in. Bad words are told before anything is read. */
  find<Words extends readonly string[]>(...uris: Words): Promise<Sought<Words>>;
  treeOf(forest: Forest, key: AgentKey): AgentTree;
}

export interface Sought<Words extends readonly string[]> {
  readonly library: Library;
  readonly forest: Forest;
  readonly agents: { readonly [K in keyof Words]: LinkedAgent };
}

/** What is shown lacks something: said once, on stderr. */
export function tell({ talk }: Terminal, problems: readonly Problem[]): void {
  const line = troubleLine(problems);
  if (line !== null) talk(oneLine(line));
}

/** What the command that runs works with. */
let current: Library | null = null;

/** True where a command failed because the index was damaged: it was made anew by now, and the command may run once more. */
export async function isRepaired(error: unknown): Promise<boolean> {
  if (current === null || !current.index.distrust(error)) return false;
  await current.refreshPaths([]);
  current.close();
  return true;
}

export function openContext(options: CommonOptions): Context {
  const terminal = openTerminal({ color: options.color !== false, quiet: options.quiet === true });
  const { env } = process;
  closeHome(env);
  let loaded: Promise<SettingsFile> | undefined;
  const settings = () => {
    loaded ??= loadSettings(env);
    return loaded;
  };
  let price = listPrice;
  const library = async () => {
    const began = performance.now();
    const { talk, progress } = terminal;
    const found = await openLibrary({ env, settings: await settings(), talk, ...(progress === null ? {} : { onProgress: progress }) });
    current = found;
    price = found.price;
    await found.refresh();
    if (options.debug === true) {
      const { files, bytes, lines } = found.counts;
      process.stderr.write(`debug: opened ${files} files, read ${bytes} bytes and ${lines} lines in ${Math.round(performance.now() - began)} ms\n`);
    }
    return found;
  };
  return {
    terminal,
    env,
    json: options.json === true,
    settings,
    library,
    find: async (...uris) => {
      for (const uri of uris) checkTarget(uri);
      const found = await library();
      const rows = uris.map((uri) => resolve(found, uri));
      const forest = found.forestOf(rows.map((row) => row.key));
      tell(
        terminal,
        rows.flatMap((row) => troubleOf(found, forest, row.key)),
      );
      return { library: found, forest, agents: rows.map((row) => agentOf(forest, row.key)) as never };
    },
    // Whoever has a forest has it from the library.
    treeOf: (forest, key) => treeOf(forest, key, price),
  };
}
