import type { HookSettings } from "../../core/provider.ts";

const EVENTS = ["UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"];
const BEGIN = "# retinue: begin of its hooks\n";
const END = "# retinue: end of its hooks\n";

/** `config.toml`. Tables may follow anything, so that ours stand at its end, between marks, and can be taken out again to the byte. */
export const hookSettings: HookSettings = {
  file: "config.toml",
  next: "Codex asks whether it may run them: start it once and trust the hooks",
  install(text, command) {
    const before = text === null ? "" : without(text);
    const [top = ""] = before.split(/^[ \t]*\[/m, 1);
    if (/^[ \t]*hooks[ \t]*=/m.test(top)) return { wrong: "its hooks are written as one value, to which nothing can be added" };
    const gap = before === "" || before.endsWith("\n") ? "" : "\n";
    const tables = EVENTS.map((event) => `[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${tomlText(command)}\n`);
    // What had no newline at its end is marked, so that it will have none again.
    return `${before}${gap}${gap === "" ? BEGIN : BEGIN.replace("\n", " (no newline before)\n")}${tables.join("")}${END}`;
  },
  uninstall: without,
  commands: (text) => [...text.matchAll(/^[ \t]*command[ \t]*=[ \t]*("(?:[^"\\]|\\.)*"|'[^']*')/gm)].map(([, quoted = ""]) => untoml(quoted)),
};

function without(text: string): string {
  return text.replace(
    /(\n?)# retinue: begin of its hooks( \(no newline before\))?\n[\s\S]*?# retinue: end of its hooks\n/g,
    (_, newline: string, mark?: string) => (mark === undefined ? newline : ""),
  );
}

/** Basic strings of TOML escape as JSON does. */
const tomlText = (text: string) => JSON.stringify(text);

function untoml(quoted: string): string {
  if (quoted.startsWith("'")) return quoted.slice(1, -1);
  try {
    return JSON.parse(quoted) as string;
  } catch {
    // TOML knows escapes that JSON does not.
    return quoted.slice(1, -1);
  }
}
