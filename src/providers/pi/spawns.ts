import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import type { LifecycleState, StatedSource } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import { asList, asNonBlank, asNumber, asObject, asText, type JsonObject } from "../../core/tools/json.ts";
import { type NestedCall, type ToolCall, type Used, usedIn } from "../kit/pi/message.ts";
import { key } from "./keys.ts";
import { runOfFile } from "./locate.ts";

/** The tasks of a call, one per agent. Null for calls that spawn none. */
export interface Task {
  readonly prompt: string | null;
  readonly agentType: string | null;
  readonly description: string | null;
  readonly background: boolean;
}

/** Pi has no built-in agents; these are the tools of its example extension and of the two most used extensions. */
export function tasksOf({ name, args }: ToolCall): readonly Task[] | null {
  if (name === "Agent") {
    const [prompt, agentType, description] = [
      asNonBlank(args.prompt),
      asNonBlank(args.subagent_type),
      asNonBlank(args.description),
    ];
    return prompt === null ? null : [{ prompt, agentType, description, background: args.run_in_background === true }];
  }
  if (name !== "subagent") return null;
  const many = [...asList(args.tasks), ...asList(args.chain)].map(asObject).filter((item) => item !== null);
  const all = many.length > 0 ? many : [args];
  const tasks = all.flatMap((one) => {
    const [prompt, agentType] = [asNonBlank(one.task), asNonBlank(one.agent)];
    return prompt === null && agentType === null
      ? []
      : [{ prompt, agentType, description: null, background: args.async === true }];
  });
  // Other actions query or stop agents.
  return tasks.length === 0 || (asNonBlank(args.action) !== null && many.length === 0 && asNonBlank(args.task) === null)
    ? null
    : tasks;
}

/** Adds a spawn call. Its tasks describe the agents; several are described one by one, since a call names one prompt. */
export function addSpawnCall(
  out: FindingsOf,
  session: string,
  { id, name: tool }: ToolCall,
  tasks: readonly Task[],
): void {
  const call = key.call(session, id);
  const [only] = tasks.length === 1 ? tasks : [];
  if (only === undefined)
    out.add({
      type: "spawn-called",
      call,
      tool,
      makes: "maybe",
      prompt: null,
      agentType: null,
      description: null,
      name: null,
      offers: [],
    });
  else {
    const { prompt, agentType, description } = only;
    const offers = prompt === null ? [] : [key.promptMatch(session, prompt)];
    out.add({ type: "spawn-called", call, tool, makes: "one", prompt, agentType, description, name: null, offers });
  }
}

/**
 * The id of an agent that its records do not name: the id of its call, and its index if the call spawns several. That
 * is the case for agents of the example extension.
 */
export function childId(call: string, index: number, count: number): string {
  const id = call.replaceAll("/", "_");
  return count === 1 ? id : `${id}.${index}`;
}

/** Describes one of several agents of a call by its task. */
export const describeTask = (agent: AgentKey, { prompt, agentType }: Pick<Task, "prompt" | "agentType">) =>
  ({
    type: "agent-described",
    agent,
    ...(prompt === null ? {} : { prompt }),
    ...(agentType === null ? {} : { agentType }),
  }) as const;

/** The call that spawned an agent, by the index of its task. */
export const spawnedByTask = (call: CallKey, child: AgentKey, index: number, source: StatedSource) =>
  ({
    type: "call-spawned",
    call,
    child,
    rule: "subagent.tasks",
    source,
    says: `task ${index + 1} of its parent's call`,
  }) as const;

/** The call that spawned an agent, by the id in the details of its result. */
export const spawnedById = (call: CallKey, child: AgentKey, id: string, source: StatedSource) =>
  ({
    type: "call-spawned",
    call,
    child,
    rule: "details.agentId",
    source,
    says: `the result of its call names agent ${id}`,
  }) as const;

/** The end of an agent, as reported to its parent. */
export interface End {
  readonly state: LifecycleState;
  readonly says: string;
  readonly result: string | null;
}

/** An agent in the result of a call. */
export interface Outcome {
  /** The index of the agent among those of the call. */
  readonly index: number;
  readonly agentType: string | null;
  readonly prompt: string | null;
  readonly end: End | null;
  /** All its messages, if it has no file of its own. */
  readonly messages: readonly JsonObject[];
  /** The id of the agent, if it has its own file. */
  readonly run: { readonly session: string; readonly agent: string } | null;
  /** The total usage of the agent, if neither messages nor a file have it. */
  readonly used: (Used & { readonly turns: number; readonly model: string }) | null;
}

/** `details.results` of the example extension, of extensions based on it, and of pi-subagents. */
export function outcomesIn(details: JsonObject | null): readonly Outcome[] {
  return asList(details?.results).flatMap((item, i) => {
    const json = asObject(item);
    if (json === null) return [];
    const file = asNonBlank(json.sessionFile);
    const found = file === null ? null : runOfFile(file);
    const messages = asList(json.messages)
      .map(asObject)
      .filter((message) => message !== null);
    const used = messages.length > 0 || found !== null ? null : usedIn(json.usage);
    const task = asNonBlank(json.task);
    return [
      {
        index: asNumber(json.index) ?? i,
        agentType: asNonBlank(json.agent),
        prompt: task === "[prompt redacted]" ? null : task,
        end: endOf(json),
        messages,
        run: found,
        used:
          used === null
            ? null
            : {
                ...used,
                turns: asNumber(asObject(json.usage)?.turns) ?? 1,
                model: (asText(json.model) ?? "").replace(/^[^/]*\//, ""),
              },
      },
    ];
  });
}

/** Exit code 0 does not mean success: failures are in `stopReason`. */
function endOf(json: JsonObject): End | null {
  const [stop, code] = [asText(json.stopReason), asNumber(json.exitCode)];
  const error = asNonBlank(json.errorMessage) ?? asNonBlank(json.error) ?? asNonBlank(json.stderr);
  const why = error === null ? "" : `: ${error.trim().split("\n")[0]}`;
  if (stop === "aborted" || json.interrupted === true || json.aborted === true)
    return { state: "shutdown", says: `the result of its call shows that it was aborted${why}`, result: null };
  if (stop === "error" || (code !== null && code > 0) || asNonBlank(json.error) !== null)
    return {
      state: "errored",
      says: `the result of its call shows that it failed${why || ` with exit code ${code}`}`,
      result: null,
    };
  // Negative: it was still running when this was written.
  return code !== null && code < 0
    ? null
    : { state: "completed", says: "its call returned its result", result: asNonBlank(json.finalOutput) };
}

/** How an agent ended whose spawn call was made by a script. Null if the script ended before the call. */
export function endOfNested({ status, error }: NestedCall, isBackground: boolean): End | null {
  const why = error === null ? "" : `: ${error.split("\n")[0]}`;
  if (status === "error") return { state: "errored", says: `its call in a script failed${why}`, result: null };
  if (status !== "ok") return null;
  return isBackground
    ? { state: "launched", says: "its call in a script started it in the background", result: null }
    : { state: "completed", says: "its call in a script returned", result: null };
}

/** The states of @tintinweb/pi-subagents. */
export function endByStatus(status: string | null, error: string | null, result: string | null): End | null {
  const why = error === null ? "" : `: ${error.split("\n")[0]}`;
  switch (status) {
    case "completed":
    case "steered":
      return { state: "completed", says: `its parent's records have status ${status}`, result };
    case "error":
    case "failed":
      return { state: "errored", says: `its parent's records show that it failed${why}`, result: null };
    case "stopped":
    case "aborted":
    case "cancelled":
      return { state: "shutdown", says: `its parent's records have status ${status}${why}`, result: null };
    case "background":
      return { state: "launched", says: "the result of its call shows that it runs in the background", result: null };
    default:
      return null;
  }
}
