import { type Machine, readMachine } from "../app/machine.ts";
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
}

export function openContext(options: CommonOptions): Context {
  const terminal = openTerminal({ color: options.color !== false, quiet: options.quiet === true });
  return {
    terminal,
    env: process.env,
    json: options.json === true,
    machine: async () => {
      const began = performance.now();
      const machine = await readMachine({ env: process.env, ...(terminal.progress === null ? {} : { onProgress: terminal.progress }) });
      if (options.debug === true) {
        const { files, bytes, lines } = machine.counts;
        process.stderr.write(`debug: read ${files} files, ${bytes} bytes, ${lines} lines; ${machine.forest.agents.size} agents in ${Math.round(performance.now() - began)} ms\n`);
      }
      return machine;
    },
  };
}
