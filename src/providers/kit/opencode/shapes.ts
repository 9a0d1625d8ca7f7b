import { asList, asNonBlank, asObject, asText, asTime, type JsonObject, parseJson } from "../../../core/tools/json.ts";

/** A session, from any storage. */
export interface SessionInfo {
  readonly id: string;
  readonly parent: string | null;
  readonly title: string | null;
  readonly version: string | null;
  readonly directory: string | null;
  readonly agent: string | null;
  readonly permission: readonly PermissionRule[];
  readonly created: number | null;
}

export interface PermissionRule {
  readonly permission: string;
  readonly pattern: string;
  readonly action: string;
}

/** A message with its parts so far. */
export interface Message {
  readonly id: string;
  readonly session: string;
  readonly role: string;
  readonly info: JsonObject;
  readonly created: number | null;
  readonly completed: number | null;
  readonly parts: readonly Part[];
}

export interface Part {
  readonly id: string;
  readonly type: string;
  readonly json: JsonObject;
  readonly start: number | null;
  readonly end: number | null;
}

/** Reads a session from a response of the server, an export, a row or the JSON storage. */
export function sessionOf(value: unknown): SessionInfo | null {
  const json = asObject(value);
  const id = asNonBlank(json?.id);
  if (json === null || id === null) return null;
  return {
    id,
    parent: asNonBlank(json.parentID),
    title: asNonBlank(json.title),
    version: asNonBlank(json.version),
    directory: asNonBlank(json.directory),
    agent: asNonBlank(json.agent),
    permission: rulesIn(json.permission),
    created: asTime(asObject(json.time)?.created),
  };
}

function rulesIn(value: unknown): PermissionRule[] {
  const list = typeof value === "string" ? parseJson(value)?.value : value;
  return asList(list).flatMap((item) => {
    const rule = asObject(item);
    const [permission, pattern, action] = [
      asNonBlank(rule?.permission),
      asNonBlank(rule?.pattern),
      asNonBlank(rule?.action),
    ];
    return permission === null || action === null ? [] : [{ permission, pattern: pattern ?? "*", action }];
  });
}

/** `info` and `parts` may lack the ids that the storage keeps separately. */
export function messageOf(
  value: unknown,
  parts: readonly unknown[],
  ids: { readonly id?: unknown; readonly session?: unknown } = {},
  readPart: (part: unknown) => Part | null = partOf,
): Message | null {
  const info = asObject(value);
  const [id, session] = [
    asNonBlank(ids.id) ?? asNonBlank(info?.id),
    asNonBlank(ids.session) ?? asNonBlank(info?.sessionID),
  ];
  const role = asNonBlank(info?.role);
  if (info === null || id === null || session === null || role === null) return null;
  const time = asObject(info.time);
  return {
    id,
    session,
    role,
    info,
    created: asTime(time?.created),
    completed: asTime(time?.completed),
    parts: parts.map((part) => readPart(part)).filter((part) => part !== null),
  };
}

export function partOf(value: unknown, knownAs?: unknown): Part | null {
  const json = asObject(value);
  const [id, type] = [asNonBlank(knownAs ?? json?.id), asNonBlank(json?.type)];
  if (json === null || id === null || type === null) return null;
  const time = asObject(json.time) ?? asObject(asObject(json.state)?.time);
  return { id, type, json, start: asTime(time?.start), end: asTime(time?.end) };
}

export interface ToolPart {
  readonly tool: string;
  readonly callId: string;
  readonly status: string;
  readonly input: unknown;
  readonly output: string | null;
  readonly error: string | null;
  /** Null before the tool begins, or if it has none. */
  readonly metadata: JsonObject | null;
}

export function toolOf({ type, id, json }: Part): ToolPart | null {
  if (type !== "tool") return null;
  const state = asObject(json.state);
  return {
    tool: asNonBlank(json.tool) ?? "unknown",
    callId: asNonBlank(json.callID) ?? id,
    status: asText(state?.status) ?? "pending",
    input: state?.input ?? null,
    output: asText(state?.output),
    error: asText(state?.error),
    metadata: asObject(state?.metadata),
  };
}

/** An error on one line: its name and message. */
export function errorText(error: JsonObject): string {
  const [name, message] = [
    asNonBlank(error.name),
    asNonBlank(asObject(error.data)?.message) ?? asNonBlank(error.message),
  ];
  return [name ?? (message === null ? "error" : null), message].filter((text) => text !== null).join(": ");
}

/** Whether the user or the parent stopped the agent; it did not fail. */
export const isAbort = (error: JsonObject) => error.name === "MessageAbortedError";

export const isDone = ({ status }: ToolPart) => status === "completed" || status === "error";
export const textIn = ({ json }: Part) => asText(json.text) ?? "";
export const isSynthetic = ({ json }: Part) => json.synthetic === true;
