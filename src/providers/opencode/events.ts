import type { EventDraft } from "../../core/event.ts";
import type { RecordKey } from "../../core/ids.ts";
import { asList, asNumber, asObject, asText, asWords } from "../../core/json.ts";
import * as key from "./keys.ts";
import { copyKey, isCompaction, partKey, responseOf } from "./message.ts";
import { errorText, isDone, isSynthetic, type Message, type Part, textIn, toolOf } from "./shapes.ts";

type Said = Pick<EventDraft, "kind" | "text" | "at"> & Partial<EventDraft>;

/** A message as people want to read it. What is still being written is left out until it is whole: each event is told once. */
export function eventsOf(message: Message): EventDraft[] {
  // The record of a summary is the product's own, but people read it where it stands.
  const keys = isCompaction(message) ? [] : [copyKey(message)];
  const speaker = key.session(message.session);
  const response = message.role === "assistant" ? responseOf(message) : null;
  const whole = (said: Said): EventDraft => ({ speaker, keys, tool: null, response, ...said });
  const of = (part: Part) => (said: Said) => whole({ ...said, keys: [saidKey(part, said), ...keys] });
  const { created } = message;
  const drafts = message.parts.flatMap((part) => (message.role === "user" ? askedIn(part, created) : doneIn(part, message)).map(of(part)));
  const error = asObject(message.info.error);
  if (error === null) return drafts;
  return [...drafts, whole({ kind: "error", text: errorText(error), at: message.completed ?? created, name: "error", keys: [errorKey(message.id), ...keys] })];
}

/** The failure of a message, which the server reports a second time as the failure of its session. */
export const errorKey = (message: string): RecordKey => key.record(`error ${message}`);

/** What a call gave may be known from elsewhere than that it was made. */
const saidKey = (part: Part, { kind }: Said): RecordKey => (kind === "toolResult" ? key.record(`result of ${partKey(part)}`) : partKey(part));

/** A part that stands alone: only what a model says has times. */
export function eventsOfPart(part: Part, session: string, response: RecordKey, by: "model" | "anyone" = "anyone"): EventDraft[] {
  const speaker = key.session(session);
  const isAsked = part.start === null && by === "anyone";
  const said = isAsked ? askedIn(part, null) : doneIn(part, null, session);
  return said.map((one) => ({ speaker, keys: [saidKey(part, one)], tool: null, response: isAsked ? null : response, ...one }));
}

function askedIn(part: Part, at: number | null): Said[] {
  const { id, type, json } = part;
  const one = (kind: Said["kind"], text: string): Said[] => (text.trim() === "" ? [] : [{ kind, text, at, name: id }]);
  switch (type) {
    case "text":
      return one(isSynthetic(part) ? "note" : "user", textIn(part));
    case "subtask":
      return one("user", `${asWords(json.command) === null ? "" : `/${json.command} `}@${asText(json.agent) ?? "agent"}: ${asText(json.prompt) ?? ""}`);
    case "file":
      return one("note", `attached ${asWords(json.filename) ?? asWords(json.mime) ?? "a file"}`);
    case "compaction":
      return one("compaction", json.auto === true ? "the conversation is shortened, since it is too long" : "the conversation is shortened");
    default:
      return [];
  }
}

function doneIn(part: Part, message: Message | null, session = message?.session ?? ""): Said[] {
  const at = part.start ?? message?.created ?? null;
  const isOver = part.end !== null || message === null || message.completed !== null;
  const text = textIn(part);
  const tool = toolOf(part);
  if (tool !== null) {
    const call = key.call(session, tool.callId);
    const asks: Said = { kind: "toolCall", text: null, at, name: part.id, tool: { name: tool.tool, call, input: tool.input, isError: false } };
    const answer: Said = {
      kind: "toolResult",
      text: tool.error ?? tool.output,
      at: part.end ?? at,
      name: `${part.id} result`,
      tool: { name: tool.tool, call, input: null, isError: tool.status === "error" },
    };
    return tool.status === "pending" ? [] : isDone(tool) ? [asks, answer] : [asks];
  }
  if (text.trim() !== "" && isOver && part.type === "text")
    return [{ kind: message !== null && isCompaction(message) ? "compaction" : "assistant", text, at, name: part.id }];
  if (text.trim() !== "" && isOver && part.type === "reasoning") return [{ kind: "reasoning", text, at, name: part.id }];
  if (part.type === "retry") {
    const why = asWords(asObject(asObject(part.json.error)?.data)?.message) ?? "the model did not answer";
    return [{ kind: "error", text: `${why} (attempt ${asNumber(part.json.attempt) ?? 1}, tried again)`, at, name: part.id }];
  }
  if (part.type === "patch") return [{ kind: "note", text: `changed ${asList(part.json.files).length} files`, at, name: part.id }];
  return [];
}
