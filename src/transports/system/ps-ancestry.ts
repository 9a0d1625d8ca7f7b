import { programs, type Runner } from "./tool.ts";

const PS = "/bin/ps";

/** The parent and the user of a process. */
interface Parentage {
  readonly parent: number;
  readonly uid: number;
}

const LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/;

/** By pid, from `ps -axo pid=,ppid=,uid=`. */
export function parseParentage(stdout: string): ReadonlyMap<number, Parentage> {
  const found = new Map<number, Parentage>();
  for (const line of stdout.split("\n")) {
    const [, pid, parent, uid] = LINE.exec(line) ?? [];
    if (pid !== undefined) found.set(Number(pid), { parent: Number(parent), uid: Number(uid) });
  }
  return found;
}

const MOST_ANCESTORS = 64;

/** The ancestors of a process of this user, nearest first; null for others, and if `ps` fails. */
export function ancestorsByPs(pid: number, uid: number, runner: Runner = programs): readonly number[] | null {
  const printed = runner.now({ program: PS, args: ["-axo", "pid=,ppid=,uid="] });
  const all = parseParentage(printed?.stdout ?? "");
  if (all.get(pid)?.uid !== uid) return null;
  const found: number[] = [];
  for (
    let at = all.get(pid)?.parent;
    at !== undefined && at > 1 && found.length < MOST_ANCESTORS;
    at = all.get(at)?.parent
  )
    found.push(at);
  return found;
}

/** The command line of a process; null if it has ended. */
export function commandByPs(pid: number, runner: Runner = programs): string | null {
  const printed = runner.now({ program: PS, args: ["-ww", "-o", "command=", "-p", String(pid)] });
  return printed === null || printed.code !== 0 ? null : printed.stdout.trim();
}
