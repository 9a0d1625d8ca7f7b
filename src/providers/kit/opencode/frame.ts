import { asList, asNonBlank, asNumber, asObject, asText, type JsonObject } from "../../../core/tools/json.ts";

/** The meaning of a line of a recording: a frame of the event stream, or a response to a request. */
export type Update =
  | { readonly is: "session"; readonly session: string; readonly info: JsonObject }
  | { readonly is: "session-unknown"; readonly session: string }
  | { readonly is: "deleted"; readonly session: string }
  | { readonly is: "message"; readonly session: string; readonly id: string; readonly info: JsonObject }
  | {
      readonly is: "whole-message";
      readonly session: string;
      readonly id: string;
      readonly info: JsonObject;
      readonly parts: readonly JsonObject[];
    }
  | { readonly is: "message-removed"; readonly session: string; readonly id: string }
  | {
      readonly is: "part";
      readonly session: string;
      readonly message: string;
      readonly id: string;
      readonly part: JsonObject;
    }
  | { readonly is: "part-removed"; readonly session: string; readonly message: string; readonly id: string }
  | {
      readonly is: "status";
      readonly session: string;
      readonly status: JsonObject;
      /** When it was requested; null if the server sent it. */
      readonly asked: number | null;
    }
  /** `id` is the event's own; null if it has none. */
  | { readonly is: "error"; readonly session: string; readonly error: JsonObject; readonly id: string | null }
  | { readonly is: "request"; readonly session: string; readonly request: Request }
  | { readonly is: "request-closed"; readonly session: string; readonly request: string }
  /** All pending requests of one kind. */
  | {
      readonly is: "pending-requests";
      readonly session: string;
      readonly requests: readonly Request[];
      readonly what: Request["for"];
      readonly asked: number;
    };

/** A pending request to the user. */
export interface Request {
  readonly id: string;
  readonly for: "permission" | "answer";
  readonly says: string;
  /** The id of the waiting tool call; null if the request names none. */
  readonly call: string | null;
}

/** A recorded response: what was requested, when, and for which session. */
export interface RecordedResponse {
  readonly answered: string;
  readonly asked: number;
  readonly session: string;
  /** Null: not found. */
  readonly body: unknown;
}

export const RESPONSES = {
  session: "session",
  message: "message",
  status: "status",
  permission: "permission",
  question: "question",
} as const;

export const isResponse = (raw: unknown) => asText(asObject(raw)?.answered) !== null;

/** Null for frames that do not concern a session's state: heartbeats, plugins, text deltas. */
export function updateIn(raw: unknown): Update | null {
  const json = asObject(raw);
  if (json === null) return null;
  const what = asText(json.answered);
  if (what !== null) return fromResponse(what, json);
  const frame = asObject(json.payload) ?? json;
  const properties = asObject(frame.properties);
  const type = asText(frame.type);
  return properties === null || type === null ? null : fromFrame(type, properties, asNonBlank(frame.id));
}

/** The session of a frame. A `sync` frame repeats another one and names its session in another field. */
export function sessionOfFrame(raw: unknown): string | null {
  const json = asObject(raw);
  const frame = asObject(json?.payload) ?? json;
  const properties = asObject(frame?.properties);
  const [info, part] = [asObject(properties?.info), asObject(properties?.part)];
  const id =
    properties?.sessionID ??
    info?.sessionID ??
    part?.sessionID ??
    asObject(frame?.syncEvent)?.aggregateID ??
    (info === null ? null : info.id);
  const text = asNonBlank(id);
  return text?.startsWith("ses_") === true ? text : null;
}

function fromFrame(type: string, properties: JsonObject, frame: string | null): Update | null {
  const [info, part] = [asObject(properties.info), asObject(properties.part)];
  const session = sessionOfFrame({ properties });
  if (session === null) return null;
  const [message, partId] = [
    asNonBlank(properties.messageID) ?? asNonBlank(part?.messageID),
    asNonBlank(properties.partID) ?? asNonBlank(part?.id),
  ];
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
      const id = asNonBlank(info?.id);
      return info === null || id === null ? null : { is: "message", session, id, info };
    }
    case "message.removed":
      return message === null ? null : { is: "message-removed", session, id: message };
    case "message.part.updated":
      return part === null || message === null || partId === null
        ? null
        : { is: "part", session, message, id: partId, part };
    case "message.part.removed":
      return message === null || partId === null ? null : { is: "part-removed", session, message, id: partId };
    // Called `updated` up to 1.1.
    case "permission.asked":
    case "permission.updated":
    case "question.asked": {
      const request = requestIn(properties, type.startsWith("permission") ? "permission" : "answer");
      return request === null ? null : { is: "request", session, request };
    }
    case "permission.replied":
    case "question.replied":
    case "question.rejected": {
      const request = asNonBlank(properties.requestID) ?? asNonBlank(properties.permissionID);
      return request === null ? null : { is: "request-closed", session, request };
    }
    default:
      return null;
  }
}

function fromResponse(what: string, json: JsonObject): Update | null {
  const session = asNonBlank(json.session);
  const asked = asNumber(json.asked) ?? 0;
  if (session === null) return null;
  const body = asObject(json.body);
  switch (what) {
    case RESPONSES.session:
      return body === null ? { is: "session-unknown", session } : { is: "session", session, info: body };
    case RESPONSES.message: {
      const info = asObject(body?.info);
      const id = asNonBlank(info?.id);
      const parts = asList(body?.parts)
        .map(asObject)
        .filter((part) => part !== null);
      return info === null || id === null ? null : { is: "whole-message", session, id, info, parts };
    }
    case RESPONSES.status:
      return { is: "status", session, status: body ?? { type: "idle" }, asked };
    case RESPONSES.permission:
    case RESPONSES.question: {
      const kind = what === RESPONSES.permission ? "permission" : "answer";
      return {
        is: "pending-requests",
        session,
        what: kind,
        asked,
        requests: asList(json.body).flatMap((item) => requestIn(asObject(item), kind) ?? []),
      };
    }
    default:
      return null;
  }
}

function requestIn(json: JsonObject | null, kind: Request["for"]): Request | null {
  const id = asNonBlank(json?.id);
  if (json === null || id === null) return null;
  const questions = asList(json.questions).flatMap((question) => asNonBlank(asObject(question)?.question) ?? []);
  const patterns = asList(json.patterns).flatMap((pattern) => asNonBlank(pattern) ?? []);
  const tool = asNonBlank(json.permission) ?? asNonBlank(json.type) ?? "question";
  const text = kind === "answer" ? questions : patterns.length > 0 ? patterns : [asNonBlank(json.title) ?? ""];
  // Up to 1.1 the call's id is in the request itself.
  const call = asNonBlank(asObject(json.tool)?.callID) ?? asNonBlank(json.callID);
  return { id, for: kind, call, says: [tool, text.join(", ")].filter((part) => part !== "").join(": ") };
}
