import type { AgentKey, RecordKey } from "../../../core/facts/ids.ts";
import type { RecordRead, RecordState, ToolCalled, ToolResult } from "../../../core/facts/observation.ts";
import { totalTokens } from "../../../core/facts/usage.ts";
import type { FindingsOf } from "../../../core/ports/findings.ts";
import { asAmount, asNonBlank, asNumber, asObject, asText, type JsonObject } from "../../../core/tools/json.ts";
import { commandIn, ShellCalls } from "../launch/shell-calls.ts";
import { statePlan } from "../plan.ts";
import { RECORD } from "../record.ts";
import type { Keys } from "./keys.ts";
import {
  errorText,
  isAbort,
  isDone,
  isSynthetic,
  type Message,
  type Part,
  type ToolPart,
  textIn,
  toolOf,
} from "./shapes.ts";
import { isSpawn, readNotices, readTask, TASK } from "./task.ts";
import { tokensOf } from "./tokens.ts";

/** A summary that the product requests to compact a conversation. A failed one counts as a message of the session. */
export const isCompaction = ({ role, info }: Message) =>
  role === "assistant" && (info.summary === true || info.mode === "compaction") && asObject(info.error) === null;

/** The session's agent, or the pseudo-agent of internal work in it. */
export const speakerOf = (key: Keys, message: Message): AgentKey =>
  isCompaction(message) ? key.agent(message.session, "compaction") : key.session(message.session);

/**
 * A fork copies messages with new ids but the same times, and its session does not name the original. So a message is
 * identified by what copies have in common.
 */
export function copyKey(key: Keys, { role, info, created, completed, parts }: Message): RecordKey {
  const tokens = asObject(info.tokens);
  const model = asText(info.modelID) ?? asText(asObject(info.model)?.modelID) ?? "";
  const content =
    role === "user"
      ? parts.map(textIn).join("").slice(0, 64)
      : `${asNumber(tokens?.input) ?? ""} ${asNumber(tokens?.output) ?? ""}`;
  return key.record([created, completed, role, asText(info.agent) ?? "", model, content].join(" "));
}

/** The key of a response: a message contains one for each step. */
export const responseOf = (key: Keys, message: Message, step = 0) => key.record(`${message.id} ${step}`);

export function readMessage(key: Keys, out: FindingsOf, message: Message): void {
  if (message.role === "user") readUser(key, out, message);
  else if (message.role === "assistant") readAssistant(key, out, message);
  else out.problem("record-unknown", `a message of the role ${message.role}`);
  for (const part of message.parts)
    if (!KNOWN_PARTS.has(part.type)) out.problem("record-unknown", `a part of the type ${part.type}`);
}

const KNOWN_PARTS = new Set(
  "text reasoning tool step-start step-finish subtask agent file patch snapshot retry compaction oversized".split(" "),
);

function readUser(key: Keys, out: FindingsOf, message: Message) {
  const agent = key.session(message.session);
  const texts = message.parts.filter((part) => part.type === "text");
  for (const part of texts.filter(isSynthetic)) readNotices(key, out, textIn(part));
  const subtasks = message.parts
    .filter((part) => part.type === "subtask")
    .map((part) => asText(part.json.prompt) ?? "");
  const prompt = [...texts.filter((part) => !isSynthetic(part)).map(textIn), ...subtasks].join("\n");
  const type = asNonBlank(message.info.agent);
  const denied = Object.entries(asObject(message.info.tools) ?? {}).flatMap(([name, on]) =>
    on === false ? [name] : [],
  );
  out.add({
    type: "agent-described",
    agent,
    ...(prompt.trim() === "" ? {} : { prompt }),
    ...(type === null ? {} : { agentType: type }),
    ...(denied.length === 0 ? {} : { tools: { allowed: null, denied } }),
  });
  // A request to compact is not a prompt.
  const state = message.parts.some((part) => part.type === "compaction") ? null : "open";
  out.add({ ...RECORD, role: "user", state, message: prompt.trim() !== "" });
}

function readAssistant(key: Keys, out: FindingsOf, message: Message) {
  const tools = message.parts.flatMap((part) => {
    const tool = toolOf(part);
    return tool === null ? [] : [{ part, tool }];
  });
  const state = stateOf(
    message,
    tools.map(({ tool }) => tool),
  );
  const compacts = isCompaction(message);
  if (compacts)
    out.add({
      type: "agent-described",
      agent: speakerOf(key, message),
      internal: { why: "it compacts the conversation", unlessSpawned: false },
    });
  const text = message.parts
    .filter((part) => part.type === "text" && !isSynthetic(part))
    .map(textIn)
    .join("\n");
  const record: RecordRead = {
    ...RECORD,
    role: "assistant",
    state: "open",
    calls: tools.map(({ part, tool }) => calledIn(key, part, tool, message.session)),
    results: tools.flatMap(({ part, tool }) => resultsIn(key, part, tool, message.session)),
    message: true,
  };
  out.add(record);
  out.addAt(lastTime(message), {
    ...record,
    ...state,
    text: text.trim() === "" || state.state !== "answered" ? null : text,
  });
  for (const call of modelCalls(key, message)) out.add(call);
  for (const { part, tool } of tools) {
    statePlan(out.part({ at: part.start ?? message.created }), tool.input);
    if (isSpawn(tool)) readTask(key, out, part, tool, message.session);
    readShell(key, out, part, tool, message);
  }
}

/** A shell command that starts an agent: the call and its result are in one part. */
function readShell(key: Keys, out: FindingsOf, { start, end }: Part, tool: ToolPart, message: Message) {
  if (tool.tool !== SHELL) return;
  const shell = new ShellCalls();
  const call = key.call(message.session, tool.callId);
  const cwd = asNonBlank(asObject(tool.input)?.workdir) ?? asNonBlank(asObject(message.info.path)?.cwd);
  shell.called(out, call, commandIn(tool.input, "command"), cwd, start ?? message.created);
  if (isDone(tool)) shell.returned(out, call, { text: tool.error ?? tool.output ?? "", at: end });
}

export const SHELL = "bash";

function calledIn(key: Keys, { start }: Part, tool: ToolPart, session: string): ToolCalled {
  return {
    call: key.call(session, tool.callId),
    name: tool.tool,
    ...waitsFor(tool),
    ...(start === null ? {} : { at: start }),
  };
}

function resultsIn(key: Keys, { end }: Part, tool: ToolPart, session: string): ToolResult[] {
  return isDone(tool)
    ? [{ call: key.call(session, tool.callId), isError: tool.status === "error", ...(end === null ? {} : { at: end }) }]
    : [];
}

const later = (a: number | null, b: number | null) => (a === null ? b : b === null ? a : Math.max(a, b));

/** The last time in the message: tools may run for hours. */
function lastTime({ created, completed, parts }: Message): number | null {
  let last = later(created, completed);
  for (const { start, end } of parts) last = later(later(last, start), end);
  return last;
}

/**
 * `question` waits for the user. Whether another running tool waits for a permission is not recorded; only the server
 * reports it.
 */
const waitsFor = ({ tool, status }: ToolPart): { readonly waitsFor?: string } =>
  tool === "question" && status === "running" ? { waitsFor: "answer" } : {};

function stateOf(
  { info, completed }: Message,
  tools: readonly ToolPart[],
): { readonly state: RecordState; readonly certain: boolean; readonly error?: string } {
  const error = asObject(info.error);
  if (error !== null) return { ...stateAfter(error), certain: true };
  const finish = asNonBlank(info.finish);
  if (completed === null || finish === "tool-calls" || tools.some((tool) => !isDone(tool)))
    return { state: "open", certain: true };
  // Before about 1.0.100 there is no finish reason.
  if (finish === null) return { state: tools.length > 0 ? "open" : "answered", certain: false };
  return { state: "answered", certain: true };
}

export const stateAfter = (error: JsonObject): { readonly state: RecordState; readonly error: string } => ({
  state: isAbort(error) ? "interrupted" : "failed",
  // The first line; some have a stack trace.
  error: errorText(error).split("\n")[0] ?? "",
});

/** Every finished step is one model response; usually a message has one. */
function* modelCalls(key: Keys, message: Message) {
  const model = asText(message.info.modelID) ?? "";
  const chars = message.parts
    .filter((part) => part.type === "text" || part.type === "reasoning")
    .reduce((sum, part) => sum + textIn(part).length, 0);
  const steps = message.parts.filter((part) => part.type === "step-finish").map((part) => part.json);
  const sources = steps.length > 0 ? steps : [message.info];
  const spawns = message.parts.some((part) => part.json.tool === TASK);
  for (const [step, source] of sources.entries()) {
    const tokens = tokensOf(source.tokens);
    // The message of a subtask contains no response, nor does a failed one.
    if (steps.length === 0 && totalTokens(tokens) === 0) continue;
    // 0 if the price is unknown. Kilo adds the cost of children to that of the message whose call spawned them.
    const costUsd = (steps.length > 0 || !spawns ? asAmount(source.cost) : 0) || null;
    const call = {
      type: "model-call",
      response: responseOf(key, message, step),
      model,
      tokens,
      chars: step === 0 ? chars : 0,
      ended: true,
    } as const;
    yield costUsd === null ? call : { ...call, costUsd };
  }
}

/** Reads a part without its message, as in the JSON storage. */
export function readLonePart(
  key: Keys,
  out: FindingsOf,
  part: Part,
  session: string,
  by: "model" | "anyone" = "anyone",
): void {
  const tool = toolOf(part);
  const agent = key.session(session);
  if (tool !== null) {
    const [calls, results] = [[calledIn(key, part, tool, session)], resultsIn(key, part, tool, session)];
    out.addAt(part.end ?? part.start, { ...RECORD, role: "assistant", calls, results });
    if (isSpawn(tool)) readTask(key, out, part, tool, session);
    return;
  }
  if (part.type !== "text") return;
  const text = textIn(part);
  // Only parts of a model have times.
  if (part.start !== null || by === "model")
    out.add({ ...RECORD, role: "assistant", text: text.trim() === "" ? null : text });
  else if (isSynthetic(part)) readNotices(key, out, text);
  else if (text.trim() !== "") out.add({ type: "agent-described", agent, prompt: text });
}

/** Identifies a part in a file, a database or a copy. User texts have no times, so they are identified by id. */
export const partKey = (key: Keys, part: Part) =>
  part.start === null ? key.record(`part ${part.id}`) : partCopyKey(key, part);

/** Copies of a part have the same times and texts. A tool call keeps its key from start to end. */
export const partCopyKey = (key: Keys, part: Part) => {
  const tool = toolOf(part);
  return key.record(
    (tool === null
      ? [part.type, part.start, part.end, textIn(part).slice(0, 64)]
      : [part.type, part.start, tool.callId]
    ).join(" "),
  );
};
