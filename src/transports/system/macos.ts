import { realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Birth, exists, isOwnFile, type System } from "./system.ts";
import { Polled, type Printed, programs, type Runner } from "./tool.ts";

const PLACES = { ps: "/bin/ps", lsof: "/usr/sbin/lsof" };

/** macOS: `ps` lists all processes, `lsof` the open files of a folder. Both are programs, so their output is cached. */
export function macos(runner: Runner = programs, { ps, lsof }: typeof PLACES = PLACES): System {
  const processes = new Polled({ program: ps, args: ["-axo", "pid=,stat=,lstart="] }, parsePs, runner);
  const folders = new Map<string, Polled<readonly OpenFile[]>>();
  const writers = (path: string): readonly number[] | "unknown" => {
    const [folder, file] = [realpathSync(dirname(path)), statSync(path)];
    // Per folder, because a folder may have the locks of thousands of threads.
    const open =
      folders.get(folder) ??
      new Polled({ program: lsof, args: ["-w", "-n", "-P", "-F", "pfaDi", "+d", folder] }, parseLsof, runner);
    folders.set(folder, open);
    const found =
      open.now()?.filter((one) => one.device === file.dev && one.inode === file.ino && one.isWritten) ?? null;
    if (found === null || (found.length === 0 && !isOwnFile(file.uid))) return "unknown";
    return found.map((one) => one.pid);
  };
  return {
    process(pid) {
      if (!exists(pid)) return "gone";
      const known = processes.now()?.get(pid);
      return known === null ? "gone" : (known ?? "unknown");
    },
    // Not every product version is known to write UTC: if the start time differs, the start of the thread decides.
    isBirth: (birth, written) => (lstartAt(written) === birth.at ? true : null),
    isOwnDomain: (domain) => domain.split(":")[0] === "darwin",
    mark: () => ({ birth: null, domain: "darwin" }),
    writers,
    // The lock itself is not visible. Products open a lock file for writing only to lock it.
    lock: (path) => {
      const pids = writers(path);
      return pids === "unknown" ? "unknown" : pids.some((pid) => pid !== process.pid) ? "alive" : "gone";
    },
    means: {
      processes: `number and start time of each process, from ${ps}`,
      writers: `files that processes of this user have open, from ${lsof}`,
      locks: `lock files that processes of this user have open, from ${lsof}`,
    },
  };
}

const PROCESS = /^\s*(\d+)\s+(\S+)\s+(\S.*?)\s*$/;

/**
 * Start times by pid; null for a zombie. Null as a whole if our own process is missing, because the list is then
 * incomplete.
 */
export function parsePs({ stdout }: Printed): ReadonlyMap<number, Birth | null> | null {
  const found = new Map<number, Birth | null>();
  for (const line of stdout.split("\n")) {
    const [, pid, state = "", lstart = ""] = PROCESS.exec(line) ?? [];
    const at = lstartAt(lstart);
    if (pid !== undefined && at !== null) found.set(Number(pid), state.startsWith("Z") ? null : { at });
  }
  return found.has(process.pid) ? found : null;
}

const LSTART = /^[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `Fri Sep 11 09:43:48 2026` in UTC, as printed by `ps -o lstart` with LC_ALL=C and TZ=UTC. */
function lstartAt(text: string): number | null {
  const [, month = "", ...numbers] = LSTART.exec(text.trim()) ?? [];
  const [day = 0, hours, minutes, seconds, year = 0] = numbers.map(Number);
  const index = MONTHS.indexOf(month);
  return index < 0 ? null : Date.UTC(year, index, day, hours, minutes, seconds);
}

interface OpenFile {
  readonly pid: number;
  readonly device: number;
  readonly inode: number;
  readonly isWritten: boolean;
}

/** One field per line: `p` begins a process, `f` a file, `a` is its access mode, `D` and `i` identify it. */
export function parseLsof({ stdout, stderr }: Printed): readonly OpenFile[] | null {
  // The exit code is 1 both if nothing is open and on errors; only the latter print to stderr.
  if (stdout === "" && stderr !== "") return null;
  const found: OpenFile[] = [];
  let file = { pid: 0, device: -1, inode: -1, isWritten: false };
  for (const line of stdout.split("\n")) {
    const [field, value] = [line[0], line.slice(1)];
    if (field === "p") file = { pid: Number(value), device: -1, inode: -1, isWritten: false };
    if (field === "f") file = { pid: file.pid, device: -1, inode: -1, isWritten: false };
    if (field === "a") file.isWritten = value === "w" || value === "u";
    if (field === "D") file.device = Number(value);
    if (field === "i") found.push({ ...file, inode: Number(value) });
  }
  return found;
}
