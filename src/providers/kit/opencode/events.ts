import type { RecordKey } from "../../../core/facts/ids.ts";
import { asList, asNonBlank, asNumber, asObject, asText } from "../../../core/tools/json.ts";
import type { EventDraft } from "../../../core/views/event.ts";
import type { Keys } from "./keys.ts";
import { copyKey, isCompaction, partKey, responseOf } from "./message.ts";
import { errorText, isDone, isSynthetic, type Message, type Part, textIn, toolOf } from "./shapes.ts";

type Draft = Pick<EventDraft, "kind" | "text" | "at"> & Partial<EventDraft>;

/** The events of a message. Incomplete parts are omitted until they are complete: each event is returned once. */
export function eventsOf(key: Keys, message: Message): EventDraft[] {
  // The record of a summary is internal, but it is shown in the conversation.
  const keys = isCompaction(message) ? [] : [copyKey(key, message)];
  const speaker = key.session(message.session);
  const response = message.role === "assistant" ? responseOf(key, message) : null;
  const event = (draft: Draft): EventDraft => ({ speaker, keys, tool: null, response, ...draft });
  const of = (part: Part) => (draft: Draft) => event({ ...draft, keys: [eventKey(key, part, draft), ...keys] });
  const { created } = message;
  const drafts = message.parts.flatMap((part) =>
    (message.role === "user" ? promptEvents(part, created) : responseEvents(key, part, message)).map(of(part)),
  );
  const error = asObject(message.info.error);
  if (error === null) return drafts;
  return [
    ...drafts,
    event({
      kind: "error",
      text: errorText(error),
      at: message.completed ?? created,
      name: "error",
      keys: [errorKey(key, message.id), ...keys],
    }),
  ];
}

/** The failure of a message, which the server reports again as the failure of its session. */
export const errorKey = (key: Keys, message: string): RecordKey => key.record(`error ${message}`);

/** The result of a call may be reported by another source than the call. */
const eventKey = (key: Keys, part: Part, { kind }: Draft): RecordKey =>
  kind === "toolResult" ? key.record(`result of ${partKey(key, part)}`) : partKey(key, part);

/** A part without its message; only parts of a model have times. */
export function eventsOfPart(
  key: Keys,
  part: Part,
  session: string,
  response: RecordKey,
  by: "model" | "anyone" = "anyone",
): EventDraft[] {
  const speaker = key.session(session);
  const isPrompt = part.start === null && by === "anyone";
  const draft = isPrompt ? promptEvents(part, null) : responseEvents(key, part, null, session);
  return draft.map((one) => ({
    speaker,
    keys: [eventKey(key, part, one)],
    tool: null,
    response: isPrompt ? null : response,
    ...one,
  }));
}

function promptEvents(part: Part, at: number | null): Draft[] {
  const { id, type, json } = part;
  const one = (kind: Draft["kind"], text: string): Draft[] =>
    text.trim() === "" ? [] : [{ kind, text, at, name: id }];
  switch (type) {
    case "text":
      return one(isSynthetic(part) ? "note" : "user", textIn(part));
    case "subtask":
      return one(
        "user",
        `${asNonBlank(json.command) === null ? "" : `/${json.command} `}@${asText(json.agent) ?? "agent"}: ${asText(json.prompt) ?? ""}`,
      );
    case "file":
      return one("note", `attached ${asNonBlank(json.filename) ?? asNonBlank(json.mime) ?? "a file"}`);
    case "compaction":
      return one(
        "compaction",
        json.auto === true ? "the conversation is compacted, because it is too long" : "the conversation is compacted",
      );
    default:
      return [];
  }
}

function responseEvents(key: Keys, part: Part, message: Message | null, session = message?.session ?? ""): Draft[] {
  const at = part.start ?? message?.created ?? null;
  const isComplete = part.end !== null || message === null || message.completed !== null;
  const text = textIn(part);
  const tool = toolOf(part);
  if (tool !== null) {
    const call = key.call(session, tool.callId);
    const called: Draft = {
      kind: "toolCall",
      text: null,
      at,
      name: part.id,
      tool: { name: tool.tool, call, input: tool.input, isError: false },
    };
    const result: Draft = {
      kind: "toolResult",
      text: tool.error ?? tool.output,
      at: part.end ?? at,
      name: `${part.id} result`,
      tool: { name: tool.tool, call, input: null, isError: tool.status === "error" },
    };
    return tool.status === "pending" ? [] : isDone(tool) ? [called, result] : [called];
  }
  if (text.trim() !== "" && isComplete && part.type === "text")
    return [{ kind: message !== null && isCompaction(message) ? "compaction" : "assistant", text, at, name: part.id }];
  if (text.trim() !== "" && isComplete && part.type === "reasoning")
    return [{ kind: "reasoning", text, at, name: part.id }];
  if (part.type === "retry") {
    const why = asNonBlank(asObject(asObject(part.json.error)?.data)?.message) ?? "the model did not respond";
    return [
      { kind: "error", text: `${why} (attempt ${asNumber(part.json.attempt) ?? 1}, retried)`, at, name: part.id },
    ];
  }
  if (part.type === "patch")
    return [{ kind: "note", text: `changed ${asList(part.json.files).length} files`, at, name: part.id }];
  return [];
}
