/**
 * The temporary folder of all tests. They create thousands of small databases and homes. On Linux these are in memory if
 * there is enough of it: a disk only adds the time that it takes to flush them.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";

const MEMORY = "/dev/shm";
const NEEDED_BYTES = 4 * 1024 ** 3;
/** Short, because the path of a socket has at most 107 bytes. The number is the process that runs the tests. */
const NAME = /^rt-(\d+)$/;

/** Sets TMPDIR for this process and those that it starts. Returns a function that deletes the folder. */
export function useScratchInMemory(): () => void {
  if (process.platform !== "linux" || process.env.TMPDIR !== undefined || !isUsable()) return () => {};
  for (const name of readdirSync(MEMORY)) {
    const pid = NAME.exec(name)?.[1];
    // Left behind by a test run that was killed.
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  const folder = join(MEMORY, `rt-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

/** Containers often have little of it, or do not allow programs in it, and tests write programs. */
function isUsable(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    const mount = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .findLast((line) => line.split(" ")[1] === MEMORY);
    return bavail * bsize >= NEEDED_BYTES && mount !== undefined && !/[ ,]noexec[ ,]/.test(mount);
  } catch {
    return false;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
