/** A temporary home for a product that is run headless. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Group, type Run } from "./process.ts";

export interface Sandbox {
  home: string;
  /** The command that starts the product, for tests that start it themselves. */
  launch: Launch & { cwd: string };
  start(prompt: string, flags?: string[]): Run;
  /** Runs to the end; an exit code other than 0 is an error. */
  run(prompt: string, flags?: string[]): Promise<void>;
  dispose(): Promise<void>;
}

/** The environment of a product. */
export interface Launch {
  command: string[];
  /** Contains none of the caller's own settings or accounts, except those named here. */
  env: Record<string, string>;
}

export interface Places {
  home: string;
  temp: string;
}

/** `prepare` may write into the new home, and returns the command that starts the product there. */
export async function openHome(
  prepare: (places: Places) => Promise<Launch>,
  args: (prompt: string, flags: string[]) => string[],
): Promise<Sandbox> {
  const folder = await realpath(await mkdtemp(join(process.env.RETINUE_REAL_FOLDER ?? tmpdir(), "retinue-real-")));
  const [home, project, temp] = ["home", "project", "tmp"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  for (const path of [home, project, temp]) await mkdir(path);
  await writeFile(join(project, "a.txt"), "alpha\n");
  const { command, env: own } = await prepare({ home, temp });
  const options = {
    cwd: project,
    env: { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: temp, TERM: "dumb", LANG: "C.UTF-8", ...own },
  };
  const group = new Group();
  const commandFor = (prompt: string, flags: string[] = []) => [...command, ...args(prompt, flags)];
  return {
    home,
    launch: { command, ...options },
    start: (prompt, flags) => group.start(commandFor(prompt, flags), options),
    run: (prompt, flags) => group.run(commandFor(prompt, flags), options),
    async dispose() {
      await group.endAll();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
