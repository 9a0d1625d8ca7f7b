import { posix, win32 } from "node:path";

/** Paths as retinue keeps and compares them: with `/` on every system. Windows takes that as well as its own separator. */
export interface Paths {
  join(...parts: string[]): string;
  resolve(...parts: string[]): string;
  dirname(path: string): string;
  basename(path: string, suffix?: string): string;
  isAbsolute(path: string): boolean;
  /** One spelling of a folder: without `.`, `..`, doubled separators and one at the end. */
  normal(folder: string): string;
  /** What is left of a path below a folder; null if it does not lie there. */
  inside(folder: string, path: string): string | null;
}

export function pathsOf(platform: string): Paths {
  const unended = (path: string) => (/^(?:[A-Za-z]:)?\/$/.test(path) ? path : path.replace(/\/$/, ""));
  if (platform !== "win32") return { ...posix, normal: (folder) => unended(posix.normalize(folder)), inside: below };
  const slashed = (path: string) => path.replaceAll("\\", "/");
  return {
    join: (...parts) => slashed(win32.join(...parts)),
    resolve: (...parts) => slashed(win32.resolve(...parts)),
    dirname: (path) => slashed(win32.dirname(path)),
    basename: win32.basename,
    isAbsolute: win32.isAbsolute,
    normal: (folder) => unended(slashed(win32.normalize(folder))),
    inside: (folder, path) => below(slashed(folder), slashed(path)),
  };
}

function below(folder: string, path: string): string | null {
  const start = folder.endsWith("/") ? folder : `${folder}/`;
  return path.startsWith(start) ? path.slice(start.length) : null;
}

/** Those of the system we run on. */
export const { join, resolve, dirname, basename, isAbsolute, normal, inside } = pathsOf(process.platform);
