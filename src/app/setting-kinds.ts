import { parseDuration } from "../core/duration.ts";
import { nearest } from "../core/nearest.ts";
import { isAbsolute } from "../transports/system/paths.ts";
import type { Entry } from "./yaml.ts";

/** What is wrong in a settings file, and what would be right. */
export interface Fault {
  readonly line: number;
  readonly wrong: string;
  readonly right: string;
}

export type Tell = (fault: Fault) => void;

/** What a setting may be. */
export interface Kind<T> {
  /** How it is written, as it follows the word "write". */
  readonly form: string;
  /** Undefined after something wrong was told. `key` is how the setting is called, for people. */
  read(entry: Entry, key: string, tell: Tell): T | undefined;
}

function plain<T>(form: string, understand: (value: unknown) => T | undefined): Kind<T> {
  return {
    form,
    read(entry, key, tell) {
      const value = entry.is === "plain" ? understand(entry.value) : undefined;
      if (value === undefined) tell({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write ${form}` });
      return value;
    },
  };
}

const cannotBe = (entry: Entry) => {
  if (entry.is === "plain") return entry.words === "" ? "has no value" : `cannot be ${entry.words}`;
  return `cannot be a ${entry.is === "list" ? "list" : "group of keys"}`;
};

export const flag = plain("true or false", (value) => (typeof value === "boolean" ? value : undefined));

export const oneOf = <Word extends string>(...words: readonly Word[]): Kind<Word> =>
  plain(`one of ${words.join(", ")}`, (value) => words.find((word) => word === value));

const DURATION_FORM = "a time with its unit, such as 30s, 10m, 2h, 7d or 4w";
const asDuration = (value: unknown) => (typeof value === "string" ? parseDuration(value) : null) || undefined;
export const duration = plain(DURATION_FORM, asDuration);

const SIZE_UNITS: Readonly<Record<string, number>> = { "": 1, B: 1, KB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
function asSize(value: unknown): number | undefined {
  const [, number, unit] = /^(\d+(?:\.\d+)?) ?([KMGT]?B|)$/.exec(String(value)) ?? [];
  const bytes = Math.floor(Number(number) * (SIZE_UNITS[unit ?? ""] ?? 0));
  return number !== undefined && bytes > 0 ? bytes : undefined;
}

/** A limit that may also be none at all, which `none` is the word for. */
const limit = (form: string, none: string, understand: (value: unknown) => number | undefined): Kind<number | null> =>
  plain(`${form}, or ${none}`, (value) => (value === none ? null : understand(value)));
export const durationOr = (none: string) => limit(DURATION_FORM, none, asDuration);
export const sizeOr = (none: string) => limit("a number of bytes, or one with its unit, such as 500MB or 20GB", none, asSize);

const positive = (value: unknown) => (typeof value === "number" && Number.isFinite(value) && value > 0 ? value : undefined);
export const amount = plain("a number greater than 0", positive);
export const wholeAmount = plain("a whole number from 1", (value) => (Number.isSafeInteger(value) ? positive(value) : undefined));
export const dollars = plain("a number of US dollars", (value) => (typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined));

function listOf<T>(form: string, one: (value: unknown) => T | undefined): Kind<readonly T[]> {
  const item = plain(form, one);
  return {
    form: `a list, each of it ${form}`,
    read(entry, key, tell) {
      if (entry.is !== "list") {
        tell({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write a list, each of it ${form}` });
        return undefined;
      }
      const items = entry.items.map((each) => item.read(each, `an item of ${key}`, tell));
      return items.every((each) => each !== undefined) ? items : undefined;
    },
  };
}

const words = (value: unknown) => (typeof value === "string" && value.trim() !== "" ? value : undefined);
export const globs = listOf("a path, with * for any name and ** for any depth", words);
export const patterns = listOf("a regular expression", (value) => {
  const text = words(value);
  try {
    return text === undefined ? undefined : new RegExp(text, "gu").source;
  } catch {
    // Not a regular expression, which is what the caller says.
    return undefined;
  }
});

export const addresses = listOf("an address, such as http://host:4096", (value) => {
  const text = words(value);
  return text !== undefined && /^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text : undefined;
});

/** `~` stays as written here: whose home it is, the caller knows. */
const FOLDER_FORM = "a path that begins with / or ~/";
const folder = (value: unknown) => {
  const path = words(value)?.trim();
  return path !== undefined && (isAbsolute(path) || path === "~" || path.startsWith("~/")) ? path : undefined;
};
const folderList = listOf(FOLDER_FORM, folder);
/** A list, or the same in one string as the products' own variables have it. */
export const folders: Kind<readonly string[]> = {
  form: `${FOLDER_FORM}, several of them as a list or with commas between`,
  read(entry, key, tell) {
    const text = entry.is === "plain" ? words(entry.value) : undefined;
    if (text === undefined && entry.is !== "list") {
      tell({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write ${this.form}` });
      return undefined;
    }
    const parts = text?.split(",").filter((part) => part.trim() !== "") ?? [];
    const items = entry.is === "list" ? entry.items : parts.map((part): Entry => ({ is: "plain", line: entry.line, value: part, words: part.trim() }));
    return folderList.read({ is: "list", line: entry.line, items }, key, tell);
  },
};

/** Keys of the user's own making, all with values of one kind. */
export function named<T>(what: string, kind: Kind<T>): Kind<ReadonlyMap<string, T>> {
  return {
    form: `a ${what} a line, each with ${kind.form}`,
    read(entry, key, tell) {
      if (entry.is !== "map") return refuseGroup(entry, key, `a ${what} a line below it, each with ${kind.form}`, tell);
      const read = entry.pairs.map((pair) => [pair.key, kind.read(pair.value, `${key}.${pair.key}`, tell)] as const);
      return new Map(read.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
    },
  };
}

type Fields = Readonly<Record<string, Kind<unknown>>>;
type FieldValues<F extends Fields> = { readonly [K in keyof F]?: F[K] extends Kind<infer T> ? T : never };

/** Keys that are all known, each with a kind of its own. None has to be there unless it is `needed`. */
export function fields<F extends Fields>(known: F, needed: readonly (keyof F & string)[] = []): Kind<FieldValues<F>> {
  const names = Object.keys(known);
  const free = names.filter((name) => !needed.includes(name));
  return {
    form: `${needed.length === 0 ? "" : `${needed.join(" and ")}, and `}any of ${free.join(", ")} below it`,
    read(entry, key, tell) {
      if (entry.is !== "map") return refuseGroup(entry, key, `${(needed.length > 0 ? needed : names).join(", ")} below it, a line each`, tell);
      const missing = needed.filter((name) => !entry.pairs.some((pair) => pair.key === name));
      if (missing.length > 0)
        tell({
          line: entry.line,
          wrong: `${key} lacks ${missing.join(" and ")}`,
          right: missing.map((name) => `write ${name}: ${known[name]?.form}`).join("; "),
        });
      const values: Record<string, unknown> = {};
      for (const pair of entry.pairs) {
        const kind = Object.hasOwn(known, pair.key) ? known[pair.key] : undefined;
        if (kind === undefined) tell(unknownKey(pair.line, pair.key, names, `${key}.`));
        else values[pair.key] = kind.read(pair.value, `${key}.${pair.key}`, tell);
      }
      return values as FieldValues<F>;
    },
  };
}

function refuseGroup(entry: Entry, key: string, right: string, tell: Tell): undefined {
  tell({ line: entry.line, wrong: `${key} ${cannotBe(entry)}`, right: `write ${right}` });
}

/** Names the nearest key that there is, or all of them where none is near. */
export function unknownKey(line: number, key: string, known: readonly string[], prefix: string): Fault {
  const meant = nearest(key, known);
  return {
    line,
    wrong: `unknown key ${prefix}${key}`,
    right: meant === null ? `known keys${prefix === "" ? "" : ` of ${prefix.slice(0, -1)}`}: ${known.join(", ")}` : `did you mean: ${prefix}${meant}`,
  };
}
