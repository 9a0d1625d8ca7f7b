import { asList, asObject, asText, asWords, type JsonObject, jsonText, parseJson } from "../../core/json.ts";
import type { Api, AskedRow, PieceRow, TailPart } from "../../core/traffic.ts";
import { type Keeping, keptBody, keptHeaders, keptPath, keptUpstream } from "./kept.ts";
import { cwdIn } from "./prompts.ts";
import { conversationIn, nameOf, resultsIn, sideOf, textsIn, wordOf } from "./units.ts";

/** What is asked, before its body is looked into. */
export interface Question {
  readonly request: string;
  readonly method: string;
  readonly path: string;
  readonly upstream: string;
  /** Names and values in turn, as they came. */
  readonly headers: readonly string[];
  readonly windowMs: number | null;
  readonly process: AskedRow["process"];
}

/** Longer texts are cut where they are only there to be recognised. */
const MAX_TEXT = 20_000;
const MAX_OPENING = 2_000;
const MAX_DEPTH = 50;

/** Which API is spoken, by the path alone: gateways put whatever they like before it. */
export function apiOf(method: string, path: string): Api {
  const [bare = ""] = path.split("?", 1);
  if (method !== "POST") return "other";
  if (/\/messages\/count_tokens$/.test(bare)) return "count";
  if (/\/(messages|model\/[^/]+\/invoke(-with-response-stream)?)$/.test(bare)) return "messages";
  if (/\/chat\/completions$/.test(bare)) return "chat";
  return /\/responses$/.test(bare) ? "responses" : "other";
}

export interface Asked {
  readonly row: AskedRow;
  /** Long texts, by name: each needs to be kept once. */
  readonly pieces: readonly PieceRow[];
}

/**
 * The row of a request, from its head and the text of its body; null for a body that could not be read. Everything in it, names of pieces
 * included, is made from what may be kept. `keeping` is null where nothing is written down.
 */
export function readAsked(question: Question, text: string | null, bytes: number, keeping: Keeping | null): Asked {
  const api = apiOf(question.method, question.path);
  const given = text === null || text === "" ? {} : keptBody(text, parseJson(text)?.value, keeping);
  const body = asObject(given);
  const base = {
    ...question,
    ...(keeping === null ? {} : { path: keptPath(question.path, keeping), upstream: keptUpstream(question.upstream, keeping.redactor) }),
    is: "asked" as const,
    headers: keptHeaders(question.headers, keeping),
    bytes,
    api,
  };
  if (body === null || api === "other") return { row: { ...base, ...NOTHING_READ, rest: body ?? otherBody(given) }, pieces: [] };

  const pieces: PieceRow[] = [];
  const piece = (json: unknown): string => {
    const name = nameOf(jsonText(undecorated(json)) ?? "");
    pieces.push({ is: "piece", piece: name, json });
    return name;
  };
  const { messages: _, input: __, system, instructions, tools: listed, functions, model, ...rest } = body;
  const tools = listed ?? functions;
  const { preface: among, messages } = conversationIn(api, body);
  const preface = system ?? instructions ?? among;
  const spoken = messages.findIndex((message) => sideOf(message) === "model");
  const leading = messages.slice(0, spoken < 0 ? messages.length : spoken);
  const first = messages.find((message) => sideOf(message) === "user" && textsIn(message).length > 0);
  return {
    row: {
      ...base,
      model: asWords(model) ?? modelInPath(base.path),
      stream: body.stream === true || question.path.includes("invoke-with-response-stream"),
      system: preface === null ? null : piece(preface),
      tools: tools == null ? null : piece(tools),
      messages: messages.map(piece),
      chain: messages.flatMap((message) => wordOf(message) ?? []),
      offered: asList(tools).length + messages.reduce((sum, message) => sum + (message.type === "additional_tools" ? asList(message.tools).length : 0), 0),
      first: first === undefined ? [] : textsIn(first).map(cut),
      opening: openingOf(preface),
      cwd: cwdIn([prefaceText(preface), ...leading.flatMap(textsIn)]),
      tail: tailOf(messages),
      rest,
    },
    pieces,
  };
}

/** Marks of what is to be cached move on with every request, and change nothing that is said. */
function undecorated(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => undecorated(item, depth + 1));
  return Object.fromEntries(Object.entries(value).flatMap(([key, item]) => (key === "cache_control" ? [] : [[key, undecorated(item, depth + 1)]])));
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

/** What came since the model last spoke. Several texts by one speaker stay apart: the last one is what was meant. */
function tailOf(messages: readonly JsonObject[]): readonly TailPart[] {
  const last = messages.findLastIndex((message) => sideOf(message) === "model");
  return messages.slice(last + 1).flatMap((message) => {
    if (sideOf(message) !== "user") return [];
    const [texts, results] = [textsIn(message).map(cut), resultsIn(message)];
    return texts.length + results.length === 0 ? [] : [{ texts, results }];
  });
}

/** A text of the body that names something, such as `metadata.user_id`. */
export const inRest = ({ rest }: AskedRow, ...path: readonly string[]): string | null =>
  asText(path.reduce<unknown>((value, key) => asObject(value)?.[key], rest));
