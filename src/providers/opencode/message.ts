import type { FindingsOf } from "../../core/findings.ts";
import { type AgentKey, agentKey, type RecordKey } from "../../core/ids.ts";
import { asAmount, asNumber, asObject, asText, asWords, type JsonObject } from "../../core/json.ts";
import type { RecordRead, Stand, ToolAnswered, ToolCalled } from "../../core/observation.ts";
import * as key from "./keys.ts";
import { errorText, isAbort, isDone, isSynthetic, type Message, type Part, type ToolPart, textIn, toolOf } from "./shapes.ts";
import { isSpawn, readNotices, readTask } from "./task.ts";
import { isAnything, tokensOf } from "./tokens.ts";

/** Written while the product shortens a conversation on its own behalf. Where that fails, the session itself is stuck. */
export const isCompaction = ({ role, info }: Message) =>
  role === "assistant" && (info.summary === true || info.mode === "compaction") && asObject(info.error) === null;

/** Whose message it is: the session's, or the product's own in it. */
export const speakerOf = (message: Message): AgentKey =>
  isCompaction(message) ? agentKey(key.NAME, message.session, "compaction") : key.session(message.session);

/**
 * A fork copies messages and gives them ids of their own, but keeps their times. So a message is known by what copies have in common.
 * Nothing else tells a copy: the fork's session names nobody.
 */
export function copyKey({ role, info, created, completed, parts }: Message): RecordKey {
  const tokens = asObject(info.tokens);
  const model = asText(info.modelID) ?? asText(asObject(info.model)?.modelID) ?? "";
  const words = role === "user" ? parts.map(textIn).join("").slice(0, 64) : `${asNumber(tokens?.input) ?? ""} ${asNumber(tokens?.output) ?? ""}`;
  return key.record([created, completed, role, asText(info.agent) ?? "", model, words].join(" "));
}

/** The id of the response that a message holds, for whoever shows its tokens. */
export const responseOf = (message: Message, step = 0) => key.record(`${message.id} ${step}`);

export function readMessage(out: FindingsOf, message: Message): void {
  if (message.role === "user") readUser(out, message);
  else if (message.role === "assistant") readAssistant(out, message);
  else out.problem("record-unknown", `a message of the role ${message.role}`);
  for (const part of message.parts) if (!KNOWN_PARTS.has(part.type)) out.problem("record-unknown", `a part of the type ${part.type}`);
}

const KNOWN_PARTS = new Set("text reasoning tool step-start step-finish subtask agent file patch snapshot retry compaction oversized".split(" "));

function readUser(out: FindingsOf, message: Message) {
  const agent = key.session(message.session);
  const texts = message.parts.filter((part) => part.type === "text");
  for (const part of texts.filter(isSynthetic)) readNotices(out, textIn(part));
  const asked = message.parts.filter((part) => part.type === "subtask").map((part) => asText(part.json.prompt) ?? "");
  const prompt = [...texts.filter((part) => !isSynthetic(part)).map(textIn), ...asked].join("\n");
  const type = asWords(message.info.agent);
  const denied = Object.entries(asObject(message.info.tools) ?? {}).flatMap(([name, on]) => (on === false ? [name] : []));
  out.add({
    type: "agent-described",
    agent,
    ...(prompt.trim() === "" ? {} : { prompt }),
    ...(type === null ? {} : { agentType: type }),
    ...(denied.length === 0 ? {} : { tools: { allowed: null, denied } }),
  });
  // A request to shorten the conversation asks the agent for nothing.
  const stands = message.parts.some((part) => part.type === "compaction") ? null : "open";
  out.add({ type: "record", role: "user", stands, certain: true, calls: [], results: [], text: null, message: prompt.trim() !== "" });
}

function readAssistant(out: FindingsOf, message: Message) {
  const tools = message.parts.flatMap((part) => (toolOf(part) === null ? [] : [{ part, tool: toolOf(part) as ToolPart }]));
  const stand = standOf(
    message,
    tools.map(({ tool }) => tool),
  );
  const compacts = isCompaction(message);
  if (compacts) out.add({ type: "agent-described", agent: speakerOf(message), internal: { why: "it shortens the conversation", unlessSpawned: false } });
  const said = message.parts
    .filter((part) => part.type === "text" && !isSynthetic(part))
    .map(textIn)
    .join("\n");
  const record: RecordRead = {
    type: "record",
    role: "assistant",
    stands: "open",
    certain: true,
    calls: tools.map(({ part, tool }) => calledIn(part, tool, message.session)),
    results: tools.flatMap(({ part, tool }) => answeredIn(part, tool, message.session)),
    text: null,
    message: true,
  };
  out.add(record);
  out.addAt(lastTime(message), { ...record, ...stand, text: said.trim() === "" || stand.stands !== "answered" ? null : said });
  for (const call of modelCalls(message)) out.add(call);
  for (const { part, tool } of tools) {
    out.part({ at: part.start ?? message.created }).planned(tool.input);
    if (isSpawn(tool)) readTask(out, part, tool, message.session);
  }
}

function calledIn({ start }: Part, tool: ToolPart, session: string): ToolCalled {
  return { call: key.call(session, tool.callId), name: tool.tool, ...waitsFor(tool), ...(start === null ? {} : { at: start }) };
}

function answeredIn({ end }: Part, tool: ToolPart, session: string): ToolAnswered[] {
  return isDone(tool) ? [{ call: key.call(session, tool.callId), isError: tool.status === "error", ...(end === null ? {} : { at: end }) }] : [];
}

/** When anything of it was last written: tools may run for hours. */
function lastTime({ created, completed, parts }: Message): number | null {
  const times = [created, completed, ...parts.flatMap((part) => [part.start, part.end])].flatMap((time) => time ?? []);
  return times.length === 0 ? null : Math.max(...times);
}

/** `question` does nothing but ask a person. Whether any other running tool waits for a permission is not recorded; only the server's requests tell. */
const waitsFor = ({ tool, status }: ToolPart): { readonly waitsFor?: string } => (tool === "question" && status === "running" ? { waitsFor: "answer" } : {});

function standOf({ info, completed }: Message, tools: readonly ToolPart[]): { readonly stands: Stand; readonly certain: boolean; readonly error?: string } {
  const error = asObject(info.error);
  if (error !== null) return { ...standAfter(error), certain: true };
  const finish = asWords(info.finish);
  if (completed === null || finish === "tool-calls" || tools.some((tool) => !isDone(tool))) return { stands: "open", certain: true };
  // Before 1.0.100 or so nothing says why an answer ended.
  if (finish === null) return { stands: tools.length > 0 ? "open" : "answered", certain: false };
  return { stands: "answered", certain: true };
}

export const standAfter = (error: JsonObject): { readonly stands: Stand; readonly error: string } => ({
  stands: isAbort(error) ? "interrupted" : "failed",
  // Some come with a stack trace.
  error: errorText(error).split("\n")[0] ?? "",
});

/** Every step that came to its end is one answer of a model; a message has one as a rule. */
function* modelCalls(message: Message) {
  const model = asText(message.info.modelID) ?? "";
  const chars = message.parts.filter((part) => part.type === "text" || part.type === "reasoning").reduce((sum, part) => sum + textIn(part).length, 0);
  const steps = message.parts.filter((part) => part.type === "step-finish").map((part) => part.json);
  const sources = steps.length > 0 ? steps : [message.info];
  for (const [step, source] of sources.entries()) {
    const tokens = tokensOf(source.tokens);
    // A subtask's message answers no model's call, and a failed one got no answer.
    if (steps.length === 0 && !isAnything(tokens)) continue;
    // It writes 0 where it knows no price.
    const costUsd = asAmount(source.cost) || null;
    const call = { type: "model-call", response: responseOf(message, step), model, tokens, chars: step === 0 ? chars : 0, ended: true } as const;
    yield costUsd === null ? call : { ...call, costUsd };
  }
}

/** A part that stands alone, as the JSON storage keeps it: whose message it belongs to is said elsewhere. */
export function readLonePart(out: FindingsOf, part: Part, session: string, by: "model" | "anyone" = "anyone"): void {
  const tool = toolOf(part);
  const agent = key.session(session);
  if (tool !== null) {
    const [calls, results] = [[calledIn(part, tool, session)], answeredIn(part, tool, session)];
    out.addAt(part.end ?? part.start, { type: "record", role: "assistant", stands: null, certain: true, calls, results, text: null, message: false });
    if (isSpawn(tool)) readTask(out, part, tool, session);
    return;
  }
  if (part.type !== "text") return;
  const text = textIn(part);
  // Only what a model says has times.
  if (part.start !== null || by === "model")
    out.add({ type: "record", role: "assistant", stands: null, certain: true, calls: [], results: [], text: text.trim() === "" ? null : text, message: false });
  else if (isSynthetic(part)) readNotices(out, text);
  else if (text.trim() !== "") out.add({ type: "agent-described", agent, prompt: text });
}

/** What a part is known by wherever it stands: in a file of its own, in a database, in a copy. Words of users have no times, so that only their id tells them apart. */
export const partKey = (part: Part) => (part.start === null ? key.record(`part ${part.id}`) : partCopyKey(part));

/** Copies of a part have the same times and the same words. A tool is the same one from its beginning to its end. */
export const partCopyKey = (part: Part) => {
  const tool = toolOf(part);
  return key.record((tool === null ? [part.type, part.start, part.end, textIn(part).slice(0, 64)] : [part.type, part.start, tool.callId]).join(" "));
};
