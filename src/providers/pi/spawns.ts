import { asList, asNumber, asObject, asText, asWords, type JsonObject } from "../../core/json.ts";
import type { LifecycleState } from "../../core/observation.ts";
import { runOfFile } from "./locate.ts";
import type { ToolCall } from "./message.ts";
import { type Used, usedIn } from "./message.ts";

/** What a call asks for, one for each agent. Null for calls that make none. */
export interface Task {
  readonly prompt: string | null;
  readonly agentType: string | null;
  readonly description: string | null;
  readonly background: boolean;
}

/** Pi has no agents of its own; these are the tools of its example extension and of the two that are used most. */
export function tasksOf({ name, args }: ToolCall): readonly Task[] | null {
  if (name === "Agent") {
    const [prompt, agentType, description] = [asWords(args.prompt), asWords(args.subagent_type), asWords(args.description)];
    return prompt === null ? null : [{ prompt, agentType, description, background: args.run_in_background === true }];
  }
  if (name !== "subagent") return null;
  const many = [...asList(args.tasks), ...asList(args.chain)].map(asObject).filter((item) => item !== null);
  const all = many.length > 0 ? many : [args];
  const tasks = all.flatMap((one) => {
    const [prompt, agentType] = [asWords(one.task), asWords(one.agent)];
    return prompt === null && agentType === null ? [] : [{ prompt, agentType, description: null, background: args.async === true }];
  });
  // Asks how others are doing, or stops them.
  return tasks.length === 0 || (asWords(args.action) !== null && many.length === 0 && asWords(args.task) === null) ? null : tasks;
}

/** How an agent ended, as its parent was told. */
export interface End {
  readonly state: LifecycleState;
  readonly says: string;
  readonly result: string | null;
}

/** An agent in the result of a call. */
export interface Outcome {
  /** Its place among those of the call. */
  readonly index: number;
  readonly agentType: string | null;
  readonly prompt: string | null;
  readonly end: End | null;
  /** Everything it said, where it has no file of its own. */
  readonly messages: readonly JsonObject[];
  /** Its id by the file of its own, where it has one. */
  readonly run: { readonly session: string; readonly agent: string } | null;
  /** All it used, where nothing else tells. */
  readonly used: (Used & { readonly turns: number; readonly model: string }) | null;
}

/** `details.results` of the example extension, of those made after it, and of pi-subagents. */
export function outcomesIn(details: JsonObject | null): readonly Outcome[] {
  return asList(details?.results).flatMap((item, i) => {
    const json = asObject(item);
    if (json === null) return [];
    const file = asWords(json.sessionFile);
    const found = file === null ? null : runOfFile(file);
    const messages = asList(json.messages)
      .map(asObject)
      .filter((message) => message !== null);
    const used = messages.length > 0 || found !== null ? null : usedIn(json.usage);
    const task = asWords(json.task);
    return [
      {
        index: asNumber(json.index) ?? i,
        agentType: asWords(json.agent),
        prompt: task === "[prompt redacted]" ? null : task,
        end: endOf(json),
        messages,
        run: found,
        used: used === null ? null : { ...used, turns: asNumber(asObject(json.usage)?.turns) ?? 1, model: (asText(json.model) ?? "").replace(/^[^/]*\//, "") },
      },
    ];
  });
}

/** An exit code of 0 means nothing: what failed in the child says so in `stopReason`. */
function endOf(json: JsonObject): End | null {
  const [stop, code] = [asText(json.stopReason), asNumber(json.exitCode)];
  const error = asWords(json.errorMessage) ?? asWords(json.error) ?? asWords(json.stderr);
  const why = error === null ? "" : `: ${error.trim().split("\n")[0]}`;
  if (stop === "aborted" || json.interrupted === true || json.aborted === true)
    return { state: "shutdown", says: `its call says that it was aborted${why}`, result: null };
  if (stop === "error" || (code !== null && code > 0) || asWords(json.error) !== null)
    return { state: "errored", says: `its call says that it failed${why || ` with exit code ${code}`}`, result: null };
  // Below 0: it still ran when this was written.
  return code !== null && code < 0 ? null : { state: "completed", says: "its call returned its result", result: asWords(json.finalOutput) };
}

/** The states of @tintinweb/pi-subagents. */
export function endByStatus(status: string | null, error: string | null, result: string | null): End | null {
  const why = error === null ? "" : `: ${error.split("\n")[0]}`;
  switch (status) {
    case "completed":
    case "steered":
      return { state: "completed", says: `its parent's records say ${status}`, result };
    case "error":
    case "failed":
      return { state: "errored", says: `its parent's records say that it failed${why}`, result: null };
    case "stopped":
    case "aborted":
    case "cancelled":
      return { state: "shutdown", says: `its parent's records say ${status}${why}`, result: null };
    case "background":
      return { state: "launched", says: "the result of its call says that it runs in the background", result: null };
    default:
      return null;
  }
}
