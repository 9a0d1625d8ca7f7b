import type { JsonObject } from "../tools/json.ts";

/** Recorded API traffic: each exchange is a few rows, written while it runs. */
export type TrafficRow = RequestRow | ResponseRow | OpenedRow | BlockRow | EndedRow | PieceRow;

interface OfExchange {
  /** The exchange. */
  readonly request: string;
}

/** A request. Long texts are stored separately as pieces, once each. */
export interface RequestRow extends OfExchange {
  readonly is: "asked";
  readonly method: string;
  readonly path: string;
  readonly upstream: string;
  /** Without credentials, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
  readonly api: Api;
  readonly model: string | null;
  readonly stream: boolean;
  /** Names of the stored pieces. */
  readonly system: string | null;
  readonly tools: string | null;
  readonly messages: readonly string[];
  /** One name per message, independent of what the client adds: requests of one conversation have a common prefix. */
  readonly chain: readonly string[];
  /** Number of tools offered. */
  readonly offered: number;
  /** The first user texts, and the beginning of the system prompt. */
  readonly first: readonly string[];
  readonly opening: string;
  /** The folder that the client states. */
  readonly cwd: string | null;
  /** The messages since the last response. */
  readonly tail: readonly TailPart[];
  /** Everything else in the body. */
  readonly rest: JsonObject;
  /** How long after a spawn call an agent may begin and still be matched to it; null: for the whole session. */
  readonly windowMs: number | null;
  /** The proxy process, to distinguish a lost exchange from a running one. */
  readonly process: { readonly pid: number; readonly startedAt: number } | null;
}

export const APIS = ["messages", "responses", "chat", "count", "other"] as const;
/**
 * `messages`: Anthropic's. `responses`, `chat`: OpenAI's Responses and Chat Completions. `count`: only counts tokens.
 */
export type Api = (typeof APIS)[number];
/** APIs that call a model. */
export const isModelCall = (api: Api): boolean => api === "messages" || api === "responses" || api === "chat";

/** The texts of a conversation before the first response. */
export const leadingTexts = ({ chain, tail, first }: RequestRow): readonly string[] =>
  chain.length <= tail.length ? tail.flatMap(({ texts }) => texts) : first;

export interface TailPart {
  readonly texts: readonly string[];
  readonly results: readonly { readonly id: string; readonly isError: boolean; readonly text: string }[];
}

export interface ResponseRow extends OfExchange {
  readonly is: "answered";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The response has begun and has an id. */
export interface OpenedRow extends OfExchange {
  readonly is: "opened";
  readonly response: string;
  readonly model: string | null;
  readonly usage: JsonObject | null;
}

/** A part of the response is complete. */
export interface BlockRow extends OfExchange {
  readonly is: "block";
  readonly block: JsonObject;
}

export interface EndedRow extends OfExchange {
  readonly is: "ended";
  readonly how: "finished" | "aborted" | "failed" | "timed-out" | "refused";
  /** The error of the upstream or the proxy. */
  readonly error: string | null;
  readonly status: number | null;
  readonly stop: string | null;
  readonly usage: JsonObject | null;
  readonly firstTokenMs: number | null;
  readonly durationMs: number;
  readonly bytes: number;
}

/** A text that many requests share. */
export interface PieceRow {
  readonly is: "piece";
  readonly piece: string;
  readonly json: unknown;
}

/** The purpose of a request that is not an agent's work. */
export const REQUEST_TAGS = ["title", "quota", "compaction", "warmup", "auxiliary", "count", "other"] as const;
export type RequestTag = (typeof REQUEST_TAGS)[number];
