import { type Machine, readMachine } from "../app/machine.ts";
import { checkTarget, resolve } from "../app/resolve.ts";
import type { LinkedAgent } from "../core/link.ts";
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
  machine(): Promise<Machine>;
  /** The machine, and the agents that the words name on it. Bad words are told before anything is read. */
  find<Words extends readonly string[]>(...uris: Words): Promise<{ readonly machine: Machine; readonly agents: { readonly [K in keyof Words]: LinkedAgent } }>;
}

export function openContext(options: CommonOptions): Context {
  const terminal = openTerminal({ color: options.color !== false, quiet: options.quiet === true });
  const machine = async () => {
    const began = performance.now();
    const found = await readMachine({ env: process.env, ...(terminal.progress === null ? {} : { onProgress: terminal.progress }) });
    if (options.debug === true) {
      const { files, bytes, lines } = found.counts;
      process.stderr.write(
        `debug: read ${files} files, ${bytes} bytes, ${lines} lines; ${found.forest.agents.size} agents in ${Math.round(performance.now() - began)} ms\n`,
      );
    }
    return found;
  };
  return {
    terminal,
    env: process.env,
    json: options.json === true,
    machine,
    find: async (...uris) => {
      for (const uri of uris) checkTarget(uri);
      const found = await machine();
      return { machine: found, agents: uris.map((uri) => resolve(found, uri)) as never };
    },
  };
}
