import type { RecordedExchange } from "../../core/facts/exchange.ts";
import type { RequestRow, TrafficRow } from "../../core/facts/traffic.ts";
import { readRecorded } from "../../core/ports/recording.ts";
import { asObject, asText, type JsonObject, jsonText } from "../../core/tools/json.ts";
import type { ConversationMessage, Piece, RequestContent } from "../../core/views/request.ts";
import { partOf } from "../../providers/proxy/blocks.ts";
import { readRow } from "../../providers/proxy/rows.ts";
import { noReads } from "../../transports/files.ts";
import { Failure } from "../failure.ts";
import { jsonLines } from "../ingest/json-lines.ts";

const PREVIEW = 600;

/**
 * The content of a request and its response, read from the recording. Texts are abbreviated, because every request
 * repeats the conversation.
 */
export async function contentOf({ id, file, before }: RecordedExchange): Promise<RequestContent> {
  const rows = new Map<string, RequestRow>();
  const pieces = new Map<string, unknown>();
  const blocks: JsonObject[] = [];
  let responseHeaders: Readonly<Record<string, string>> = {};
  for await (const row of rowsIn(file)) {
    if (row.is === "piece") pieces.set(row.piece, row.json);
    else if (row.is === "asked" && (row.request === id || row.request === before)) rows.set(row.request, row);
    else if (row.request === id && row.is === "block") blocks.push(row.block);
    else if (row.request === id && row.is === "answered") responseHeaders = row.headers;
  }
  const current = rows.get(id);
  if (current === undefined) throw new Failure("not_found", `the recording of ${id} no longer exists`, []);
  const previous = rows.get(before ?? "");
  const known = new Set(previous === undefined ? [] : [...previous.messages, previous.system, previous.tools]);
  const piece = (name: string, role: string): Piece => {
    const json = pieces.get(name);
    const text = textIn(json);
    return { piece: name, role, preview: text.slice(0, PREVIEW), chars: text.length, is_new: !known.has(name) };
  };
  return {
    headers: current.headers,
    response_headers: responseHeaders,
    system: current.system === null ? null : piece(current.system, "system"),
    tools: current.tools === null ? null : piece(current.tools, "tools"),
    messages: current.messages.map((name) => piece(name, roleOf(pieces.get(name)))),
    previous:
      previous === undefined
        ? null
        : {
            system: previous.system,
            tools: previous.tools,
            gone: previous.messages.filter((name) => !current.messages.includes(name)),
          },
    settings: current.rest,
    answer: blocks,
  };
}

/**
 * The messages of a conversation, oldest first: those of its newest request, and the response. `requests` is sorted
 * oldest first.
 */
export async function messagesOf(requests: readonly RecordedExchange[]): Promise<readonly ConversationMessage[]> {
  const newest = requests.at(-1);
  if (newest === undefined) return [];
  const ids = new Set(requests.map(({ id }) => id));
  const pieces = new Map<string, unknown>();
  const rows = new Map<string, RequestRow>();
  const blocks: JsonObject[] = [];
  for (const file of new Set(requests.map((request) => request.file)))
    for await (const row of rowsIn(file)) {
      if (row.is === "piece") pieces.set(row.piece, row.json);
      else if (row.is === "asked" && ids.has(row.request)) rows.set(row.request, row);
      else if (row.is === "block" && row.request === newest.id) blocks.push(row.block);
    }
  const first = new Map<string, string>();
  for (const { id } of requests)
    for (const name of rows.get(id)?.messages ?? []) if (!first.has(name)) first.set(name, id);
  const sent = (rows.get(newest.id)?.messages ?? []).map((name) => {
    const json = pieces.get(name);
    return { role: roleOf(json), text: textIn(json), content: json ?? null, request_id: first.get(name) ?? newest.id };
  });
  const response =
    blocks.length === 0 ? [] : [{ role: "assistant", text: textIn(blocks), content: blocks, request_id: newest.id }];
  return [...sent, ...response].map((message, i) => ({ number: i + 1, ...message }));
}

/** One text in full. */
export async function pieceOf({ file }: RecordedExchange, name: string): Promise<unknown> {
  for await (const row of rowsIn(file)) if (row.is === "piece" && row.piece === name) return row.json;
  throw new Failure("not_found", `no such text in the recording`, []);
}

async function* rowsIn(file: string): AsyncGenerator<TrafficRow> {
  for await (const lines of jsonLines(file, noReads()))
    for (const line of lines) {
      const recorded = line.is === "line" ? readRecorded(line.bytes) : null;
      const row = recorded !== null && "note" in recorded ? readRow(recorded.note) : null;
      if (row !== null) yield row;
    }
}

const roleOf = (json: unknown) => asText(asObject(json)?.role) ?? asText(asObject(json)?.type) ?? "";

/** The readable text; else the JSON. */
function textIn(json: unknown): string {
  if (typeof json === "string") return json;
  if (Array.isArray(json)) return json.map(textIn).join("\n");
  const block = asObject(json);
  if (block === null) return "";
  const part = partOf(block);
  if (part.is === "text" || part.is === "reasoning") return part.text;
  if (part.is === "call") return `${part.call.name} ${jsonText(part.call.input) ?? ""}`;
  const inside = block.content ?? block.output;
  return typeof inside === "string" || Array.isArray(inside)
    ? textIn(inside)
    : (asText(block.text) ?? jsonText(block) ?? "");
}
