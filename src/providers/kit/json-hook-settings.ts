import { type HookSettings, isOwnHook } from "../../core/ports/provider.ts";
import { plainJson, withMember } from "../../core/tools/commented-json.ts";
import { asList, asObject, asText, type JsonObject, parseJson } from "../../core/tools/json.ts";

const NAME = "hooks";

export interface HookEvent {
  readonly event: string;
  readonly matcher?: string;
}

/** Hooks for starts, ends and spawns. Tool hooks match only tools that spawn agents, so that others are not delayed. */
export const hookEvents = (spawners: string): readonly HookEvent[] => [
  { event: "UserPromptSubmit" },
  { event: "PreToolUse", matcher: spawners },
  { event: "PostToolUse", matcher: spawners },
  { event: "PostToolUseFailure", matcher: spawners },
  { event: "SubagentStart" },
  { event: "SubagentStop" },
  { event: "Stop" },
  { event: "StopFailure" },
  { event: "SessionEnd" },
];

/** `settings.json` in Claude Code's format, which other products copied. `timeout` is in the product's own unit. */
export const jsonHookSettings = (
  events: readonly HookEvent[],
  timeout: number | null,
  shell: string | null = null,
): HookSettings => ({
  file: "settings.json",
  next: null,
  ...(shell === null ? {} : { hasLineage: true }),
  install(text, command, lineage = false) {
    const settings = text === null || text.trim() === "" ? {} : settingsIn(text);
    if (settings === null) return { wrong: "it is not a JSON object" };
    const hooks = asObject(settings.hooks ?? {});
    if (hooks === null) return { wrong: "its hooks are not an object" };
    const others = withoutOwnHooks(hooks);
    const added: Record<string, unknown> = {};
    const add = ({ event, matcher }: HookEvent, line: string) => {
      const hook = { type: "command", command: line, ...(timeout === null ? {} : { timeout }) };
      const group = { ...(matcher === undefined ? {} : { matcher }), hooks: [hook] };
      added[event] = [...asList(added[event] ?? others[event]), group];
    };
    for (const one of events) add(one, command);
    if (lineage && shell !== null) add({ event: "PreToolUse", matcher: shell }, `${command} --lineage`);
    const all = { ...others, ...added };
    if (text === null || text.trim() === "") return withMember("{}", NAME, all) + (text === null ? "\n" : "");
    return withMember(text, NAME, all);
  },
  uninstall(text) {
    const settings = settingsIn(text);
    if (settings === null) return { wrong: "it is not a JSON object" };
    const hooks = withoutOwnHooks(asObject(settings.hooks) ?? {});
    return withMember(text, NAME, Object.keys(hooks).length === 0 ? undefined : hooks);
  },
  commands: (text) =>
    Object.values(asObject(settingsIn(text)?.hooks) ?? {}).flatMap((groups) => asList(groups).flatMap(commandsOf)),
});

const settingsIn = (text: string) => asObject(parseJson(plainJson(text))?.value);

const commandsOf = (group: unknown) =>
  asList(asObject(group)?.hooks).flatMap((hook) => asText(asObject(hook)?.command) ?? []);

/** The hooks of others. A group that retinue added contains only its own hook, and an event without groups is removed. */
function withoutOwnHooks(hooks: JsonObject): JsonObject {
  const isOwn = (group: unknown) => commandsOf(group).some(isOwnHook);
  return Object.fromEntries(
    Object.entries(hooks).flatMap(([event, value]) => {
      const groups = asList(value);
      const others = groups.filter((group) => !isOwn(group));
      return others.length === 0 && groups.length > 0 ? [] : [[event, others]];
    }),
  );
}
