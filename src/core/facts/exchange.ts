import type { AgentKey, CallKey, RecordKey } from "./ids.ts";
import type { Api, EndedRow, RequestRow, RequestTag } from "./traffic.ts";
import type { Tokens } from "./usage.ts";

/** One API request and its outcome, as indexed. The content stays in the recording. */
export interface Exchange {
  readonly id: string;
  readonly at: number;
  /** The agent, according to the traffic alone; in the tree it may be another one. */
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
  /** The request of the same conversation that this one continues or repeats. */
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
  readonly process: RequestRow["process"];
  readonly invocations: readonly Invocation[];
}

/** A spawn call in a response. */
export interface Invocation {
  readonly call: CallKey;
  readonly toolUseId: string;
  readonly name: string;
  readonly prompt: string | null;
  readonly description: string | null;
  /** `maybe`: the tool may spawn an agent or do something else. */
  readonly makes: "one" | "maybe";
}

/** An exchange and its recording. */
export interface RecordedExchange extends Exchange {
  readonly file: string;
}

export interface ExchangeFilter {
  /** Only recordings below one of these folders. */
  readonly under: readonly string[];
  readonly thread?: AgentKey;
  readonly speakers?: readonly AgentKey[];
  readonly limit: number;
  /** Continue after this one. */
  readonly after?: { readonly at: number; readonly id: string };
}
