import type { FindingsOf } from "../../core/ports/findings.ts";
import { asNonBlank, asText, type JsonObject } from "../../core/tools/json.ts";
import { addSpawnResult } from "../kit/spawn-result.ts";
import { firstLine } from "../kit/text.ts";
import * as key from "./keys.ts";

/** The spawn tool. */
export const TASK = "Task";

/** Set for a call that resumes a child instead of spawning one. */
export const resumedIn = (input: JsonObject) => asNonBlank(input.resume);

export function readTask(out: FindingsOf, session: string, id: string, input: JsonObject): void {
  const resumed = resumedIn(input);
  if (resumed !== null) {
    const agent = key.session(resumed);
    const says = `its parent resumed it with call ${id}`;
    out.add({ type: "lifecycle", of: agent, state: "revived", source: "parent_rollout", says, result: null });
    out.add({ type: "message-sent", to: agent });
    return;
  }
  out.add({
    type: "spawn-called",
    call: key.call(session, id),
    tool: TASK,
    makes: "one",
    prompt: asText(input.prompt),
    agentType: asNonBlank(input.subagent_type),
    description: asNonBlank(input.description),
    name: null,
    offers: [],
  });
}

const CHILD = /^session_id: ([0-9a-f-]{36})\b/m;
const LAUNCHED = /^Task launched in background\b/;
const REFUSED =
  /^(?:Error: )?(?:Tool \S+ is registered but is not available|Tool \S+ not found|Unknown tool|Droid configuration not found|Task depth limit|Task concurrency limit|Nested Task delegation)/i;

/** The result of a call that spawned a child. */
export function readTaskResult(out: FindingsOf, session: string, id: string, text: string, isError: boolean): void {
  const call = key.call(session, id);
  if (isError && REFUSED.test(text)) {
    out.add({ type: "call-refused", call, says: text });
    return;
  }
  const child = CHILD.exec(text)?.[1];
  addSpawnResult(out, {
    call,
    id,
    child: child === undefined ? null : { key: key.session(child), id: child },
    rule: "Task result",
    isLaunched: !isError && LAUNCHED.test(text),
    failure: isError ? firstLine(text) : null,
    result: null,
  });
}

const NOTICE = /^Background task (completed|error|\w+)\.\ntask_id: ([0-9a-f-]{36})\n/;
const field = (text: string, name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(text)?.[1] ?? null;

/** Reads a notice to the session about the end of a child in the background; false if the text is not one. */
export function readNotice(out: FindingsOf, text: string): boolean {
  const [, how, child] = NOTICE.exec(text) ?? [];
  if (how === undefined || child === undefined) return false;
  const reason = field(text, "reason") ?? how;
  const state = how === "completed" ? "completed" : stateOf(reason) === "interrupted" ? "shutdown" : "errored";
  out.add({ type: "agent-described", agent: key.session(child), background: true });
  out.add({
    type: "lifecycle",
    of: key.session(child),
    state,
    source: "parent_rollout",
    says: `a notification to its parent reports ${how}: ${firstLine(reason)}`,
    result: null,
    yields: true,
  });
  return true;
}

/** The product's names for the outcomes of a turn. */
export const stateOf = (reason: string) =>
  reason === "completed"
    ? ("answered" as const)
    : /interrupt|cancel|abort|stopp|kill|process_exit|permission_rejected/.test(reason)
      ? ("interrupted" as const)
      : ("failed" as const);

/** A notice as a readable sentence; null for other texts. */
export function asSentence(text: string): string | null {
  const how = NOTICE.exec(text)?.[1];
  if (how === undefined) return null;
  const [description, output] = [field(text, "description"), field(text, "failure") ?? field(text, "output")];
  return `${description ?? "A background task"}: ${how}${output === null ? "" : `: ${output}`}`;
}

const BEGIN = "---BEGIN TASK FROM PARENT AGENT---";
const END = "---END TASK FROM PARENT AGENT---";

/** The task in the first prompt of a child, which the product wraps; null for other texts. */
export function taskIn(
  text: string,
): { readonly prompt: string; readonly type: string | null; readonly description: string | null } | null {
  const begin = text.indexOf(BEGIN);
  if (begin < 0) return null;
  const end = text.lastIndexOf(END);
  const prompt = text.slice(begin + BEGIN.length, end > begin ? end : undefined).trim();
  const head = text.slice(0, begin);
  return { prompt, type: field(head, "Subagent type"), description: field(head, "Task description") };
}
