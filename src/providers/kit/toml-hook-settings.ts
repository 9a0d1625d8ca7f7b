import { type HookSettings, isOwnHook } from "../../core/ports/provider.ts";

const BEGIN = "# retinue: begin of its hooks\n";
const END = "# retinue: end of its hooks\n";

export interface TomlHooks {
  readonly next: string | null;
  /** The arrays of tables that are extended, each as the keys that lead to it. */
  readonly arrays: readonly (readonly string[])[];
  /** The tables with retinue's hooks; `command` is a TOML string. */
  tables(command: string): string;
}

/** `config.toml`. The tables are added at its end, between marker lines, so that they can be removed exactly. */
export const tomlHookSettings = ({ next, arrays, tables }: TomlHooks): HookSettings => ({
  file: "config.toml",
  next,
  isMarked: true,
  install(text, command) {
    const before = text === null ? "" : without(text);
    const conflict = conflictIn(before, arrays);
    if (conflict !== null) return { wrong: `its ${conflict} cannot be extended by tables of hooks` };
    if (commandsIn(before).some(isOwnHook)) return { wrong: "its hooks of retinue are not between the marker lines" };
    const gap = before === "" || before.endsWith("\n") ? "" : "\n";
    // Marks a file without a final newline, so that it can be restored exactly.
    const begin = gap === "" ? BEGIN : BEGIN.replace("\n", " (no newline before)\n");
    return `${before}${gap}${begin}${tables(tomlText(command))}${END}`;
  },
  uninstall: without,
  commands: commandsIn,
});

/** Editors may have changed the line endings. */
function without(text: string): string {
  return text.replace(
    /((?:\r(?=\n# retinue: begin [^\r\n]*\r))?\n)?# retinue: begin of its hooks( \(no newline before\))?\r?\n[\s\S]*?# retinue: end of its hooks(?:\r?\n|$)/g,
    // What was written below needs a line of its own.
    (all: string, newline: string | undefined, mark: string | undefined, at: number) =>
      mark === undefined || at + all.length < text.length ? (newline ?? "") : "",
  );
}

const commandsIn = (text: string): readonly string[] =>
  [...text.matchAll(/^[ \t]*command[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')/gm)].map(([, quoted = ""]) =>
    untoml(quoted),
  );

const LONG_TEXTS = /"""[\s\S]*?"""|'''[\s\S]*?'''/g;
const KEY = String.raw`(?:"(?:[^"\\]|\\.)*"|'[^']*'|[\w-]+)`;
const KEYS = new RegExp(KEY, "g");
const HEADER = new RegExp(String.raw`^[ \t]*(\[\[?)[ \t]*(${KEY}(?:[ \t]*\.[ \t]*${KEY})*)[ \t]*\]`);
const ASSIGNMENT = new RegExp(String.raw`^[ \t]*(${KEY}(?:[ \t]*\.[ \t]*${KEY})*)[ \t]*=`);

/**
 * The first table or value that is none of these arrays of tables but has its name, or that of a table around it. With
 * the array added, the product could not parse its settings any more.
 */
function conflictIn(text: string, arrays: TomlHooks["arrays"]): string | null {
  const open = new Set<string>();
  let section: readonly string[] = [];
  for (const line of text.replace(LONG_TEXTS, '""').split("\n")) {
    const [, brackets, header = ""] = HEADER.exec(line) ?? [];
    const [, assigned = ""] = brackets === undefined ? (ASSIGNMENT.exec(line) ?? []) : [];
    if (brackets === undefined && assigned === "") continue;
    const path = brackets === undefined ? [...section, ...keysIn(assigned)] : keysIn(header);
    if (brackets !== undefined) section = path;
    if (brackets === "[[") open.add(path.join("."));
    const isConflict = arrays.some((array) => {
      if (begins(array, path)) return !open.has(array.join("."));
      // A table around it may be opened, but not be a value or an array.
      return brackets !== "[" && begins(path, array);
    });
    if (isConflict) return brackets === undefined ? assigned : `${brackets}${header}${brackets.replaceAll("[", "]")}`;
  }
  return null;
}

const keysIn = (path: string) => (path.match(KEYS) ?? []).map((key) => (/^["']/.test(key) ? untoml(key) : key));

const begins = (short: readonly string[], long: readonly string[]) => short.every((key, i) => key === long[i]);

/** TOML basic strings use JSON's escapes. */
const tomlText = (text: string) => JSON.stringify(text);

function untoml(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    // TOML has escapes that JSON does not have.
    return quoted.slice(1, -1);
  }
}
