import { type HookSettings, isOwnHook } from "../../core/ports/provider.ts";
import { asList, asObject, asText, type JsonObject, parseJson } from "../../core/tools/json.ts";

/** Hooks for starts, ends and spawns. Of the tools only those that spawn agents, so that no other call is delayed. */
const SPAWNERS = "Agent|Task|Skill|Workflow";
const EVENTS: readonly { readonly event: string; readonly matcher?: string }[] = [
  { event: "UserPromptSubmit" },
  { event: "PreToolUse", matcher: SPAWNERS },
  { event: "PostToolUse", matcher: SPAWNERS },
  { event: "PostToolUseFailure", matcher: SPAWNERS },
  { event: "SubagentStart" },
  { event: "SubagentStop" },
  { event: "Stop" },
  { event: "StopFailure" },
  { event: "SessionEnd" },
];
/** In seconds. The hook returns within milliseconds; this is only a safety limit. */
const TIMEOUT = 5;

/** `settings.json`. */
export const hookSettings: HookSettings = {
  file: "settings.json",
  next: null,
  install(text, command) {
    const settings = text === null || text.trim() === "" ? {} : asObject(parseJson(text)?.value);
    if (settings === null) return { wrong: "it is not a JSON object" };
    const hooks = asObject(settings.hooks ?? {});
    if (hooks === null) return { wrong: "its hooks are not an object" };
    const clean = withoutOurs(hooks);
    const added = EVENTS.map(({ event, matcher }) => {
      const ours = {
        ...(matcher === undefined ? {} : { matcher }),
        hooks: [{ type: "command", command, timeout: TIMEOUT }],
      };
      return [event, [...asList(clean[event]), ours]] as const;
    });
    return written({ ...settings, hooks: { ...clean, ...Object.fromEntries(added) } }, text);
  },
  uninstall(text) {
    const settings = asObject(parseJson(text)?.value);
    if (settings === null) return { wrong: "it is not a JSON object" };
    const hooks = withoutOurs(asObject(settings.hooks) ?? {});
    const { hooks: _, ...rest } = settings;
    return written(Object.keys(hooks).length === 0 ? rest : { ...settings, hooks }, text);
  },
  commands: (text) =>
    Object.values(asObject(asObject(parseJson(text)?.value)?.hooks) ?? {}).flatMap((groups) =>
      asList(groups).flatMap(commandsOf),
    ),
};

const commandsOf = (group: unknown) =>
  asList(asObject(group)?.hooks).flatMap((hook) => asText(asObject(hook)?.command) ?? []);

/** Our groups contain nothing else. */
function withoutOurs(hooks: JsonObject): JsonObject {
  const isOurs = (group: unknown) => commandsOf(group).some(isOwnHook);
  const kept = Object.entries(hooks).map(
    ([event, groups]) => [event, asList(groups).filter((group) => !isOurs(group)), groups] as const,
  );
  return Object.fromEntries(
    kept.flatMap(([event, left, before]) => (left.length === 0 && asList(before).some(isOurs) ? [] : [[event, left]])),
  );
}

/** Keeps the file's indentation and final newline. */
function written(settings: JsonObject, before: string | null): string {
  const indent = /^[ \t]+(?=\S)/m.exec(before ?? "")?.[0] ?? "  ";
  return JSON.stringify(settings, null, indent) + (before === null || before.endsWith("\n") ? "\n" : "");
}
