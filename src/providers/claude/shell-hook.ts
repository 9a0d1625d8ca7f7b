import { asNonBlank, asObject, type JsonObject } from "../../core/tools/json.ts";
import { HOOK_VARIABLES } from "../kit/launch/environment.ts";
import { launchesIn } from "../kit/launch/launches.ts";
import { NAME } from "./manifest.ts";

const ID = /^[\w.-]{6,100}$/;

/**
 * The response to a `PreToolUse` payload of a shell call that may start an agent: the same command, with the ids of its
 * agent in the environment. States no decision about permissions. Null if the command stays as it is.
 */
export function nameAgentIn(payload: JsonObject): JsonObject | null {
  const tool = asObject(payload.tool_input);
  const command = asNonBlank(tool?.command);
  const [session, call] = [asNonBlank(payload.session_id), asNonBlank(payload.tool_use_id)];
  if (payload.tool_name !== "Bash" || command === null || session === null || !ID.test(session)) return null;
  const { launches, wraps } = launchesIn(command, null);
  if (launches.length === 0 && !wraps) return null;
  const agent = asNonBlank(payload.agent_id) ?? "";
  const variables = [
    `${HOOK_VARIABLES.thread}=${NAME}:${session}`,
    `${HOOK_VARIABLES.agent}=${ID.test(agent) ? agent : ""}`,
    `${HOOK_VARIABLES.call}=${call !== null && ID.test(call) ? call : ""}`,
  ];
  const updatedInput = { ...tool, command: `export ${variables.join(" ")}; ${command}` };
  return { hookSpecificOutput: { hookEventName: "PreToolUse", updatedInput } };
}
