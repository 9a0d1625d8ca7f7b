import type { FindingsOf } from "../../core/findings.ts";
import { asObject, asText, asWords } from "../../core/json.ts";
import type { LifecycleState } from "../../core/observation.ts";
import * as key from "./keys.ts";
import { isDone, type Part, type ToolPart } from "./shapes.ts";

/** The one tool that makes agents; plugins bring others, known by the session they name. */
export const TASK = "task";

export function isSpawn(tool: ToolPart): boolean {
  return tool.tool === TASK || (tool.metadata !== null && key.isSessionId(asText(tool.metadata.sessionId) ?? ""));
}

/**
 * A call that makes a child or sets one to work again. What it says of the child's end is not to be trusted: a child in the background is `completed` at once,
 * a failed one is `completed` up to 1.18.18 or so, and a killed one is `running` for ever. So the child's own records come first.
 */
export function readTask(out: FindingsOf, part: Part, tool: ToolPart, session: string): void {
  const metadata = tool.metadata ?? {};
  const parent = asWords(metadata.parentSessionId);
  // A fork copies the calls of the session it began as; the children stay where they are.
  if (parent !== null && parent !== session) return;
  // The model is still writing it.
  if (tool.status === "pending") return;
  const input = asObject(tool.input) ?? {};
  const call = key.call(session, tool.callId);
  const [child, rule] = childOf(tool);
  const [prompt, agentType, description] = [asText(input.prompt), asWords(input.subagent_type), asWords(input.description)];
  if (child !== null && asWords(part.json.callID) === null) {
    // A call without an id cannot be named as what made the child; whose call it was is known all the same.
    const agent = key.session(child);
    const asked = { ...(prompt === null ? {} : { prompt }), ...(agentType === null ? {} : { agentType }), ...(description === null ? {} : { description }) };
    const says = `a ${tool.tool} call of its parent names session ${child}`;
    out.addAt(part.start, { type: "agent-described", agent, ...asked });
    out.addAt(part.start, { type: "parent-named", child: agent, parent: key.session(session), rule, source: "parent_rollout", confidence: 1, says });
  } else {
    const makes = tool.tool === TASK ? "one" : "maybe";
    out.addAt(part.start, { type: "spawn-called", call, tool: tool.tool, makes, prompt, agentType, description, name: null, offers: [] });
  }
  if (child !== null && asWords(part.json.callID) !== null) {
    const says = `the ${tool.tool} call ${tool.callId} names session ${child}`;
    out.addAt(part.start, { type: "call-spawned", call, child: key.session(child), rule, source: "parent_rollout", says });
  }
  // Where no child was made, no records of its own can say otherwise.
  const of = child === null ? { call } : key.session(child);
  const state = stateOf(tool, metadata.background === true);
  if (state === null) return;
  const words = tool.error === null ? `says ${state === "launched" ? "it was launched in the background" : tool.status}` : `failed: ${firstLine(tool.error)}`;
  const says = `its ${tool.tool} call ${words}`;
  const result = state === "completed" ? resultIn(tool.output ?? "") : null;
  out.addAt(part.end, {
    type: "lifecycle",
    of,
    state,
    source: "parent_rollout",
    says,
    result,
    ...(state === "launched" || child === null ? {} : { yields: true }),
  });
}

function stateOf(tool: ToolPart, background: boolean): LifecycleState | null {
  if (background) return "launched";
  if (!isDone(tool)) return null;
  if (tool.status === "completed") return "completed";
  return /cancell?ed|abort/i.test(tool.error ?? "") ? "shutdown" : "errored";
}

const SESSION_ID = /ses_[A-Za-z0-9]+/;

/** Since 1.0 the metadata name the child as soon as it runs; where they are lost, the text for the model does. */
function childOf({ tool, metadata, output, error, input }: ToolPart): [child: string | null, rule: string] {
  const named = asWords(metadata?.sessionId);
  if (named !== null) return [named, "task.metadata.sessionId"];
  const told = /(?:<task id="|task_id: |session_id: )(ses_[A-Za-z0-9]+)/.exec(output ?? error ?? "")?.[1];
  if (told !== undefined) return [told, "task output"];
  const resumed = tool === TASK && error === null ? SESSION_ID.exec(asText(asObject(input)?.task_id) ?? "")?.[0] : undefined;
  return [resumed ?? null, "task.task_id"];
}

export function resultIn(output: string): string | null {
  const framed = /<task_result>\n?([\s\S]*?)\n?<\/task_result>/.exec(output)?.[1];
  return asWords(framed ?? output.replace(/\n*<task_metadata>[\s\S]*$/, "").replace(/^task_id: .*\n+/, ""));
}

const NOTICE = /<task id="(ses_[A-Za-z0-9]+)" state="(completed|error|cancelled)">\s*(?:<summary>([\s\S]*?)<\/summary>)?([\s\S]*?)<\/task>/g;
const STATES: Readonly<Record<string, LifecycleState>> = { completed: "completed", error: "errored", cancelled: "shutdown" };

/** The product tells a session so that a child it left in the background has ended. */
export function readNotices(out: FindingsOf, text: string): void {
  for (const [, child, state, summary, rest] of text.matchAll(NOTICE)) {
    if (child === undefined || state === undefined) continue;
    const says = `a notice to its parent says ${JSON.stringify(firstLine(summary ?? state))}`;
    const result = state === "completed" ? resultIn(rest ?? "") : null;
    out.add({ type: "lifecycle", of: key.session(child), state: STATES[state] ?? "completed", source: "parent_rollout", says, result, yields: true });
  }
}

/** Such notices as sentences for people; null for a text without one. */
export function inWords(text: string): string | null {
  const sentences = [...text.matchAll(NOTICE)].map(([, , state = "", summary, rest = ""]) => {
    const said = (summary ?? `Background task ${state}`).trim().replace(/^Background task (\w+): ([\s\S]+)$/, "$2 $1");
    const result = resultIn(rest);
    return result === null ? said : `${said}: ${result.length > 600 ? `${result.slice(0, 600).toWellFormed()}…` : result}`;
  });
  return sentences.length === 0 ? null : sentences.join("\n");
}

const firstLine = (text: string) => {
  const [line = ""] = text.split("\n");
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
};
