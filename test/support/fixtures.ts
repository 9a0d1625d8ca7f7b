/** The recordings below fixtures/: what a product left on disk, and the truth about it. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PROVIDERS } from "../../src/providers/loaded.ts";
import type { AgentTruth, ThreadTruth } from "./judge.ts";

export const FIXTURES = join(import.meta.dirname, "../../fixtures");

/** Products that have recordings of their own. */
export const RECORDED = PROVIDERS.filter(({ name }) => existsSync(join(FIXTURES, name)));

/** How a text of the truth is compared; `accept` adds alternatives. */
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
  /** May be shown or left out. */
  optional?: boolean;
}

interface Truth {
  threads: RecordedThread[];
  moments?: Record<string, { threads: RecordedThread[] }>;
}

/** A home without files of a product, for recordings of live sources only. */
export const isOnlyRecorded = (home: string) => existsSync(join(home, ".keep"));

/**
 * The environment for a home. Temporary files are kept next to it, never in the folder of the machine that runs the
 * tests.
 */
export const homeEnv = (home: string): Readonly<Record<string, string>> => ({
  HOME: home,
  TMPDIR: join(home, "..", "tmp"),
  ...(isOnlyRecorded(home) ? { RETINUE_HOME: join(home, "..") } : {}),
});

/** One home folder, at the end of a recording or at a moment during it. */
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

/** Every case and every moment with a known truth. */
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

/** Folders of homes that were recorded during a run; each must have a truth. */
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

/** All files below a folder, sorted, as relative paths. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
}
