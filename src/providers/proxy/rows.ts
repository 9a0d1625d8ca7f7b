import { APIS, type EndedRow, type RequestRow, type TailPart, type TrafficRow } from "../../core/facts/traffic.ts";
import { asList, asNonBlank, asNumber, asObject, asText, type JsonObject } from "../../core/tools/json.ts";

/** Validates a recorded row, because recordings are files that may contain anything. Null if invalid. */
export function readRow(note: JsonObject): TrafficRow | null {
  const request = asNonBlank(note.request);
  if (note.is === "piece") {
    const piece = asNonBlank(note.piece);
    return piece === null ? null : { is: "piece", piece, json: note.json };
  }
  if (request === null) return null;
  switch (note.is) {
    case "asked":
      return readAskedRow(note, request);
    case "answered":
      return { is: "answered", request, status: asNumber(note.status) ?? 0, headers: textFields(note.headers) };
    case "opened": {
      const response = asNonBlank(note.response);
      return response === null
        ? null
        : { is: "opened", request, response, model: asNonBlank(note.model), usage: asObject(note.usage) };
    }
    case "block": {
      const block = asObject(note.block);
      return block === null ? null : { is: "block", request, block };
    }
    case "ended":
      return readEnded(note, request);
    default:
      return null;
  }
}

function readAskedRow(note: JsonObject, request: string): RequestRow {
  const process = asObject(note.process);
  const [pid, startedAt] = [asNumber(process?.pid), asNumber(process?.startedAt)];
  return {
    is: "asked",
    request,
    method: asText(note.method) ?? "",
    path: asText(note.path) ?? "",
    upstream: asText(note.upstream) ?? "",
    headers: textFields(note.headers),
    bytes: asNumber(note.bytes) ?? 0,
    api: APIS.find((api) => api === note.api) ?? "other",
    model: asNonBlank(note.model),
    stream: note.stream === true,
    system: asNonBlank(note.system),
    tools: asNonBlank(note.tools),
    messages: textsIn(note.messages),
    chain: textsIn(note.chain),
    offered: asNumber(note.offered) ?? 0,
    first: textsIn(note.first),
    opening: asText(note.opening) ?? "",
    cwd: asNonBlank(note.cwd),
    tail: asList(note.tail).map(readTail),
    rest: asObject(note.rest) ?? {},
    windowMs: asNumber(note.windowMs),
    process: pid === null || startedAt === null ? null : { pid, startedAt },
  };
}

function readTail(value: unknown): TailPart {
  const part = asObject(value);
  const results = asList(part?.results).flatMap((item) => {
    const result = asObject(item);
    const id = asNonBlank(result?.id);
    return id === null ? [] : [{ id, isError: result?.isError === true, text: asText(result?.text) ?? "" }];
  });
  return { texts: textsIn(part?.texts), results };
}

const HOW = ["finished", "aborted", "failed", "timed-out", "refused"] as const;

function readEnded(note: JsonObject, request: string): EndedRow {
  return {
    is: "ended",
    request,
    how: HOW.find((how) => how === note.how) ?? "failed",
    error: asNonBlank(note.error),
    status: asNumber(note.status),
    stop: asNonBlank(note.stop),
    usage: asObject(note.usage),
    firstTokenMs: asNumber(note.firstTokenMs),
    durationMs: asNumber(note.durationMs) ?? 0,
    bytes: asNumber(note.bytes) ?? 0,
  };
}

const textsIn = (value: unknown): readonly string[] => asList(value).flatMap((item) => asText(item) ?? []);
const textFields = (value: unknown): Record<string, string> =>
  Object.fromEntries(
    Object.entries(asObject(value) ?? {}).flatMap(([name, text]) => (typeof text === "string" ? [[name, text]] : [])),
  );
