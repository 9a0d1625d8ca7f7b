import type { AgentKey, CallKey, MatchKey, RecordKey } from "../facts/ids.ts";
import type { AgentKind } from "../facts/observation.ts";
import type { RequestRow, RequestTag, TailPart } from "../facts/traffic.ts";
import type { JsonObject } from "../tools/json.ts";
import type { FindingsOf } from "./findings.ts";

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
  /** The request does not show whether the agent has a parent: then its prompt may be matched. */
  readonly isChildMaybe?: true;
  /** Work of the product for one of the agents of `session`, whose prompt the request quotes. */
  readonly isAside?: true;
  /** This version of the product does not record response ids. */
  readonly hasNoResponseIds?: true;
}

/**
 * How to interpret the requests of one product. Defined in the product's folder and passed to the reader of traffic.
 */
export interface Dialect {
  /** The vendor whose price list applies. */
  readonly vendor: string;
  /** Some requests name no agent, and quote its prompt (`Caller.isAside`). */
  readonly hasAsides?: true;
  /** Null for requests of other clients. */
  identify(request: RequestRow): Caller | null;
  /** Whether a request is internal work of the product, for requests that `identify` does not recognise. */
  isInternal?(request: RequestRow): boolean;
  /** The prompt of the agent, without the text that the product wraps around it. */
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
