import type { HookSettings } from "../../core/ports/provider.ts";

const EVENTS = ["UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"];
const BEGIN = "# retinue: begin of its hooks\n";
const END = "# retinue: end of its hooks\n";

/** `config.toml`. Our tables are at the end of the file, between marker lines, so that they can be removed exactly. */
export const hookSettings: HookSettings = {
  file: "config.toml",
  next: "Codex asks whether it may run them: start it once and trust the hooks",
  install(text, command) {
    const before = text === null ? "" : without(text);
    const [top = ""] = before.split(/^[ \t]*\[/m, 1);
    if (/^[ \t]*hooks[ \t]*=/m.test(top)) return { wrong: "its hooks are an inline value, which cannot be extended" };
    const gap = before === "" || before.endsWith("\n") ? "" : "\n";
    const tables = EVENTS.map(
      (event) => `[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${tomlText(command)}\n`,
    );
    // Marks a file without a final newline, so that it can be restored exactly.
    return `${before}${gap}${gap === "" ? BEGIN : BEGIN.replace("\n", " (no newline before)\n")}${tables.join("")}${END}`;
  },
  uninstall: without,
  commands: (text) =>
    [...text.matchAll(/^[ \t]*command[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')/gm)].map(([, quoted = ""]) =>
      untoml(quoted),
    ),
};

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
