import type { AgentKey, CallKey, MatchKey } from "../../core/facts/ids.ts";
import type { LifecycleState, StatedSource } from "../../core/facts/observation.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";
import {
  asList,
  asNonBlank,
  asNumber,
  asObject,
  asText,
  isTooDeep,
  type JsonObject,
  parseJson,
} from "../../core/tools/json.ts";
import { firstLine } from "../kit/text.ts";
import { key } from "./keys.ts";

/** The tools that spawn agents, that manage background agents and messages, and by which an agent returns its result. */
export const [TASK, HUB, YIELD] = ["task", "hub", "yield"];

interface Task {
  readonly prompt: string | null;
  readonly agentType: string | null;
  readonly name: string | null;
}

/** The tasks of a call, one per agent. */
function tasksIn(args: JsonObject): readonly Task[] {
  const many = asList(args.tasks)
    .map(asObject)
    .filter((task) => task !== null);
  return (many.length > 0 ? many : [args]).map((task) => ({
    prompt: asNonBlank(task.task) ?? asNonBlank(task.assignment),
    agentType: asNonBlank(task.agent) ?? asNonBlank(args.agent),
    name: asNonBlank(task.name),
  }));
}

/** The session of the records, and the id of the agent that made the call; null for the main agent. */
export interface Caller {
  readonly session: string;
  readonly agent: string | null;
}

/** Keys that the call and the agent have in common until the result of the call names the agent. */
export const matchName = ({ session, agent }: Caller, name: string): MatchKey =>
  key.promptMatch(session, `${agent ?? ""} name ${name}`);
export const matchPrompt = ({ session, agent }: Caller, prompt: string): MatchKey =>
  key.promptMatch(session, `${agent ?? ""} prompt ${prompt.trim()}`);

export function readTask(
  out: FindingsOf,
  caller: Caller,
  id: string,
  args: JsonObject,
  more: readonly MatchKey[] = [],
) {
  const tasks = tasksIn(args);
  const only = tasks.length === 1 ? tasks[0] : undefined;
  out.add({
    type: "spawn-called",
    call: key.call(caller.session, id),
    tool: TASK,
    makes: only === undefined ? "maybe" : "one",
    prompt: only?.prompt ?? null,
    agentType: only?.agentType ?? null,
    description: null,
    name: only?.name ?? null,
    offers: [
      ...tasks.flatMap(({ name, prompt }) => [
        ...(name === null ? [] : [matchName(caller, name)]),
        ...(prompt === null ? [] : [matchPrompt(caller, prompt)]),
      ]),
      ...more,
    ],
  });
}

/** Maximum depth of agents in the result of one call. */
const MAX_DEPTH = 20;

/**
 * States the agents that the result of a call names, and those below them; false if there are none. `call` is the call,
 * or the agent that made it if the call itself is not known.
 */
export function readDetails(
  out: FindingsOf,
  session: string,
  call: CallKey | { readonly of: AgentKey },
  details: JsonObject | null,
  source: StatedSource,
  depth = 0,
): boolean {
  const results = asList(details?.results).map(asObject);
  const isLaunched = asObject(details?.async) !== null;
  const progress = results.length > 0 ? [] : asList(details?.progress).map(asObject);
  let isNamed = false;
  for (const json of [...results, ...progress]) {
    const id = asNonBlank(json?.id);
    if (json === null || id === null) continue;
    isNamed = true;
    const child = key.agent(session, id);
    const [agentType, prompt, description] = [json.agent, json.assignment, json.description].map(asNonBlank);
    out.add({
      type: "agent-described",
      agent: child,
      ...(agentType == null ? {} : { agentType }),
      ...(prompt == null ? {} : { prompt }),
      ...(description == null ? {} : { description }),
      ...(isLaunched ? { background: true } : {}),
    });
    const says = `the result of its call names agent ${id}`;
    const rule = "details.results.id";
    if (typeof call === "string") out.add({ type: "call-spawned", call, child, rule, source, says });
    else out.add({ type: "parent-named", child, parent: call.of, rule, source, confidence: 1, says });
    const end = results.length > 0 ? endOf(json) : reportedIn(json);
    if (end !== null) out.add({ type: "lifecycle", of: child, source, ...end });
    else if (isLaunched)
      out.add({
        type: "lifecycle",
        of: child,
        source,
        state: "launched",
        says: "the result of its call shows that it runs in the background",
        result: null,
      });
    const below = [...asList(asObject(json.extractedToolData)?.[TASK]), json.inflightTaskDetails].map(asObject);
    if (depth < MAX_DEPTH) for (const one of below) readDetails(out, session, { of: child }, one, source, depth + 1);
  }
  return isNamed;
}

/** The state of an agent that a stream reports on. */
function reportedIn(json: JsonObject) {
  const state = JOBS.get(asText(json.status) ?? "");
  return state === undefined ? null : ended(state, `its call reports it as ${json.status}`);
}

/** The agent's own records take precedence over what is reported of its end. */
const ended = (state: LifecycleState, says: string, result: string | null = null) =>
  ({ state, says, result, yields: true }) as const;

function endOf(json: JsonObject) {
  const error = asNonBlank(json.error) ?? asNonBlank(json.stderr);
  const why = reasonText(error);
  if (json.aborted === true)
    return ended(
      "shutdown",
      `the result of its call shows that it was aborted${why || reasonText(asNonBlank(json.abortReason))}`,
    );
  const code = asNumber(json.exitCode);
  if (code === null) return null;
  return code === 0 && error === null
    ? ended("completed", "its call returned its result", resultIn(asNonBlank(json.output)))
    : ended("errored", `the result of its call shows that it failed${why || ` with exit code ${code}`}`);
}

const reasonText = (reason: string | null) => (reason === null ? "" : `: ${firstLine(reason)}`);

/** Jobs in a result of the hub; those of agents are named after them. */
export function readJobs(out: FindingsOf, session: string, details: JsonObject | null, source: StatedSource) {
  for (const item of asList(details?.jobs)) {
    const job = asObject(item);
    const id = asNonBlank(job?.id) ?? asNonBlank(job?.jobId);
    if (id === null || job?.type !== TASK) continue;
    const state = JOBS.get(asText(job.status) ?? "");
    if (state !== undefined)
      out.add({
        type: "lifecycle",
        of: key.agent(session, id),
        source,
        ...ended(state, `the hub reports it as ${job.status}`),
      });
  }
}

const JOBS: ReadonlyMap<string, LifecycleState> = new Map([
  ["completed", "completed"],
  ["failed", "errored"],
  ["cancelled", "shutdown"],
  ["aborted", "shutdown"],
]);

const DELIVERED = /<task-result id="([^"]+)"[^>]*? status="([^"]+)"/g;

/** Results of background agents, which are delivered as a message. */
export function readDelivery(out: FindingsOf, session: string, text: string): void {
  for (const [, id = "", status = ""] of text.matchAll(DELIVERED)) {
    const state = /^completed/.test(status) ? "completed" : /^(?:aborted|cancel)/.test(status) ? "shutdown" : "errored";
    const agent: AgentKey = key.agent(session, id);
    out.add({
      type: "lifecycle",
      of: agent,
      source: "parent_rollout",
      ...ended(state, `a message to its parent reports ${status}`),
    });
  }
}

/** The end of an agent by its own call; null if it only reports a part of its result. */
export function yieldedIn(details: JsonObject | null) {
  if (Array.isArray(details?.type) && details.complete !== true) return null;
  const error = asNonBlank(details?.error);
  if (error !== null || details?.status === "aborted")
    return { state: "failed", text: "", error: firstLine(error ?? "it was aborted") } as const;
  // Without data, its last text is the result, which only the result of its call repeats.
  return { state: "answered", text: details?.data == null ? "" : textOf(details.data) } as const;
}

/** Structured results are JSON on one line. */
const textOf = (value: unknown) => (typeof value === "string" ? value : isTooDeep(value) ? "" : oneLine(value));
const oneLine = (value: unknown) =>
  // Newlines in strings are escaped.
  (JSON.stringify(value, null, 1) ?? "").replace(
    /([[{])\n\s*|\n\s*([\]}])|\n\s*/g,
    (_, begin?: string, end?: string) => begin ?? end ?? " ",
  );

/** The product indents structured results. */
const resultIn = (output: string | null) =>
  output === null || !/^[[{]\s/.test(output) ? output : textOf(parseJson(output)?.value ?? output);

const WRAPPED = /^Complete assignment thoroughly:\n\n([\s\S]*)$/;
/** The task in the first prompt of an agent, which the product wraps. */
export const assignmentIn = (text: string) => WRAPPED.exec(text)?.[1] ?? text;
