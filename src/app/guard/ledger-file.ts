/** The ledgers of threads, one file each. Loads little, because hooks use it while an agent waits. */
import { closeSync, fstatSync, readSync, writeSync } from "node:fs";
import {
  bounded,
  type LedgerLine,
  NONE_REACHED,
  type Reached,
  readLedger,
  type TreeSeen,
} from "../../core/guard/ledger.ts";
import { MAX_LEDGER } from "../../core/tools/limits.ts";
import { openPrivate, privateFolder, writePrivate } from "../../transports/private.ts";
import { readText } from "../../transports/regular.ts";
import { join } from "../../transports/system/paths.ts";
import { renameOver } from "../../transports/system/rename.ts";
import type { Env } from "../home.ts";
import { guardFolder } from "./limits-file.ts";

/** A thread, by its product's id. */
export interface LedgerOf {
  readonly provider: string;
  readonly thread: string;
}

/** Ids are parts of file names. */
const isSafe = (id: string) => /^[\w@-][\w@.-]{0,127}$/.test(id);

function pathOf(env: Env, { provider, thread }: LedgerOf, suffix: string): string {
  if (!isSafe(provider) || !isSafe(thread)) throw new Error(`${provider} ${thread} cannot be part of a file name`);
  return join(guardFolder(env), provider, `${thread}${suffix}`);
}

const ledgerPath = (env: Env, of: LedgerOf) => pathOf(env, of, ".jsonl");
const reachedPath = (env: Env, of: LedgerOf) => pathOf(env, of, ".reached.json");
const treePath = (env: Env, of: LedgerOf) => pathOf(env, of, ".tree.json");

/**
 * Appends a line, with its texts cut to a length, and returns all lines up to now. One write appends it whole, so lines of several processes do not mix
 * and have one order for all of them. Throws if the file is too large.
 */
export function addToLedger(env: Env, of: LedgerOf, line: LedgerLine): readonly LedgerLine[] {
  privateFolder(join(guardFolder(env), of.provider));
  const file = openPrivate(ledgerPath(env, of), "a+");
  const checkedSize = () => {
    const { size } = fstatSync(file);
    if (size > MAX_LEDGER) throw new Error(`the ledger of ${of.thread} has ${size} bytes; the limit is ${MAX_LEDGER}`);
    return size;
  };
  try {
    checkedSize();
    // A line that was not written completely before does not damage this one.
    writeSync(file, `\n${JSON.stringify(bounded(line))}\n`);
    const size = checkedSize();
    const bytes = Buffer.alloc(size);
    return readLedger(bytes.toString("utf8", 0, readSync(file, bytes, 0, size, 0)));
  } finally {
    closeSync(file);
  }
}

/** The lines of a thread; none if it has no ledger. */
export function ledgerOf(env: Env, of: LedgerOf): readonly LedgerLine[] {
  try {
    return readLedger(readText(ledgerPath(env, of), MAX_LEDGER));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** The counts at which spawns were denied; none if there are none, or they cannot be read. */
export function reachedBy(env: Env, of: LedgerOf): Reached {
  try {
    return JSON.parse(readText(reachedPath(env, of), MAX_LEDGER)) as Reached;
  } catch {
    return NONE_REACHED;
  }
}

/** Beside the ledger, so that what has been reached is known also if the ledger can no longer be used. */
export const writeReached = (env: Env, of: LedgerOf, reached: Reached): void =>
  replace(env, of, reachedPath(env, of), JSON.stringify(reached));

/** What the tree showed last; null if no server or run has written it. */
export function treeSeen(env: Env, of: LedgerOf): TreeSeen | null {
  try {
    return JSON.parse(readText(treePath(env, of), MAX_LEDGER)) as TreeSeen;
  } catch {
    // Missing, or not readable: the ledger alone decides.
    return null;
  }
}

export const writeTreeSeen = (env: Env, of: LedgerOf, tree: TreeSeen): void =>
  replace(env, of, treePath(env, of), JSON.stringify(tree));

/** Replaced as a whole, because hooks read it at any moment. */
function replace(env: Env, of: LedgerOf, path: string, text: string): void {
  privateFolder(join(guardFolder(env), of.provider));
  const draft = `${path}.${process.pid}`;
  writePrivate(draft, text);
  renameOver(draft, path);
}
