import { tomlHookSettings } from "../kit/toml-hook-settings.ts";

const EVENTS = ["UserPromptSubmit", "SubagentStart", "SubagentStop", "Stop", "SessionEnd"];

export const hookSettings = tomlHookSettings({
  next: "Codex asks whether it may run them: start it once and trust the hooks",
  tables: (command) =>
    EVENTS.map(
      (event) => `[[hooks.${event}]]\n[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${command}\n`,
    ).join(""),
});
