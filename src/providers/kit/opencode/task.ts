import type { Lifecycle, LifecycleState } from "../../../core/facts/observation.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import { asNonBlank, asObject, asText } from "../../../core/tools/json.ts";
import { isSessionId, type Keys } from "./keys.ts";
import { isDone, type Part, type ToolPart } from "./shapes.ts";

/** The built-in spawn tool; those of plugins are recognised by the session they name. */
export const TASK = "task";

export function isSpawn(tool: ToolPart): boolean {
  return tool.tool === TASK || (tool.metadata !== null && isSessionId(asText(tool.metadata.sessionId) ?? ""));
}

/**
 * A call that spawns or revives a child. Its status is not reliable: a background child is `completed` at once, a
 * failed one is `completed` up to about 1.18.18, and a killed one stays `running`. The child's own records take
 * precedence.
 */
export function readTask(key: Keys, out: FindingsOf, part: Part, tool: ToolPart, session: string): void {
  const parent = asNonBlank(tool.metadata?.parentSessionId);
  // A fork copies the calls of the original session; the children stay there.
  if (parent !== null && parent !== session) return;
  // The model is still writing the call.
  if (tool.status === "pending") return;
  const [child, rule] = childOf(tool);
  // A call without an id cannot be linked to the child, but its session is known.
  if (child !== null && asNonBlank(part.json.callID) === null) addChild(key, out, part, tool, session, child, rule);
  else addSpawnCall(key, out, part, tool, session, child, rule);
  const call = key.call(session, tool.callId);
  const refusal = child === null ? refusalIn(tool.error ?? "") : null;
  if (refusal !== null) out.addAt(part.end, { type: "call-refused", call, says: refusal });
  // If no child was spawned, only the call can report the end.
  else readEnd(out, part, tool, child === null ? { call } : key.session(child));
}

const taskIn = ({ input: value }: ToolPart) => {
  const input = asObject(value) ?? {};
  return {
    prompt: asText(input.prompt),
    agentType: asNonBlank(input.subagent_type),
    description: asNonBlank(input.description),
  };
};

function addChild(
  key: Keys,
  out: FindingsOf,
  { start }: Part,
  tool: ToolPart,
  session: string,
  child: string,
  rule: string,
) {
  const { prompt, agentType, description } = taskIn(tool);
  const agent = key.session(child);
  out.addAt(start, {
    type: "agent-described",
    agent,
    ...(prompt === null ? {} : { prompt }),
    ...(agentType === null ? {} : { agentType }),
    ...(description === null ? {} : { description }),
  });
  out.addAt(start, {
    type: "parent-named",
    child: agent,
    parent: key.session(session),
    rule,
    source: "parent_rollout",
    confidence: 1,
    says: `a ${tool.tool} call of its parent names session ${child}`,
  });
}

function addSpawnCall(
  key: Keys,
  out: FindingsOf,
  { start }: Part,
  tool: ToolPart,
  session: string,
  child: string | null,
  rule: string,
) {
  const call = key.call(session, tool.callId);
  out.addAt(start, {
    type: "spawn-called",
    call,
    tool: tool.tool,
    makes: tool.tool === TASK ? "one" : "maybe",
    ...taskIn(tool),
    name: null,
    offers: [],
  });
  if (child !== null)
    out.addAt(start, {
      type: "call-spawned",
      call,
      child: key.session(child),
      rule,
      source: "parent_rollout",
      says: `the ${tool.tool} call ${tool.callId} names session ${child}`,
    });
}

function readEnd(out: FindingsOf, { end }: Part, tool: ToolPart, of: Lifecycle["of"]) {
  const state = stateOf(tool, tool.metadata?.background === true);
  if (state === null) return;
  const outcome =
    tool.error === null
      ? state === "launched"
        ? "launched it in the background"
        : `has status ${tool.status}`
      : `failed: ${firstLine(tool.error)}`;
  out.addAt(end, {
    type: "lifecycle",
    of,
    state,
    source: "parent_rollout",
    says: `its ${tool.tool} call ${outcome}`,
    result: state === "completed" ? resultIn(tool.output ?? "") : null,
    ...(state === "launched" || typeof of === "object" ? {} : { yields: true as const }),
  });
}

const NOT_STARTED =
  /^(?:Error: )?(?:Unknown agent type: |Subagent depth limit reached|Cannot resume session |The user has specified a rule which prevents)[^\n]*/;

/** Why the call spawned nothing: a person, a rule or a limit rejected it, or its type does not exist. Null for other errors. */
export function refusalIn(error: string): string | null {
  const notStarted = NOT_STARTED.exec(error)?.[0];
  if (notStarted !== undefined) return notStarted;
  const [whole, reason] =
    /^The user rejected permission to use this specific tool call(?: with the following feedback: ([\s\S]*))?/.exec(
      error,
    ) ?? [];
  return whole === undefined ? null : (asNonBlank(reason) ?? whole);
}

function stateOf(tool: ToolPart, background: boolean): LifecycleState | null {
  if (background) return "launched";
  if (!isDone(tool)) return null;
  if (tool.status === "completed") return "completed";
  return /cancell?ed|abort/i.test(tool.error ?? "") ? "shutdown" : "errored";
}

const SESSION_ID = /ses_[A-Za-z0-9]+/;

/** Since 1.0 the metadata name the child as soon as it runs; otherwise the text for the model does. */
function childOf({ tool, metadata, output, error, input }: ToolPart): [child: string | null, rule: string] {
  const named = asNonBlank(metadata?.sessionId);
  if (named !== null) return [named, "task.metadata.sessionId"];
  const inOutput = /(?:<task id="|task_id: |session_id: )(ses_[A-Za-z0-9]+)/.exec(output ?? error ?? "")?.[1];
  if (inOutput !== undefined) return [inOutput, "task output"];
  const resumed =
    tool === TASK && error === null ? SESSION_ID.exec(asText(asObject(input)?.task_id) ?? "")?.[0] : undefined;
  return [resumed ?? null, "task.task_id"];
}

export function resultIn(output: string): string | null {
  const framed = /<task_result>\n?([\s\S]*?)\n?<\/task_result>/.exec(output)?.[1];
  return asNonBlank(framed ?? output.replace(/\n*<task_metadata>[\s\S]*$/, "").replace(/^task_id: .*\n+/, ""));
}

const NOTICE =
  /<task id="(ses_[A-Za-z0-9]+)" state="(completed|error|cancelled)">\s*(?:<summary>([\s\S]*?)<\/summary>)?([\s\S]*?)<\/task>/g;
const STATES: Readonly<Record<string, LifecycleState>> = {
  completed: "completed",
  error: "errored",
  cancelled: "shutdown",
};

/** The product's notices to a session about the end of a background child. */
export function readNotices(key: Keys, out: FindingsOf, text: string): void {
  for (const [, child, state, summary, rest] of text.matchAll(NOTICE)) {
    if (child === undefined || state === undefined) continue;
    const says = `a notification to its parent reads ${JSON.stringify(firstLine(summary ?? state))}`;
    const result = state === "completed" ? resultIn(rest ?? "") : null;
    out.add({
      type: "lifecycle",
      of: key.session(child),
      state: STATES[state] ?? "completed",
      source: "parent_rollout",
      says,
      result,
      yields: true,
    });
  }
}

/** Notices as readable sentences; null for a text without one. */
export function asSentence(text: string): string | null {
  const sentences = [...text.matchAll(NOTICE)].map(([, , state = "", summary, rest = ""]) => {
    const summaryText = (summary ?? `Background task ${state}`)
      .trim()
      .replace(/^Background task (\w+): ([\s\S]+)$/, "$2 $1");
    const result = resultIn(rest);
    return result === null
      ? summaryText
      : `${summaryText}: ${result.length > 600 ? `${result.slice(0, 600).toWellFormed()}…` : result}`;
  });
  return sentences.length === 0 ? null : sentences.join("\n");
}

const firstLine = (text: string) => {
  const [line = ""] = text.split("\n");
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
};
