import { isIP } from "node:net";
import { parseDuration } from "../../core/tools/duration.ts";
import { nearest } from "../../core/tools/nearest.ts";
import { isAbsolute } from "../../transports/system/paths.ts";
import type { Entry } from "./yaml.ts";

/** An error in a settings file and its correction. */
export interface Fault {
  readonly line: number;
  readonly wrong: string;
  readonly right: string;
}

export type Report = (fault: Fault) => void;

/** The type of a setting. */
export interface Kind<T> {
  /** How to write the value, for "write …". */
  readonly form: string;
  /** Returns undefined after reporting an error. `key` is the name shown to the user. */
  read(entry: Entry, key: string, report: Report): T | undefined;
}

function plain<T>(form: string, understand: (value: unknown) => T | undefined): Kind<T> {
  return {
    form,
    read(entry, key, report) {
      const value = entry.is === "plain" ? understand(entry.value) : undefined;
      if (value === undefined) report({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write ${form}` });
      return value;
    },
  };
}

const cannotBe = (entry: Entry) => {
  if (entry.is === "plain") return entry.source === "" ? "has no value" : `cannot be ${entry.source}`;
  return `cannot be a ${entry.is === "list" ? "list" : "group of keys"}`;
};

export const flag = plain("true or false", (value) => (typeof value === "boolean" ? value : undefined));

export const oneOf = <Word extends string>(...words: readonly Word[]): Kind<Word> =>
  plain(`one of ${words.join(", ")}`, (value) => words.find((word) => word === value));

const DURATION_FORM = "a duration with a unit, such as 30s, 10m, 2h, 7d or 4w";
const asDuration = (value: unknown) => (typeof value === "string" ? parseDuration(value) : null) || undefined;
export const duration = plain(DURATION_FORM, asDuration);

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
function asSize(value: unknown): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?([KMGT]?B|)$/.exec(String(value)) ?? [];
  const bytes = Math.floor(Number(number) * (SIZE_UNITS[unit ?? ""] ?? 0));
  return number !== undefined && bytes > 0 ? bytes : undefined;
}

/** A limit; the word in `none` disables it. */
const limit = (form: string, none: string, understand: (value: unknown) => number | undefined): Kind<number | null> =>
  plain(`${form}, or ${none}`, (value) => (value === none ? null : understand(value)));
export const durationOr = (none: string) => limit(DURATION_FORM, none, asDuration);
export const sizeOr = (none: string) => limit("a number of bytes, or a size such as 500MB or 20GB", none, asSize);

const positive = (value: unknown) =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined;
export const amountOr = (none: string) => limit("a number greater than 0", none, positive);
export const amount = plain("a number greater than 0", positive);
export const wholeAmount = plain("a positive integer", (value) =>
  Number.isSafeInteger(value) ? positive(value) : undefined,
);
export const wholeOrNone = plain("an integer, 0 or more", (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined,
);
export const addressOr = (none: string): Kind<string | null> =>
  plain(`a URL, such as https://host/path, or ${none}`, (value) => (value === none ? null : asAddress(value)));
export const dollars = plain("a number of US dollars", (value) =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined,
);

function listOf<T>(form: string, one: (value: unknown) => T | undefined): Kind<readonly T[]> {
  const item = plain(form, one);
  return {
    form: `a list, each item ${form}`,
    read(entry, key, report) {
      if (entry.is !== "list") {
        report({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write a list, each item ${form}` });
        return undefined;
      }
      const items = entry.items.map((each) => item.read(each, `an item of ${key}`, report));
      return items.every((each) => each !== undefined) ? items : undefined;
    },
  };
}

const nonEmpty = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? value : undefined);
export const globs = listOf("a path, with * for any name and ** for any depth", nonEmpty);
export const patterns = listOf("a regular expression", (value) => {
  const text = nonEmpty(value);
  try {
    return text === undefined ? undefined : new RegExp(text, "gu").source;
  } catch {
    // Invalid; the caller reports it.
    return undefined;
  }
});

/** Addresses and networks. */
export const networks = listOf("an IP address, or a network such as 10.0.0.0/8", (value) => {
  const [address = "", bits, ...more] = typeof value === "string" ? value.trim().split("/") : [];
  const most = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  const isWhole = bits === undefined ? most > 0 : /^\d{1,3}$/.test(bits) && Number(bits) <= most;
  return isWhole && more.length === 0 ? String(value).trim() : undefined;
});
const WORD = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const word = (value: unknown) => (typeof value === "string" && WORD.test(value.trim()) ? value.trim() : undefined);
export const names = listOf("a name", word);
export const wordOr = (what: string, none: string): Kind<string | null> =>
  plain(`${what}, or ${none}`, (value) => (value === none ? null : word(value)));

export const addresses = listOf("a URL, such as http://host:4096", asAddress);

export const databases = listOf("a URL, such as postgres://user@host/database", (value) =>
  typeof value === "string" && /^postgres(?:ql)?:\/\/\S+$/.test(value.trim()) ? value.trim() : undefined,
);

function asAddress(value: unknown): string | undefined {
  const text = typeof value === "string" ? value.trim() : "";
  return /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text : undefined;
}

/** `~` is kept; the caller expands it. */
const FOLDER_FORM = "a path that begins with / or ~/";
const folder = (value: unknown) => {
  const path = nonEmpty(value)?.trim();
  return path !== undefined && (isAbsolute(path) || path === "~" || path.startsWith("~/")) ? path : undefined;
};
/** A file; the word in `none` means that there is none. */
export const fileOr = (none: string): Kind<string | null> =>
  plain(`${FOLDER_FORM}, or ${none}`, (value) => (value === none ? null : folder(value)));
const folderList = listOf(FOLDER_FORM, folder);
/** A list, or one comma-separated string as in the products' own variables. */
export const folders: Kind<readonly string[]> = {
  form: `${FOLDER_FORM}, several as a list or separated by commas`,
  read(entry, key, report) {
    const text = entry.is === "plain" ? nonEmpty(entry.value) : undefined;
    if (text === undefined && entry.is !== "list") {
      report({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write ${this.form}` });
      return undefined;
    }
    const parts = text?.split(",").filter((part) => part.trim() !== "") ?? [];
    const items =
      entry.is === "list"
        ? entry.items
        : parts.map((part): Entry => ({ is: "plain", line: entry.line, value: part, source: part.trim() }));
    return folderList.read({ is: "list", line: entry.line, items }, key, report);
  },
};

/** The same; the word in `all` means all folders, as an empty list does. */
export const foldersOr = (all: string): Kind<readonly string[]> => ({
  form: `${folders.form}, or ${all}`,
  read: (entry, key, report) => (entry.is === "plain" && entry.value === all ? [] : folders.read(entry, key, report)),
});

/** Keys chosen by the user, all with values of one kind. */
export function named<T>(what: string, kind: Kind<T>): Kind<ReadonlyMap<string, T>> {
  return {
    form: `one ${what} per line, each with ${kind.form}`,
    read(entry, key, report) {
      if (entry.is !== "map")
        return refuseGroup(entry, key, `one ${what} per line below it, each with ${kind.form}`, report);
      const read = entry.pairs.map((pair) => [pair.key, kind.read(pair.value, `${key}.${pair.key}`, report)] as const);
      return new Map(read.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
    },
  };
}

type Fields = Readonly<Record<string, Kind<unknown>>>;
type FieldValues<F extends Fields> = { readonly [K in keyof F]?: F[K] extends Kind<infer T> ? T : never };

/** Known keys, each with its own kind. Only those in `needed` are required. */
export function fields<F extends Fields>(known: F, needed: readonly (keyof F & string)[] = []): Kind<FieldValues<F>> {
  const names = Object.keys(known);
  const free = names.filter((name) => !needed.includes(name));
  return {
    form: `${needed.length === 0 ? "" : `${needed.join(" and ")}, and `}any of ${free.join(", ")} below it`,
    read(entry, key, report) {
      if (entry.is !== "map")
        return refuseGroup(
          entry,
          key,
          `${(needed.length > 0 ? needed : names).join(", ")} below it, one per line`,
          report,
        );
      const missing = needed.filter((name) => !entry.pairs.some((pair) => pair.key === name));
      if (missing.length > 0)
        report({
          line: entry.line,
          wrong: `${key} lacks ${missing.join(" and ")}`,
          right: missing.map((name) => `write ${name}: ${known[name]?.form}`).join("; "),
        });
      const values: Record<string, unknown> = {};
      for (const pair of entry.pairs) {
        const kind = Object.hasOwn(known, pair.key) ? known[pair.key] : undefined;
        if (kind === undefined) report(unknownKey(pair.line, pair.key, names, `${key}.`));
        else values[pair.key] = kind.read(pair.value, `${key}.${pair.key}`, report);
      }
      return values as FieldValues<F>;
    },
  };
}

function refuseGroup(entry: Entry, key: string, right: string, report: Report): undefined {
  report({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write ${right}` });
}

/** Suggests the nearest known key, or lists all of them if none is similar. */
export function unknownKey(line: number, key: string, known: readonly string[], prefix: string): Fault {
  const meant = nearest(key, known);
  return {
    line,
    wrong: `unknown key ${prefix}${key}`,
    right:
      meant === null
        ? `known keys${prefix === "" ? "" : ` of ${prefix.slice(0, -1)}`}: ${known.join(", ")}`
        : `did you mean: ${prefix}${meant}`,
  };
}
