/** A drive, or a share of another machine. */
const WINDOWS = /^(?:[A-Za-z]:|[\\/]{2}[^\\/])/;

/**
 * Whether a folder that a record names is `folder` or lies below it. Paths of Windows are compared as Windows does, without regard to case and kind of
 * separator, wherever they are looked at; others by case unless `ignoresCase`.
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
