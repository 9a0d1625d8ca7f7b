import type { Api, PieceRow, RequestRow, TailPart } from "../../core/facts/traffic.ts";
import {
  asList,
  asNonBlank,
  asObject,
  asText,
  type JsonObject,
  jsonText,
  parseFiniteJson,
} from "../../core/tools/json.ts";
import { cwdIn } from "./prompts.ts";
import { type Sanitizer, safeBody, safeHeaders, safePath, safeUpstream } from "./sanitize.ts";
import { conversationIn, nameOf, resultsIn, sideOf, textsIn, unitOf } from "./units.ts";

/** A request before its body is parsed. */
export interface RequestHead {
  readonly request: string;
  readonly method: string;
  readonly path: string;
  readonly upstream: string;
  /** Names and values alternating, as received. */
  readonly headers: readonly string[];
  readonly windowMs: number | null;
  readonly process: RequestRow["process"];
}

/** Maximum length of texts that are only compared. */
const MAX_TEXT = 20_000;
const MAX_OPENING = 2_000;
const MAX_DEPTH = 50;

/** The API, by the end of the path: gateways may add a prefix. */
export function apiOf(method: string, path: string): Api {
  const [bare = ""] = path.split("?", 1);
  if (method !== "POST") return "other";
  if (/\/messages\/count_tokens$/.test(bare)) return "count";
  if (/\/(messages|model\/[^/]+\/invoke(-with-response-stream)?)$/.test(bare)) return "messages";
  if (/\/chat\/completions$/.test(bare)) return "chat";
  return /\/responses$/.test(bare) ? "responses" : "other";
}

export interface ReadRequest {
  readonly row: RequestRow;
  /** Long texts by name; each is stored once. */
  readonly pieces: readonly PieceRow[];
}

/**
 * The row of a request, from its head and the text of its body (null if unreadable). Everything in it, including the
 * names of pieces, is derived from what may be stored. `sanitizer` is null if nothing is stored.
 */
export function readRequest(
  head: RequestHead,
  text: string | null,
  bytes: number,
  sanitizer: Sanitizer | null,
): ReadRequest {
  const api = apiOf(head.method, head.path);
  const given = text === null || text === "" ? {} : safeBody(text, parseFiniteJson(text)?.value, sanitizer);
  const body = asObject(given);
  const base = {
    ...head,
    ...(sanitizer === null
      ? {}
      : { path: safePath(head.path, sanitizer), upstream: safeUpstream(head.upstream, sanitizer.redactor) }),
    is: "asked" as const,
    headers: safeHeaders(head.headers, sanitizer),
    bytes,
    api,
  };
  if (body === null || api === "other")
    return { row: { ...base, ...NOTHING_READ, rest: body ?? otherBody(given) }, pieces: [] };

  const pieces: PieceRow[] = [];
  const piece = (json: unknown): string => {
    const name = nameOf(jsonText(withoutCacheMarks(json)) ?? "");
    pieces.push({ is: "piece", piece: name, json });
    return name;
  };
  const { messages: _, input: __, system, instructions, tools: listed, functions, model, ...settings } = body;
  const { safeguards, ...others } = settings;
  const rest = safeguards === undefined ? settings : { ...others, safeguards: asList(safeguards).map(safeguardOf) };
  const tools = listed ?? functions;
  const { preface: among, messages } = conversationIn(api, body);
  const preface = system ?? instructions ?? among;
  const firstResponse = messages.findIndex((message) => sideOf(message) === "model");
  const leading = messages.slice(0, firstResponse < 0 ? messages.length : firstResponse);
  const first = messages.find((message) => sideOf(message) === "user" && textsIn(message).length > 0);
  return {
    row: {
      ...base,
      model: asNonBlank(model) ?? modelInPath(base.path),
      stream: body.stream === true || head.path.includes("invoke-with-response-stream"),
      system: preface === null ? null : piece(preface),
      tools: tools == null ? null : piece(tools),
      messages: messages.map(piece),
      chain: messages.flatMap((message) => unitOf(message) ?? []),
      offered: countTools(tools, messages),
      first: first === undefined ? [] : textsIn(first).map(cut),
      opening: openingOf(preface),
      cwd: cwdIn([prefaceText(preface), ...leading.flatMap(textsIn)]),
      tail: tailOf(messages),
      rest,
    },
    pieces,
  };
}

/**
 * What the vendor is asked to check. The context for it is not kept: folders, rules, remotes and the user of this machine,
 * some kilobytes with each request.
 */
const safeguardOf = (safeguard: unknown) => ({ type: asText(asObject(safeguard)?.type) });

/** Tools in the list of the request, and those that a message adds. */
const countTools = (tools: unknown, messages: readonly JsonObject[]) =>
  asList(tools).length +
  messages.reduce((sum, { type, tools: added }) => sum + (type === "additional_tools" ? asList(added).length : 0), 0);

/** Removes cache marks, which move with every request and do not change the content. */
function withoutCacheMarks(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => withoutCacheMarks(item, depth + 1));
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      key === "cache_control" ? [] : [[key, withoutCacheMarks(item, depth + 1)]],
    ),
  );
}

const NOTHING_READ = {
  model: null,
  stream: false,
  system: null,
  tools: null,
  messages: [],
  chain: [],
  offered: 0,
  first: [],
  opening: "",
  cwd: null,
  tail: [],
} as const;

const otherBody = (given: unknown): JsonObject => ({ text: cut(asText(given) ?? jsonText(given) ?? "") });
const modelInPath = (path: string) => /\/model\/([^/]+)\//.exec(path)?.[1] ?? null;
const cut = (text: string) => text.slice(0, MAX_TEXT);

const prefaceText = (preface: unknown): string =>
  typeof preface === "string"
    ? preface
    : asList(preface)
        .flatMap((part) => asText(part) ?? asText(asObject(part)?.text) ?? [])
        .join("\n");
const openingOf = (preface: unknown) => prefaceText(preface).slice(0, MAX_OPENING);

/** The messages since the model's last response. Texts of one message stay separate: the last one is the prompt. */
function tailOf(messages: readonly JsonObject[]): readonly TailPart[] {
  const last = messages.findLastIndex((message) => sideOf(message) === "model");
  return messages.slice(last + 1).flatMap((message) => {
    if (sideOf(message) !== "user") return [];
    const [texts, results] = [textsIn(message).map(cut), resultsIn(message)];
    return texts.length + results.length === 0 ? [] : [{ texts, results }];
  });
}
