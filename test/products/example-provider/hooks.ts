import type { AgentKey } from "../../../src/core/facts/ids.ts";
import type { FindingsOf } from "../../../src/core/ports/findings.ts";
import type { HookSettings } from "../../../src/core/ports/provider.ts";
import { asList, asNonBlank, asObject, asText, type JsonObject, parseJson } from "../../../src/core/tools/json.ts";
import { HookReader } from "../../../src/providers/kit/hook-reader.ts";
import { AT_WORK } from "../../../src/providers/kit/live-stream.ts";
import * as key from "./keys.ts";

export class ExampleHooks extends HookReader {
  protected threadOf = key.thread;

  read(out: FindingsOf, payload: JsonObject, thread: AgentKey) {
    const [session, agent] = [asNonBlank(payload.session_id), asNonBlank(payload.agent_id)];
    if (payload.hook_event_name === "Stop") return this.stopped(out, payload, thread);
    if (payload.hook_event_name !== "AgentStarted" || session === null || agent === null) return;
    const child = key.agent(session, agent);
    out.part({ speaker: child }).add(AT_WORK);
    out.add({
      type: "parent-named",
      child,
      parent: key.agent(session, asNonBlank(payload.parent_id)),
      rule: "hook.parent_id",
      source: "protocol",
      confidence: 1,
      says: "a hook names its parent",
    });
  }
}

/** `hooks.json`: a list of commands. */
export const hookSettings: HookSettings = {
  file: "hooks.json",
  next: null,
  install(text, command) {
    const all = text === null ? [] : commandsIn(text);
    return all === null ? { wrong: "it is not JSON" } : written([...all.filter((one) => one !== command), command]);
  },
  uninstall(text) {
    const all = commandsIn(text);
    return all === null ? { wrong: "it is not JSON" } : written(all.filter((one) => !/\bretinue\b/.test(one)));
  },
  commands: (text) => commandsIn(text) ?? [],
};

const written = (commands: readonly string[]) => `${JSON.stringify({ commands })}\n`;

function commandsIn(text: string): readonly string[] | null {
  const json = asObject(parseJson(text)?.value);
  return json === null ? null : asList(json.commands).flatMap((one) => asText(one) ?? []);
}
