import { tomlHookSettings } from "../kit/toml-hook-settings.ts";

/** Tool hooks match only tools that spawn agents, so that no other call is delayed. */
const SPAWNERS = "Agent|AgentSwarm";
const EVENTS: readonly { readonly event: string; readonly matcher?: string }[] = [
  { event: "UserPromptSubmit" },
  { event: "PreToolUse", matcher: SPAWNERS },
  { event: "PostToolUse", matcher: SPAWNERS },
  { event: "PostToolUseFailure", matcher: SPAWNERS },
  { event: "SubagentStart" },
  { event: "SubagentStop" },
  { event: "Stop" },
  { event: "SessionEnd" },
];

export const hookSettings = tomlHookSettings({
  next: null,
  arrays: [["hooks"]],
  tables: (command) =>
    EVENTS.map(({ event, matcher }) => {
      const only = matcher === undefined ? "" : `matcher = "${matcher}"\n`;
      return `[[hooks]]\nevent = "${event}"\n${only}command = ${command}\n`;
    }).join(""),
});
