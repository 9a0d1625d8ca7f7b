import type { FindingsOf } from "./findings.ts";
import type { AgentKey, CallKey, MatchKey, RecordKey } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { AgentKind } from "./observation.ts";

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
  /** Names of pieces. */
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

/** The agent that made a request, according to the request itself. */
export interface Caller {
  /** The product's id of the run that all its agents share. */
  readonly session: string;
  readonly thread: AgentKey;
  /** Null if only the thread is known: content then distinguishes the agents. */
  readonly agent: AgentKey | null;
  readonly parent: AgentKey | null;
  /** The fact that names the parent. */
  readonly rule: string | null;
  readonly kind: AgentKind | null;
  readonly name: string | null;
  readonly path: string | null;
  readonly agentType: string | null;
  /** The request is marked as an agent's, without an id. */
  readonly isAgent: boolean;
  readonly version: string | null;
  readonly cwd: string | null;
  readonly tag: RequestTag | null;
  /** The request does not say whether it has a parent: then its prompt may be matched. */
  readonly isChildMaybe?: true;
  /** This version of the product does not record response ids. */
  readonly hasNoResponseIds?: true;
}

/**
 * How to interpret the requests of one product. Defined in the product's folder and passed to the reader of traffic.
 */
export interface Dialect {
  /** The vendor whose price list applies. */
  readonly vendor: string;
  /** Null for requests of other clients. */
  identify(request: RequestRow): Caller | null;
  /** The prompt of the agent, without frames. */
  prompt(request: RequestRow): string | null;
  /** Interprets what one agent's requests and responses state about others. */
  open(caller: Caller, agent: AgentKey, saved?: unknown): Interpreter;
  response(thread: AgentKey, id: string): RecordKey;
  /** The key of an agent that the request does not name, by its first response. */
  unnamed(thread: AgentKey, response: string): AgentKey;
  /** The agent that the result of a call names. */
  namedIn(text: string, thread: AgentKey): AgentKey | null;
  /** Keys to match an agent to its spawn call, most reliable first. */
  matches(caller: Caller, prompt: string | null): readonly MatchKey[];
}

/** Interprets the traffic of one agent. Never throws. */
export interface Interpreter {
  /** The messages since the last response. */
  toolResults(out: FindingsOf, tail: readonly TailPart[]): void;
  /** A tool call of the model; states the spawn, if it is one. */
  called(out: FindingsOf, call: ToolCall): void;
  key(id: string): CallKey;
  save(): unknown;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** As in the API. */
  readonly block: JsonObject;
}
