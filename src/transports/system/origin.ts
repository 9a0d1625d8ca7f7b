import { readFileSync, statSync } from "node:fs";
import { system } from "./index.ts";
import { lockHolderPid } from "./linux-locks.ts";
import { ancestorsByPs, commandByPs } from "./ps-ancestry.ts";

/** Where a process comes from: its ancestors, and some variables of the environment that it was started with. */
export interface ProcessOrigin {
  readonly pid: number;
  readonly startedAt: number | null;
  /** Nearest first. */
  readonly ancestors: readonly number[];
  /** Null if the system does not show the environment. */
  readonly variables: Readonly<Record<string, string>> | null;
}

const MOST_ANCESTORS = 64;

/**
 * The origin of a process of the same user; null for others, and on systems other than Linux and macOS. Of the
 * environment only the variables in `names` are kept; macOS does not show it.
 */
export function originOf(pid: number, names: ReadonlySet<string>): ProcessOrigin | null {
  if (process.platform === "darwin") return originByPs(pid);
  if (process.platform !== "linux" || !isOwn(pid)) return null;
  const birth = system.process(pid);
  const variables = variablesOf(pid, names);
  return variables === null
    ? null
    : { pid, startedAt: typeof birth === "string" ? null : birth.at, ancestors: ancestorsOf(pid), variables };
}

function originByPs(pid: number): ProcessOrigin | null {
  const ancestors = process.getuid === undefined ? null : ancestorsByPs(pid, process.getuid());
  if (ancestors === null) return null;
  const birth = system.process(pid);
  return { pid, startedAt: typeof birth === "string" ? null : birth.at, ancestors, variables: null };
}

/** The process that holds a lock on the file; null if unknown. */
export const holderOf = (path: string): number | null => (process.platform === "linux" ? lockHolderPid(path) : null);

function isOwn(pid: number): boolean {
  try {
    return process.getuid !== undefined && statSync(`/proc/${pid}`).uid === process.getuid();
  } catch {
    // It has ended.
    return false;
  }
}

function variablesOf(pid: number, names: ReadonlySet<string>): Readonly<Record<string, string>> | null {
  try {
    const pairs = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
    return Object.fromEntries(
      pairs.flatMap((pair) => {
        const at = pair.indexOf("=");
        return names.has(pair.slice(0, at)) ? [[pair.slice(0, at), pair.slice(at + 1)]] : [];
      }),
    );
  } catch {
    // It has ended, or hides its environment.
    return null;
  }
}

function ancestorsOf(pid: number): readonly number[] {
  const found: number[] = [];
  for (let at = parentOf(pid); at !== null && at > 1 && found.length < MOST_ANCESTORS; at = parentOf(at))
    found.push(at);
  return found;
}

function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null;
  }
}

/** The command line of a process of the same user; null if unknown. */
export function commandLineOf(pid: number): string | null {
  if (process.platform === "darwin") return commandByPs(pid);
  if (process.platform !== "linux" || !isOwn(pid)) return null;
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    // It has ended.
    return null;
  }
}
