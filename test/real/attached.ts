/** Continues an agent with `retinue attach` and the real product. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { type AgentRecord, threads, tree } from "./retinue.ts";
import type { Launch } from "./sandbox.ts";

const MAIN = join(import.meta.dirname, "../../src/cli/main.ts");
const TIMEOUT_MS = 120_000;

export interface Attachable {
  home: string;
  launch: Launch & { cwd: string };
}

/** Runs `retinue attach` with the product as the program `name` on the PATH. */
export async function attach({ home, launch }: Attachable, name: string, ...args: string[]) {
  const bin = join(home, "../bin");
  mkdirSync(bin, { recursive: true });
  const words = launch.command.map((part) => `'${part}'`).join(" ");
  writeFileSync(join(bin, name), `#!/bin/sh\nexec ${words} "$@"\n`);
  chmodSync(join(bin, name), 0o755);
  const env = {
    ...launch.env,
    HOME: home,
    PATH: `${bin}:${launch.env.PATH ?? process.env.PATH ?? ""}`,
    RETINUE_HOME: join(home, "retinue-data"),
  };
  const running = promisify(execFile)(process.execPath, [MAIN, "attach", ...args], {
    env,
    cwd: launch.cwd,
    timeout: TIMEOUT_MS,
    maxBuffer: 64 << 20,
  });
  // Some versions read an open stdin to its end first.
  running.child.stdin?.end();
  return running;
}

/** The content of every file below a folder. */
export function contents(folder: string): Map<string, string> {
  const names = readdirSync(folder, { recursive: true }) as string[];
  const files = names.filter((name) => statSync(join(folder, name)).isFile());
  return new Map(
    files.map((name) => [
      name,
      createHash("sha256")
        .update(readFileSync(join(folder, name)))
        .digest("hex"),
    ]),
  );
}

/** Files that have changed. */
export const changedSince = (before: ReadonlyMap<string, string>, folder: string) => {
  const now = contents(folder);
  return [...before].flatMap(([name, hash]) => (now.get(name) === hash ? [] : [name]));
};

export async function allTrees(home: string): Promise<Map<string, AgentRecord>> {
  const found = new Map<string, AgentRecord>();
  for (const thread of await threads(home)) found.set(thread, await tree(thread, home));
  return found;
}
