import type { HookSettings } from "../../core/ports/provider.ts";

const BEGIN = "# retinue: begin of its hooks\n";
const END = "# retinue: end of its hooks\n";

export interface TomlHooks {
  readonly next: string | null;
  /** The tables with retinue's hooks; `command` is a TOML string. */
  tables(command: string): string;
}

/** `config.toml`. The tables are added at its end, between marker lines, so that they can be removed exactly. */
export const tomlHookSettings = ({ next, tables }: TomlHooks): HookSettings => ({
  file: "config.toml",
  next,
  install(text, command) {
    const before = text === null ? "" : without(text);
    const [top = ""] = before.split(/^[ \t]*\[/m, 1);
    if (/^[ \t]*hooks[ \t]*=/m.test(top)) return { wrong: "its hooks are an inline value, which cannot be extended" };
    const gap = before === "" || before.endsWith("\n") ? "" : "\n";
    // Marks a file without a final newline, so that it can be restored exactly.
    const begin = gap === "" ? BEGIN : BEGIN.replace("\n", " (no newline before)\n");
    return `${before}${gap}${begin}${tables(tomlText(command))}${END}`;
  },
  uninstall: without,
  commands: (text) =>
    [...text.matchAll(/^[ \t]*command[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')/gm)].map(([, quoted = ""]) =>
      untoml(quoted),
    ),
});

function without(text: string): string {
  return text.replace(
    /(\n?)# retinue: begin of its hooks( \(no newline before\))?\n[\s\S]*?# retinue: end of its hooks\n/g,
    (_, newline: string, mark?: string) => (mark === undefined ? newline : ""),
  );
}

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
