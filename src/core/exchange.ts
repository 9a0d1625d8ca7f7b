import type { AgentKey, CallKey, RecordKey } from "./ids.ts";
import type { Api, AskedRow, EndedRow, RequestTag } from "./traffic.ts";
import type { Tokens } from "./usage.ts";

/** One request to an API and what came of it, as the index knows it. What was said stays in the recording. */
export interface Exchange {
  readonly id: string;
  readonly at: number;
  /** Whose it is, as far as the traffic alone tells: the tree may know better. */
  readonly speaker: AgentKey;
  readonly thread: AgentKey;
  readonly response: RecordKey | null;
  readonly api: Api;
  readonly tag: RequestTag | null;
  readonly method: string;
  readonly path: string;
  readonly upstream: string;
  readonly model: string | null;
  readonly branch: string;
  /** The request of the same conversation that this one goes on from, or repeats. */
  readonly before: string | null;
  readonly isRetry: boolean;
  readonly messages: number;
  readonly how: "open" | EndedRow["how"];
  readonly error: string | null;
  readonly httpStatus: number | null;
  readonly stop: string | null;
  readonly usage: Tokens | null;
  readonly firstTokenMs: number | null;
  readonly durationMs: number | null;
  readonly process: AskedRow["process"];
  readonly invocations: readonly Invocation[];
}

/** A call of a tool that asks for an agent. */
export interface Invocation {
  readonly call: CallKey;
  readonly toolUseId: string;
  readonly name: string;
  readonly prompt: string | null;
  readonly description: string | null;
  /** `maybe`: the tool may make an agent, or do something else. */
  readonly makes: "one" | "maybe";
}

/** An exchange and the recording it stands in. */
export interface RecordedExchange extends Exchange {
  readonly file: string;
}

export interface ExchangeFilter {
  /** Only what is recorded below one of these. */
  readonly under: readonly string[];
  readonly thread?: AgentKey;
  readonly speakers?: readonly AgentKey[];
  readonly limit: number;
  /** Goes on behind this one. */
  readonly after?: { readonly at: number; readonly id: string };
}
