import { posix, win32 } from "node:path";

/** Paths with `/` on every system, as retinue stores and compares them. Windows accepts both separators. */
export interface Paths {
  join(...parts: string[]): string;
  resolve(...parts: string[]): string;
  dirname(path: string): string;
  basename(path: string, suffix?: string): string;
  isAbsolute(path: string): boolean;
  /** The canonical spelling of a folder: without `.`, `..`, repeated and trailing separators. */
  normal(folder: string): string;
  /** The path relative to a folder; null if it is not inside. */
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

/** For the current system. */
export const { join, resolve, dirname, basename, isAbsolute, normal, inside } = pathsOf(process.platform);
