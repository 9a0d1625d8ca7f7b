import { tomlHookSettings } from "../kit/toml-hook-settings.ts";
import { SPAWNERS } from "./hook-guard.ts";

/** Tool hooks match only tools that spawn agents, so that no other call is delayed. */
const EVENTS: readonly { readonly event: string; readonly matcher?: string }[] = [
  { event: "UserPromptSubmit" },
  { event: "PreToolUse", matcher: SPAWNERS },
  { event: "PostToolUse", matcher: SPAWNERS },
  { event: "SubagentStart" },
  { event: "SubagentStop" },
  { event: "Stop" },
  { event: "SessionEnd" },
];

export const hookSettings = tomlHookSettings({
  next: "Codex asks whether it may run them: start it once and trust the hooks",
  arrays: EVENTS.map(({ event }) => ["hooks", event]),
  tables: (command) =>
    EVENTS.map(({ event, matcher }) => {
      const only = matcher === undefined ? "" : `matcher = "${matcher}"\n`;
      return `[[hooks.${event}]]\n${only}[[hooks.${event}.hooks]]\ntype = "command"\ncommand = ${command}\n`;
    }).join(""),
});
