import { closeSync, openSync, readSync } from "node:fs";
import { win32 } from "node:path";
import { type Birth, exists, type System } from "./system.ts";
import { Polled, type Printed, programs, type Runner } from "./tool.ts";

/** No calculated columns: they do not work in PowerShell's constrained language mode. */
const LIST =
  "Get-CimInstance Win32_Process -Property ProcessId,CreationDate | Select-Object ProcessId,CreationDate | ConvertTo-Json -Compress";

/** Windows: PowerShell lists all processes in about a second. Open files are not available. */
export function windows(runner: Runner = programs, readByte: (path: string) => number = firstByte): System {
  const program = win32.join(
    process.env.SystemRoot ?? "C:\\Windows",
    "System32",
    "WindowsPowerShell",
    "v1.0",
    "powershell.exe",
  );
  const processes = new Polled(
    { program, args: ["-NoProfile", "-NonInteractive", "-Command", LIST] },
    parseProcesses,
    runner,
  );
  return {
    process(pid) {
      if (!exists(pid)) return "gone";
      return processes.now()?.get(pid) ?? "unknown";
    },
    isBirth: (birth, written) => {
      const at = filetimeAt(written);
      return at === null ? null : Math.abs(at - birth.at) < 1_000;
    },
    isOwnDomain: (domain) => domain.split(":")[0] === "win32",
    mark: () => ({ birth: null, domain: "win32" }),
    writers: () => "unknown",
    lock(path) {
      try {
        // A lock prevents reading. Whether this holds at the end of an empty file is not documented.
        return readByte(path) > 0 ? "gone" : "unknown";
      } catch (error) {
        return (error as NodeJS.ErrnoException).code === "EBUSY" ? "alive" : "unknown";
      }
    },
    means: {
      processes: "number and start time of each process, from PowerShell (Get-CimInstance Win32_Process)",
      writers: "not known on Windows: how long nothing was written decides (stale_after)",
      locks: "a locked file that cannot be read is held; otherwise how long nothing was written decides (stale_after)",
    },
  };
}

/** Start times by pid. Null if the output is invalid. */
export function parseProcesses({ stdout }: Printed): ReadonlyMap<number, Birth> | null {
  const found = new Map<number, Birth>();
  try {
    // A single process is not an array.
    for (const one of [JSON.parse(stdout)].flat() as { ProcessId?: unknown; CreationDate?: unknown }[]) {
      const at = dateAt(one.CreationDate);
      if (typeof one.ProcessId === "number" && at !== null) found.set(one.ProcessId, { at });
    }
  } catch {
    // PowerShell may be blocked by policy and print a message instead.
    return null;
  }
  return found.has(process.pid) ? found : null;
}

/** `/Date(1789119828123)/` in Windows PowerShell 5.1, ISO 8601 in PowerShell 7; null for the idle process. */
function dateAt(value: unknown): number | null {
  const text = typeof value === "object" && value !== null && "value" in value ? String(value.value) : String(value);
  const at = Number(/^\/Date\((-?\d+)\)\/$/.exec(text)?.[1] ?? Date.parse(text));
  return Number.isNaN(at) ? null : at;
}

const FILETIME_EPOCH_MS = 11_644_473_600_000;

/** 100-nanosecond units since 1601, as products on Windows record a start time. */
function filetimeAt(text: string): number | null {
  return /^\d{17,19}$/.test(text) ? Number(BigInt(text) / 10_000n) - FILETIME_EPOCH_MS : null;
}

function firstByte(path: string): number {
  const file = openSync(path, "r");
  try {
    return readSync(file, Buffer.alloc(1), 0, 1, 0);
  } finally {
    closeSync(file);
  }
}
