import type { FindingsOf } from "./findings.ts";
import type { AgentKey, CallKey, MatchKey, RecordKey } from "./ids.ts";
import type { JsonObject } from "./json.ts";
import type { AgentKind } from "./observation.ts";

/** API traffic as it is recorded: each exchange in a few rows, which are written while it runs. */
export type TrafficRow = AskedRow | AnsweredRow | OpenedRow | BlockRow | EndedRow | PieceRow;

interface OfExchange {
  /** The exchange it is a row of. */
  readonly request: string;
}

/** What a client asked. Long texts are kept apart, once each, as pieces; what is new in this request stands here. */
export interface AskedRow extends OfExchange {
  readonly is: "asked";
  readonly method: string;
  readonly path: string;
  readonly upstream: string;
  /** Without credentials, names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: number;
  readonly api: Api;
  readonly model: string | null;
  readonly stream: boolean;
  /** Names of pieces. */
  readonly system: string | null;
  readonly tools: string | null;
  readonly messages: readonly string[];
  /** One word a message, which stays the same however the client decorates it: two requests of one conversation begin alike. */
  readonly chain: readonly string[];
  /** How many tools are offered. */
  readonly offered: number;
  /** The texts of the first thing a user says, and of the system prompt's beginning. */
  readonly first: readonly string[];
  readonly opening: string;
  /** The folder that the client says it works in. */
  readonly cwd: string | null;
  /** What came since the model last spoke. */
  readonly tail: readonly TailPart[];
  /** Everything else in the body. */
  readonly rest: JsonObject;
  /** How long after a call an agent may begin and still be taken for the one that was called for; null: as long as the session lives. */
  readonly windowMs: number | null;
  /** The process that passed it on, so that a lost exchange can be told from one that runs. */
  readonly process: { readonly pid: number; readonly startedAt: number } | null;
}

export const APIS = ["messages", "responses", "chat", "count", "other"] as const;
/** `messages`: Anthropic's. `responses`, `chat`: OpenAI's Responses and Chat Completions. `count`: a request that only counts tokens. */
export type Api = (typeof APIS)[number];
/** Those that ask a model for an answer. */
export const asksModel = (api: Api): boolean => api === "messages" || api === "responses" || api === "chat";

export interface TailPart {
  readonly texts: readonly string[];
  readonly results: readonly { readonly id: string; readonly isError: boolean; readonly text: string }[];
}

export interface AnsweredRow extends OfExchange {
  readonly is: "answered";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** The model's answer has begun, and has a name. */
export interface OpenedRow extends OfExchange {
  readonly is: "opened";
  readonly response: string;
  readonly model: string | null;
  readonly usage: JsonObject | null;
}

/** A part of the answer is complete. */
export interface BlockRow extends OfExchange {
  readonly is: "block";
  readonly block: JsonObject;
}

export interface EndedRow extends OfExchange {
  readonly is: "ended";
  readonly how: "finished" | "aborted" | "failed" | "timed-out" | "refused";
  /** What went wrong, in the upstream's words or ours. */
  readonly error: string | null;
  readonly status: number | null;
  readonly stop: string | null;
  readonly usage: JsonObject | null;
  readonly firstTokenMs: number | null;
  readonly durationMs: number;
  readonly bytes: number;
}

/** A text that many requests have in common. */
export interface PieceRow {
  readonly is: "piece";
  readonly piece: string;
  readonly json: unknown;
}

/** What a request was for, where it was not the work of an agent. */
export const REQUEST_TAGS = ["title", "quota", "compaction", "warmup", "auxiliary", "count", "other"] as const;
export type RequestTag = (typeof REQUEST_TAGS)[number];

/** Who made a request, as far as the request itself says so. */
export interface Caller {
  /** The product's own id for what all agents of one run have in common. */
  readonly session: string;
  readonly thread: AgentKey;
  /** Null where only the thread is known: then what was said tells the agents apart. */
  readonly agent: AgentKey | null;
  readonly parent: AgentKey | null;
  /** Which fact names the parent. */
  readonly rule: string | null;
  readonly kind: AgentKind | null;
  readonly name: string | null;
  readonly path: string | null;
  readonly agentType: string | null;
  /** The request says that it is an agent's, without saying whose. */
  readonly isAgent: boolean;
  readonly version: string | null;
  readonly cwd: string | null;
  readonly tag: RequestTag | null;
  /** Its requests do not say whether another agent made it: then its prompt may tell. */
  readonly isChildMaybe?: true;
  /** This version of the product writes down no names of answers. */
  readonly namesNoAnswers?: true;
}

/** How one product's requests are to be understood. Lies in the product's folder, and is handed to the reader of traffic. */
export interface Dialect {
  /** Whose price list its models are on. */
  readonly vendor: string;
  /** Null for requests of other clients. */
  identify(asked: AskedRow): Caller | null;
  /** What the agent was asked to do, without the frames around it. */
  prompt(asked: AskedRow): string | null;
  /** What one agent's requests and answers say of others. */
  open(caller: Caller, agent: AgentKey, saved?: unknown): Voice;
  response(thread: AgentKey, id: string): RecordKey;
  /** An agent that the request does not name, by its first answer. */
  unnamed(thread: AgentKey, response: string): AgentKey;
  /** The agent that the result of a call names. */
  namedIn(text: string, thread: AgentKey): AgentKey | null;
  /** By which an agent finds the call that made it, the surest first. */
  matches(caller: Caller, prompt: string | null): readonly MatchKey[];
}

/** One agent's part in the traffic. Never throws. */
export interface Voice {
  /** What came since the model last spoke. */
  told(out: FindingsOf, tail: readonly TailPart[]): void;
  /** The model calls a tool. Says what it asks for, where it asks for an agent. */
  called(out: FindingsOf, call: ToolCall): void;
  key(id: string): CallKey;
  save(): unknown;
}

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
  /** As the API has it. */
  readonly block: JsonObject;
}
