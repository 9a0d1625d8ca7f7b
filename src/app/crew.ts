import { availableParallelism } from "node:os";
import { Worker } from "node:worker_threads";
import type { ReadCounts } from "../transports/files.ts";
import { hasLineBeyond } from "../transports/lines.ts";
import type { RootSeen } from "./discover.ts";
import type { Env } from "./home.ts";
import type { FileToRead } from "./look.ts";

/** Threads that read files into the index side by side, where there is much to read. Whatever they leave unread is read afterwards as usual. */
export interface Crew {
  read(work: CrewWork): Promise<void>;
}

export interface CrewWork {
  readonly files: readonly FileToRead[];
  readonly roots: readonly RootSeen[];
  readonly counts: ReadCounts;
  readonly onFiles: (more: number) => void;
}

/** A folder to be looked at, as it can be told to another thread. */
export type RootTold = Omit<RootSeen, "provider"> & { readonly provider: string };

export interface Member {
  readonly env: Env;
  readonly roots: readonly RootTold[];
}

/** What a member says: how many more files are done, and with the last of those it was given, what they took. */
export interface MemberSays {
  readonly files: number;
  readonly done: ReadCounts | null;
}

/** All members write into one index, one after the other; more than two of them would mostly wait. One core is left to everything else. */
const MEMBERS = 2;
/** Enough for what is read between two writes. */
const MEMORY_MB = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 32 };

/** A record of this size takes several times as much memory. A thread that runs out of it may take the whole process with it, so files with larger ones are read as usual. */
const GIANT_BYTES = 8 << 20;

/** What is handed out at a time. */
const PORTION_BYTES = 8 << 20;
const PORTION_FILES = 600;

export function crewOf(env: Env): Crew {
  return {
    async read({ files, roots, counts, onFiles }) {
      const portions = portionsOf(files.filter(({ path, size }) => size <= GIANT_BYTES || !hasLineBeyond(path, GIANT_BYTES)));
      const member: Member = { env: { ...env }, roots: roots.map((root) => ({ ...root, provider: root.provider.name })) };
      const count = Math.min(MEMBERS, Math.max(1, availableParallelism() - 1), portions.length);
      const hear = (says: MemberSays) => {
        onFiles(says.files);
        if (says.done !== null) for (const what of Object.keys(counts) as (keyof ReadCounts)[]) counts[what] += says.done[what];
      };
      await Promise.all(Array.from({ length: count }, () => employ(member, portions, hear)));
    },
  };
}

/** Gives one member a portion after the other. */
function employ(member: Member, portions: string[][], hear: (says: MemberSays) => void): Promise<void> {
  const worker = new Worker(MEMBER_FILE, { workerData: member, resourceLimits: MEMORY_MB });
  const next = () => worker.postMessage(portions.pop() ?? null);
  return new Promise((resolve) => {
    worker.on("message", (says: MemberSays) => {
      hear(says);
      if (says.done !== null) next();
    });
    // What it did not come to is read as usual, and what went wrong will be told there.
    worker.on("error", () => {});
    worker.on("exit", () => resolve());
    // One to work on, and one that is there already when it is done.
    next();
    next();
  });
}

const MEMBER_FILE = new URL(import.meta.url.endsWith(".ts") ? "./crew-member.ts" : "./crew-member.js", import.meta.url);

/** Files that belong together stay together: what lies in a folder named like a file is that file's. The largest portions come last, and are handed out first. */
export function portionsOf(files: readonly FileToRead[]): string[][] {
  const portions: { paths: string[]; bytes: number }[] = [];
  let group = "";
  for (const { path, size } of files.toSorted((a, b) => (a.path < b.path ? -1 : 1))) {
    const belongs = group !== "" && path.startsWith(group);
    const last = portions.at(-1);
    const isFull = last === undefined || last.bytes >= PORTION_BYTES || last.paths.length >= PORTION_FILES;
    const portion = last === undefined || (isFull && !belongs) ? { paths: [], bytes: 0 } : last;
    if (portion !== last) portions.push(portion);
    portion.paths.push(path);
    portion.bytes += size;
    if (!belongs) group = `${path.replace(/\.\w+$/, "")}/`;
  }
  return portions.sort((a, b) => a.bytes - b.bytes).map((portion) => portion.paths);
}
