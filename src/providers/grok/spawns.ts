import type { AgentKey, MatchKey } from "../../core/facts/ids.ts";
import type { LifecycleState } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asText, type JsonObject } from "../../core/tools/json.ts";
import { addSpawnResult } from "../kit/spawn-result.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";

export const SPAWN = "spawn_subagent";

/** A call that spawns an agent, or resumes one in a new session. */
export function readSpawn(
  out: FindingsOf,
  session: string,
  id: string,
  input: JsonObject,
  promptId: string | null,
  offers: readonly MatchKey[] = [],
) {
  const description = asNonBlank(input.description);
  out.add({
    type: "spawn-called",
    call: key.call(session, id),
    tool: SPAWN,
    makes: "one",
    prompt: asText(input.prompt),
    agentType: asNonBlank(input.subagent_type),
    description,
    name: null,
    offers: promptId === null || description === null ? offers : [...offers, key.spawnMatch(promptId, description)],
  });
}

/** `subagent_spawned`, in the root's records at any depth: it names the prompt that the parent worked on. */
export function readSpawned(out: FindingsOf, update: JsonObject) {
  const id = asNonBlank(update.child_session_id) ?? asNonBlank(update.subagent_id);
  if (id === null) return;
  const agent = key.session(id);
  const [promptId, description, agentType] = [
    asNonBlank(update.parent_prompt_id),
    asNonBlank(update.description),
    asNonBlank(update.subagent_type),
  ];
  out.add({
    type: "agent-described",
    agent,
    kind: "subagent",
    ...(description === null ? {} : { description }),
    ...(agentType === null ? {} : { agentType }),
  });
  if (promptId !== null && description !== null)
    out.add({
      type: "spawn-match",
      agent,
      match: key.spawnMatch(promptId, description),
      rule: "subagent_spawned.parent_prompt_id",
      source: "inferred",
      exclusive: true,
      says: "the root's record of it names the prompt that the call belongs to",
    });
}

const STATES: ReadonlyMap<string, LifecycleState> = new Map([
  ["completed", "completed"],
  ["failed", "errored"],
  ["cancelled", "shutdown"],
]);

/** How an agent ended, according to the root's records. The agent's own take precedence. */
export function readEnd(out: FindingsOf, agent: AgentKey, json: JsonObject, at: number | null, who: string) {
  const status = asText(json.status) ?? "";
  const state = STATES.get(status);
  if (state === undefined) return;
  const error = asNonBlank(json.error);
  out.addAt(at, {
    type: "lifecycle",
    of: agent,
    state,
    source: "protocol",
    says: `${who} reports ${status}${error === null ? "" : `: ${firstLine(error)}`}`,
    result: state === "completed" ? asNonBlank(json.output) : null,
    yields: true,
  });
}

const CHILD = /^subagent_id: ([0-9a-f-]{36})$/m;
const LAUNCHED = /^Subagent started in background/;
/** The tool failed before it spawned an agent. */
const REFUSED =
  /Unknown subagent type|max(?:imum)? (?:nesting |recursion )?depth|not (?:available|allowed|enabled|found)|disabled|invalid (?:arguments|input)|missing field/i;

export const isRefusal = (message: string) => !/^Session error/.test(message) && REFUSED.test(message);

/** The result of a call that spawns an agent. */
export function readSpawnResult(out: FindingsOf, session: string, id: string, output: JsonObject, text: string) {
  const call = key.call(session, id);
  const child = asNonBlank(output.subagent_id) ?? CHILD.exec(text)?.[1] ?? null;
  const message = asNonBlank(output.message);
  if (child === null && message !== null && isRefusal(message)) return out.add({ type: "call-refused", call });
  const isFailed = message !== null || asNonBlank(output.error) !== null;
  addSpawnResult(out, {
    call,
    id,
    child: child === null ? null : { key: key.session(child), id: child },
    rule: "rawOutput.subagent_id",
    isLaunched: LAUNCHED.test(text),
    failure: isFailed ? firstLine(message ?? "") : null,
    result: asNonBlank(output.output),
  });
}

const NOTICE = /^<system-reminder>\s*While you were idle/;
/** A message to the session about the end of agents in the background. */
export const isNotice = (text: string) => NOTICE.test(text);
