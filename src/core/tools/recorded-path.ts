/** A drive letter or a network share. */
const WINDOWS = /^(?:[A-Za-z]:|[\\/]{2}[^\\/])/;

/**
 * Whether a recorded folder is `folder` or below it. Windows paths are compared like Windows does, ignoring case and
 * kind of separator, on any system; others by case unless `ignoresCase`.
 */
export function isWithin(path: string, folder: string, ignoresCase = false): boolean {
  const isWindows = WINDOWS.test(path) && WINDOWS.test(folder);
  const plain = (one: string) => {
    const slashed = (isWindows ? one.replaceAll("\\", "/") : one).replace(/\/+$/, "");
    return isWindows || ignoresCase ? slashed.toLowerCase() : slashed;
  };
  const [inner, outer] = [plain(path), plain(folder)];
  return inner === outer || inner.startsWith(`${outer}/`);
}

/** The name of the folder itself; null for a root folder. */
export const folderName = (path: string): string | null => path.split(/[\\/]/).findLast((part) => part !== "") ?? null;

/** Whether a thread started in `cwd` is shared: if no folders are named, or if one of them contains it. */
export const isInShared = (folders: readonly string[], cwd: string | null, ignoresCase: boolean): boolean =>
  folders.length === 0 || (cwd !== null && folders.some((folder) => isWithin(cwd, folder, ignoresCase)));
