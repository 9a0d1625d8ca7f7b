import { type HookSettings, isOwnHook } from "../../core/ports/provider.ts";
import { plainJson, repeatedName, valuesOf, withMember } from "../../core/tools/commented-json.ts";
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
): HookSettings => {
  const groupOf = ({ matcher }: HookEvent, command: string): JsonObject => ({
    ...(matcher === undefined ? {} : { matcher }),
    hooks: [{ type: "command", command, ...(timeout === null ? {} : { timeout }) }],
  });
  return {
    file: "settings.json",
    next: null,
    ...(shell === null ? {} : { hasLineage: true }),
    install(text, command, lineage = false) {
      const isEmpty = text === null || text.trim() === "";
      const found = isEmpty ? NO_HOOKS : hooksIn(text);
      if ("wrong" in found) return found;
      const hooks = found.hooks ?? {};
      const own: (readonly [event: string, group: JsonObject])[] = events.map((one) => [
        one.event,
        groupOf(one, command),
      ]);
      if (lineage && shell !== null)
        own.push(["PreToolUse", groupOf({ event: "PreToolUse", matcher: shell }, `${command} --lineage`)]);
      const names = new Set(own.map(([event]) => event));
      const odd = [...names].find((event) => hooks[event] !== undefined && !Array.isArray(hooks[event]));
      if (odd !== undefined) return { wrong: `its hooks of ${odd} are not a list` };
      const others = withoutOwnHooks(hooks);
      // Events keep their place, so that a second installation changes nothing.
      const all = [...new Set([...Object.keys(hooks), ...names])].flatMap((event): [string, unknown][] => {
        const added = own.flatMap(([name, group]) => (name === event ? [group] : []));
        if (added.length > 0) return [[event, [...asList(others[event]), ...added]]];
        return event in others ? [[event, others[event]]] : [];
      });
      if (isEmpty) return withMember("{}", NAME, Object.fromEntries(all)) + (text === null ? "\n" : "");
      return withMember(text, NAME, Object.fromEntries(all));
    },
    uninstall(text) {
      const found = hooksIn(text);
      if ("wrong" in found) return found;
      if (found.hooks === null) return text;
      const hooks = withoutOwnHooks(found.hooks);
      return withMember(text, NAME, Object.keys(hooks).length === 0 ? undefined : hooks);
    },
    commands: (text) =>
      (settingsIn(text) === null ? [] : valuesOf(text, NAME))
        .flatMap((value) => Object.values(asObject(parseJson(plainJson(value))?.value) ?? {}))
        .flatMap((groups) => asList(groups).flatMap(commandsOf)),
  };
};

type Found = { readonly hooks: JsonObject | null } | { readonly wrong: string };
const NO_HOOKS: Found = { hooks: null };

const settingsIn = (text: string) => asObject(parseJson(plainJson(text))?.value);

/** The hooks in the settings; null if there are none. A repeated name would be lost, so the user has to decide. */
function hooksIn(text: string): Found {
  const settings = settingsIn(text);
  if (settings === null) return { wrong: "it is not a JSON object" };
  const [value, second] = valuesOf(text, NAME);
  if (second !== undefined) return { wrong: `it contains ${JSON.stringify(NAME)} more than once` };
  const hooks = asObject(settings[NAME] ?? {});
  if (hooks === null) return { wrong: "its hooks are not an object" };
  const repeated = value === undefined || settings[NAME] === null ? null : repeatedName(value);
  if (repeated !== null) return { wrong: `its hooks contain ${JSON.stringify(repeated)} more than once` };
  return { hooks: value === undefined ? null : hooks };
}

const commandsOf = (group: unknown) =>
  asList(asObject(group)?.hooks).flatMap((hook) => asText(asObject(hook)?.command) ?? []);

/** The hooks of others. Groups and events that contained only retinue's hooks are removed. */
function withoutOwnHooks(hooks: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(hooks).flatMap(([event, groups]) => {
      if (!Array.isArray(groups)) return [[event, groups]];
      const others = groups.flatMap(withoutOwnIn);
      return others.length === 0 && groups.length > 0 ? [] : [[event, others]];
    }),
  );
}

/** A group without retinue's hooks; none if it has no others. */
function withoutOwnIn(group: unknown): readonly unknown[] {
  if (!commandsOf(group).some(isOwnHook)) return [group];
  const others = asList(asObject(group)?.hooks).filter((hook) => !isOwnHook(asText(asObject(hook)?.command) ?? ""));
  return others.length === 0 ? [] : [{ ...asObject(group), hooks: others }];
}
