/**
 * Why a file of retinue cannot be used.
 * `busy`: another process holds the lock, or a resource is temporarily exhausted; retry.
 * `unwritable`: disk full, read-only, or not permitted; continue without the file until that changes.
 * `damaged`: the content is corrupt; move the file aside.
 * `outdated`: another process changed the database between two reads; read again.
 * `unreachable`: the database server does not respond; retry.
 */
export type FaultKind = "busy" | "unwritable" | "damaged" | "outdated" | "unreachable";

/** An error of a store that is not a bug. */
export class StoreFault extends Error {
  readonly kind: FaultKind;

  constructor(kind: FaultKind, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.name = "StoreFault";
    this.kind = kind;
  }
}

/** A damaged page of a database may look empty instead of damaged: then rows are missing. */
export function checkCount(what: string, found: number, expected: number): void {
  if (found !== expected) throw new StoreFault("damaged", new Error(`${found} of ${expected} ${what} were found`));
}

/** The same for a row of which a part lies on the damaged page. */
export function checkText(text: string): void {
  if (text.includes("\0")) throw new StoreFault("damaged", new Error("a text contains zeros"));
}

/**
 * SQLite result codes (https://sqlite.org/rescode.html): extended ones first, then the primary ones in their lowest
 * byte.
 */
const SQLITE: ReadonlyMap<number, FaultKind> = new Map([
  [266, "damaged"], // IOERR_READ
  [522, "damaged"], // IOERR_SHORT_READ
  [1032, "damaged"], // READONLY_DBMOVED: another process has moved the file aside
  [8458, "damaged"], // IOERR_CORRUPTFS
  [3, "unwritable"], // PERM
  [5, "busy"], // BUSY
  [6, "busy"], // LOCKED
  [8, "unwritable"], // READONLY
  [10, "unwritable"], // IOERR
  [11, "damaged"], // CORRUPT
  [13, "unwritable"], // FULL
  [14, "unwritable"], // CANTOPEN
  [15, "busy"], // PROTOCOL: lost a race for the lock
  [26, "damaged"], // NOTADB
]);

const SYSTEM: Readonly<Record<string, FaultKind>> = {
  EAGAIN: "busy",
  EBUSY: "busy",
  EMFILE: "busy",
  ENFILE: "busy",
  ENOMEM: "busy",
  EACCES: "unwritable",
  EDQUOT: "unwritable",
  EFBIG: "unwritable",
  EIO: "unwritable",
  ENOSPC: "unwritable",
  ENOTFILE: "unwritable",
  ENOTDIR: "unwritable",
  EPERM: "unwritable",
  EROFS: "unwritable",
};

/** The only place that distinguishes errors of the machine from bugs; null for a bug. */
export function faultKind(error: unknown): FaultKind | null {
  if (error instanceof StoreFault) return error.kind;
  if (!(error instanceof Error)) return null;
  const { code = "", errcode, message } = error as NodeJS.ErrnoException & { readonly errcode?: number };
  if (errcode === undefined) return SYSTEM[code] ?? null;
  // A damaged schema looks like a missing table.
  if (errcode === 1) return /^no such (?:table|column)/.test(message) ? "damaged" : null;
  return SQLITE.get(errcode) ?? SQLITE.get(errcode & 0xff) ?? null;
}

/** A proxy of the object whose methods throw `StoreFault` for errors of the machine. */
export function withFaults<T extends object>(store: T): T {
  const methods = new Map<unknown, unknown>();
  return new Proxy(store, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name);
      if (typeof value !== "function") return value;
      const method =
        methods.get(value) ??
        ((...args: unknown[]): unknown => {
          try {
            return Reflect.apply(value, of, args);
          } catch (error) {
            const kind = faultKind(error);
            throw kind === null || error instanceof StoreFault ? error : new StoreFault(kind, error);
          }
        });
      methods.set(value, method);
      return method;
    },
  });
}
