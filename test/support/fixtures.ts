/** The recordings below fixtures/: what a product left on disk, and what is known to have happened. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import type { AgentTruth, ThreadTruth } from "./judge.ts";

export const FIXTURES = join(import.meta.dirname, "../../fixtures");

/** Those that have recordings of their own. */
export const RECORDED = PROVIDERS.filter(({ name }) => existsSync(join(FIXTURES, name)));

/** How a text of the truth is to be compared: `accept` widens it. */
export interface RecordedAgent extends AgentTruth {
  depth: number;
  type: string | null;
  description: string | null;
  background: boolean | null;
  result: string | null;
  accept?: AgentTruth["accept"] & Record<string, unknown>;
}

export interface RecordedThread extends ThreadTruth {
  agents: RecordedAgent[];
  /** May be listed or left out. */
  optional?: boolean;
}

interface Truth {
  threads: RecordedThread[];
  moments?: Record<string, { threads: RecordedThread[] }>;
}

/** No product has a home there: all there is was recorded, and lies beside it. */
export const isOnlyRecorded = (home: string) => existsSync(join(home, ".keep"));

/**
 * What is in the environment of somebody who lives in a home. Temporary files are kept beside it, and never those of
 * the machine that tests run on.
 */
export const homeEnv = (home: string): Readonly<Record<string, string>> => ({
  HOME: home,
  TMPDIR: join(home, "..", "tmp"),
  ...(isOnlyRecorded(home) ? { RETINUE_HOME: join(home, "..") } : {}),
});

/** One home folder, at the end of a recording or at a moment on the way. */
export interface RecordedHome {
  readonly name: string;
  readonly home: string;
  readonly threads: readonly RecordedThread[];
}

const folderOf = (provider: string) => join(FIXTURES, provider);

export function caseNames(provider: string, folder = folderOf(provider)): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort();
}

export function recordedHome(provider: string, name: string, folder = folderOf(provider)): RecordedHome {
  return { name, home: join(folder, name, "home"), threads: truthOf(folder, name).threads };
}

/** Every case and every moment of it that a truth is known for. */
export function recordedHomes(provider: string, folder = folderOf(provider)): RecordedHome[] {
  return caseNames(provider, folder).flatMap((name) => [
    recordedHome(provider, name, folder),
    ...Object.entries(truthOf(folder, name).moments ?? {}).map(([moment, { threads }]) => ({
      name: `${name} ${moment}`,
      home: join(folder, name, moment),
      threads,
    })),
  ]);
}

/** Homes recorded on the way, as folders; each must have its truth. */
export function momentFolders(provider: string): string[] {
  return caseNames(provider).flatMap((name) =>
    readdirSync(join(FIXTURES, provider, name))
      .filter((folder) => folder.startsWith("home-at-"))
      .map((folder) => `${name} ${folder}`),
  );
}

function truthOf(folder: string, name: string): Truth {
  return JSON.parse(readFileSync(join(folder, name, "truth.json"), "utf8")) as Truth;
}

/** Every file below a folder, sorted, as paths from there. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
