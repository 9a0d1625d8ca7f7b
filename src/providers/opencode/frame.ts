import { asList, asNumber, asObject, asText, asWords, type JsonObject } from "../../core/json.ts";

/** What a line of a recording says, whichever way it came: as a frame of the event stream, or as an answer to a question of ours. */
export type Said =
  | { readonly is: "session"; readonly session: string; readonly info: JsonObject }
  | { readonly is: "session-unknown"; readonly session: string }
  | { readonly is: "deleted"; readonly session: string }
  | { readonly is: "message"; readonly session: string; readonly id: string; readonly info: JsonObject }
  | { readonly is: "whole-message"; readonly session: string; readonly id: string; readonly info: JsonObject; readonly parts: readonly JsonObject[] }
  | { readonly is: "message-removed"; readonly session: string; readonly id: string }
  | { readonly is: "part"; readonly session: string; readonly message: string; readonly id: string; readonly part: JsonObject }
  | { readonly is: "part-removed"; readonly session: string; readonly message: string; readonly id: string }
  | {
      readonly is: "status";
      readonly session: string;
      readonly status: JsonObject /** When it was asked for; null where the server said so by itself. */;
      readonly asked: number | null;
    }
  /** `id` is the event's own; null where the server gives it none. */
  | { readonly is: "error"; readonly session: string; readonly error: JsonObject; readonly id: string | null }
  | { readonly is: "asks"; readonly session: string; readonly request: Request }
  | { readonly is: "answered"; readonly session: string; readonly request: string }
  | { readonly is: "asking"; readonly session: string; readonly requests: readonly Request[]; readonly what: Request["for"]; readonly asked: number };

/** Something a person has to decide. */
export interface Request {
  readonly id: string;
  readonly for: "permission" | "answer";
  readonly says: string;
  /** The id of the tool call that is held up; null where the request names none. */
  readonly call: string | null;
}

/** An answer to a question of ours, as it is kept: what was asked, when, and of whom. */
export interface Answer {
  readonly answered: string;
  readonly asked: number;
  readonly session: string;
  /** Null: there is none. */
  readonly body: unknown;
}

export const ANSWERS = { session: "session", message: "message", status: "status", permission: "permission", question: "question" } as const;

export const isAnswer = (raw: unknown) => asText(asObject(raw)?.answered) !== null;

/** Null for what is no news of a session: heartbeats, plugins, words letter by letter. */
export function saidIn(raw: unknown): Said | null {
  const json = asObject(raw);
  if (json === null) return null;
  const what = asText(json.answered);
  if (what !== null) return fromAnswer(what, json);
  const frame = asObject(json.payload) ?? json;
  const properties = asObject(frame.properties);
  const type = asText(frame.type);
  return properties === null || type === null ? null : fromFrame(type, properties, asWords(frame.id));
}

/** Whose frame it is. A `sync` frame repeats another one and names its session elsewhere. */
export function sessionOfFrame(raw: unknown): string | null {
  const json = asObject(raw);
  const frame = asObject(json?.payload) ?? json;
  const properties = asObject(frame?.properties);
  const [info, part] = [asObject(properties?.info), asObject(properties?.part)];
  const id = properties?.sessionID ?? info?.sessionID ?? part?.sessionID ?? asObject(frame?.syncEvent)?.aggregateID ?? (info === null ? null : info.id);
  const words = asWords(id);
  return words?.startsWith("ses_") === true ? words : null;
}

function fromFrame(type: string, properties: JsonObject, frame: string | null): Said | null {
  const [info, part] = [asObject(properties.info), asObject(properties.part)];
  const session = sessionOfFrame({ properties });
  if (session === null) return null;
  const [message, partId] = [asWords(properties.messageID) ?? asWords(part?.messageID), asWords(properties.partID) ?? asWords(part?.id)];
  switch (type) {
    case "session.created":
    case "session.updated":
      return info === null ? null : { is: "session", session, info };
    case "session.deleted":
      return { is: "deleted", session };
    case "session.status":
      return { is: "status", session, status: asObject(properties.status) ?? {}, asked: null };
    case "session.idle":
      return { is: "status", session, status: { type: "idle" }, asked: null };
    case "session.error":
      return { is: "error", session, error: asObject(properties.error) ?? { message: properties.error }, id: frame };
    case "message.updated": {
      const id = asWords(info?.id);
      return info === null || id === null ? null : { is: "message", session, id, info };
    }
    case "message.removed":
      return message === null ? null : { is: "message-removed", session, id: message };
    case "message.part.updated":
      return part === null || message === null || partId === null ? null : { is: "part", session, message, id: partId, part };
    case "message.part.removed":
      return message === null || partId === null ? null : { is: "part-removed", session, message, id: partId };
    // Called `updated` up to 1.1.
    case "permission.asked":
    case "permission.updated":
    case "question.asked": {
      const request = requestIn(properties, type.startsWith("permission") ? "permission" : "answer");
      return request === null ? null : { is: "asks", session, request };
    }
    case "permission.replied":
    case "question.replied":
    case "question.rejected": {
      const request = asWords(properties.requestID) ?? asWords(properties.permissionID);
      return request === null ? null : { is: "answered", session, request };
    }
    default:
      return null;
  }
}

function fromAnswer(what: string, json: JsonObject): Said | null {
  const session = asWords(json.session);
  const asked = asNumber(json.asked) ?? 0;
  if (session === null) return null;
  const body = asObject(json.body);
  switch (what) {
    case ANSWERS.session:
      return body === null ? { is: "session-unknown", session } : { is: "session", session, info: body };
    case ANSWERS.message: {
      const info = asObject(body?.info);
      const id = asWords(info?.id);
      const parts = asList(body?.parts)
        .map(asObject)
        .filter((part) => part !== null);
      return info === null || id === null ? null : { is: "whole-message", session, id, info, parts };
    }
    case ANSWERS.status:
      return { is: "status", session, status: body ?? { type: "idle" }, asked };
    case ANSWERS.permission:
    case ANSWERS.question: {
      const kind = what === ANSWERS.permission ? "permission" : "answer";
      return { is: "asking", session, what: kind, asked, requests: asList(json.body).flatMap((item) => requestIn(asObject(item), kind) ?? []) };
    }
    default:
      return null;
  }
}

function requestIn(json: JsonObject | null, kind: Request["for"]): Request | null {
  const id = asWords(json?.id);
  if (json === null || id === null) return null;
  const questions = asList(json.questions).flatMap((question) => asWords(asObject(question)?.question) ?? []);
  const patterns = asList(json.patterns).flatMap((pattern) => asWords(pattern) ?? []);
  const tool = asWords(json.permission) ?? asWords(json.type) ?? "question";
  const words = kind === "answer" ? questions : patterns.length > 0 ? patterns : [asWords(json.title) ?? ""];
  // Up to 1.1 the call's id stands in the request itself.
  const call = asWords(asObject(json.tool)?.callID) ?? asWords(json.callID);
  return { id, for: kind, call, says: [tool, words.join(", ")].filter((word) => word !== "").join(": ") };
}
