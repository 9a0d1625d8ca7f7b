import type { AgentKey, CallKey, Keyed, MatchKey, ObservationId, RecordKey } from "./ids.ts";
import type { FromOrigin } from "./origin.ts";
import type { Plan } from "./plan.ts";
import type { ModelCallMissing, TotalStated } from "./totals.ts";
import type { Tokens } from "./usage.ts";

/** A fact with its origin, without interpretation; `link` draws the conclusions. */
export type Observation = Observed & Fact;

/** Products copy records into forks and resumed sessions: equal `keys` mean the same record. */
interface Observed extends FromOrigin, Keyed {
  readonly id: ObservationId;
  /** Epoch milliseconds by the record's own clock; null if the record has no time. */
  readonly at: number | null;
  /** The agent whose records contain this. */
  readonly speaker: AgentKey;
  /** Position in its source; breaks ties of the clock. */
  readonly order: number;
}

/** By the records' clock, then by position. A total order, independent of the order of arrival. */
export function byTime(a: Observation, b: Observation): number {
  const x = a.at ?? Number.NEGATIVE_INFINITY;
  const y = b.at ?? Number.NEGATIVE_INFINITY;
  if (x !== y) return x < y ? -1 : 1;
  return a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

export type Fact =
  | AgentDescribed
  | ThreadTitled
  | RecordRead
  | ModelCalled
  | ModelCallMissing
  | TotalStated
  | SpawnCalled
  | CallSpawned
  | CallAliased
  | CallOffers
  | CallRefused
  | AgentsStated
  | AgentAliased
  | FileRefused
  | ParentNamed
  | SpawnMatch
  | Lifecycle
  | MessageSent
  | ProcessSeen
  | Waits
  | PlanStated
  | ThreadBegan
  | ShellCalled
  | ShellReturned
  | StarterSeen;

/** Strongest first: statements of the provider itself override what is read from records; inference is the weakest. */
export const SOURCES = ["manual", "protocol", "parent_rollout", "child_rollout", "inferred"] as const;
export type Source = (typeof SOURCES)[number];
export type StatedSource = Exclude<Source, "manual">;

export const AGENT_KINDS = [
  "main",
  "subagent",
  "workflow",
  "teammate",
  "fork",
  "skill",
  "external",
  "unassigned",
] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

export interface AgentDescribed {
  readonly type: "agent-described";
  readonly agent: AgentKey;
  readonly kind?: AgentKind;
  /** Set for internal work (warm-ups, suggestions, compaction): not an agent; its model calls count as internal. */
  readonly internal?: { readonly why: string; readonly unlessSpawned: boolean; readonly unlessVouched?: true };
  /** Something other than its first record shows that it is an agent, which overrides conclusions from that record. */
  readonly vouched?: true;
  readonly productVersion?: string;
  readonly agentType?: string;
  readonly name?: string;
  readonly description?: string;
  readonly prompt?: string;
  readonly cwd?: string;
  readonly branch?: string;
  readonly background?: boolean;
  /** Its path among the agents of its thread, such as `/root/alpha/beta`: another name for it. */
  readonly path?: string;
  /** Its depth below its thread, if the product states that instead of its parent. */
  readonly depth?: number;
  /** It began as a copy of this agent, and its records do not contain the copied part. */
  readonly forkedFrom?: AgentKey;
  /**
   * A file of the agent: its size when last read, and its creation time if known. `readTo`: the offset up to which its
   * lines are among the facts; set by the store.
   */
  readonly file?: {
    readonly path: string;
    readonly bytes: number;
    readonly bornMs?: number | null;
    readonly readTo?: number;
  };
  /** Recorded restrictions; null if none of that kind are recorded. */
  readonly tools?: ToolLimits;
  /** The product marks its running processes on disk, so a missing mark means that the process has ended. */
  readonly marksProcess?: true;
  readonly warning?: string;
}

export interface ToolLimits {
  readonly allowed: readonly string[] | null;
  readonly denied: readonly string[] | null;
}

export interface ThreadTitled {
  readonly type: "thread-titled";
  /** The thread itself, or a record of it: old versions write a title into whatever file is open. */
  readonly of: AgentKey | { readonly record: RecordKey };
  readonly title: string;
  /** Smaller wins: a user's title before a generated one. */
  readonly rank: number;
}

/** The state of an agent after one of its records. */
export type RecordState = "answered" | "failed" | "interrupted" | "open";

export interface RecordRead {
  readonly type: "record";
  readonly role: "user" | "assistant" | "other";
  /** Null for records that do not change the agent's state. */
  readonly state: RecordState | null;
  /** False if the product does not record whether a response was complete. */
  readonly certain: boolean;
  readonly calls: readonly ToolCalled[];
  readonly results: readonly ToolResult[];
  /** The text, if it is a final response. */
  readonly text: string | null;
  /** True for messages, false for bookkeeping. */
  readonly message: boolean;
  /** Set if the product records the state of the agent's turn, as text: the most reliable source, by the same clock. */
  readonly turn?: string;
  /** The error message of the product; only for failed or interrupted. */
  readonly error?: string;
}

export interface ToolCalled {
  readonly call: CallKey;
  readonly name: string;
  /** If it differs from the time of the record. */
  readonly at?: number;
  /** What a person must provide before the tool returns: only for tools whose purpose is to ask a person. */
  readonly waitsFor?: string;
  /** It only waits for agents that were spawned before. */
  readonly awaitsAgents?: true;
}

export interface ToolResult {
  readonly call: CallKey;
  readonly isError: boolean;
  /** If it differs from the time of the record. */
  readonly at?: number;
}

export interface ModelCalled {
  readonly type: "model-call";
  /** Equal for all rows of a response. */
  readonly response: RecordKey;
  /** The key of the response's rows, if they do not name the response. */
  readonly rows?: RecordKey;
  /** The request, if a record names it: other sources may know the response only by it. */
  readonly request?: RecordKey;
  /** The API's id of the response, if `response` contains more than that: a proxy knows only the id. */
  readonly alias?: RecordKey;
  /** What identifies the response for any observer (`fingerprintsOf`), to match responses of an unidentified product. */
  readonly fingerprints?: readonly RecordKey[];
  /** When the request was sent, if recorded. */
  readonly askedAt?: number;
  readonly model: string;
  /** The vendor whose price list applies, if recorded. */
  readonly vendor?: string;
  /** The cost according to the product; null if too little is recorded; omitted if tokens and prices determine it. */
  readonly costUsd?: number | null;
  /** The product's records do not name the response, or name it differently: an equal one is the same. */
  readonly nameless?: true;
  /** Derived from the product's running totals, so it cannot be compared with them. */
  readonly fromTotals?: true;
  /** Served in the vendor's fast mode, which has its own prices. */
  readonly fast?: true;
  /** Only the output is recorded; input and caches are only in the product's total, if there is one. */
  readonly outputOnly?: true;
  /** The product does not include it in its totals. */
  readonly outsideTotals?: true;
  readonly tokens: Tokens;
  /**
   * Length of the text in this row. More than the tokens allow: the response was not counted completely. 0 if its count
   * is final.
   */
  readonly chars: number;
  /** The row has the stop reason, so its numbers are final. */
  readonly ended: boolean;
}

export interface SpawnCalled {
  readonly type: "spawn-called";
  readonly call: CallKey;
  readonly tool: string;
  /** `one`: the call spawns one agent; `maybe`: some, or none. */
  readonly makes: "one" | "maybe";
  readonly prompt: string | null;
  readonly agentType: string | null;
  readonly description: string | null;
  readonly name: string | null;
  readonly offers: readonly MatchKey[];
  readonly unseen?: Unseen;
}

/** The id that the product gives to the agent of a call, used until its own records are known. */
export interface Unseen {
  readonly id: string;
  readonly kind: AgentKind;
}

/** A record names the agent that a call spawned. */
export interface CallSpawned {
  readonly type: "call-spawned";
  readonly call: CallKey;
  readonly child: AgentKey;
  readonly rule: string;
  readonly source: StatedSource;
  readonly says: string;
}

/** Two names for one call (a workflow run has its own id). */
export interface CallAliased {
  readonly type: "call-aliased";
  readonly alias: CallKey;
  readonly call: CallKey;
}

/** A record states later by which key the agent of a call can be matched. */
export interface CallOffers {
  readonly type: "call-offers";
  readonly call: CallKey;
  readonly match: MatchKey;
  readonly unseen?: Unseen;
}

/** The call was rejected and spawned no agent. */
export interface CallRefused {
  readonly type: "call-refused";
  readonly call: CallKey;
  /** The reason as the model received it, if recorded. */
  readonly says?: string;
}

/**
 * The product states how many agents a call spawned, and their total usage. If their records are missing, nothing else
 * is known of them.
 */
export interface AgentsStated {
  readonly type: "agents-stated";
  readonly call: CallKey;
  /** The keys that they would have. */
  readonly agents: readonly AgentKey[];
  readonly kind: AgentKind;
  readonly tokens: number | null;
}

/** Two names for one agent: a source that learns its id later used another name before. */
export interface AgentAliased {
  readonly type: "agent-aliased";
  readonly alias: AgentKey;
  readonly agent: AgentKey;
}

/** The content of the agent's file contradicts its path. Facts that follow only from the path do not count either. */
export interface FileRefused {
  readonly type: "file-refused";
  readonly agent: AgentKey;
}

/** A record names the parent. `confidence` is 1 for a statement, less if it only follows from a path. */
export interface ParentNamed {
  readonly type: "parent-named";
  readonly child: AgentKey;
  readonly parent: AgentKey;
  readonly rule: string;
  readonly source: StatedSource;
  readonly confidence: number;
  readonly says: string;
}

/** The agent has a key in common with its spawn call. */
export interface SpawnMatch {
  readonly type: "spawn-match";
  readonly agent: AgentKey;
  readonly match: MatchKey;
  readonly rule: string;
  readonly source: StatedSource;
  /** True: one agent per call, in order of time. False: the key may be reused and belongs to its newest call. */
  readonly exclusive: boolean;
  /** Maximum time between the call and the agent's start. */
  readonly withinMs?: number;
  readonly says: string;
}

export type LifecycleState = "launched" | "revived" | "completed" | "errored" | "shutdown";

/** A record states how an agent, or the agent of a call, began or ended. */
export interface Lifecycle {
  readonly type: "lifecycle";
  readonly of: AgentKey | { readonly call: CallKey };
  readonly state: LifecycleState;
  readonly source: StatedSource;
  readonly says: string;
  readonly result: string | null;
  /** The usage that the product reports when the agent ends. */
  readonly reported?: ReportedUsage;
  /** The source is not always right: the agent's own records override it. */
  readonly yields?: true;
}

/** As stated by the product, by its own rules: not a sum of model calls. Null if not stated. */
export interface ReportedUsage {
  readonly totalTokens: number | null;
  readonly toolUses: number | null;
  readonly durationMs: number | null;
}

/** The product states that an agent waits, from the time of the observation; retracted when it no longer does. */
export interface Waits {
  readonly type: "waits";
  readonly agent: AgentKey;
  /** What a person must provide, such as a permission; null if it waits for something else. */
  readonly for: string | null;
  /** Continues the sentence "waits …". */
  readonly says: string;
  /** The waiting tool call, if the product names it. */
  readonly call?: CallKey;
}

/** The agent recorded its plan and progress; the last one counts. */
export interface PlanStated {
  readonly type: "plan-stated";
  readonly plan: Plan;
}

/** A message to an existing agent of the same tree. */
export interface MessageSent {
  readonly type: "message-sent";
  /** If its key is unknown: its id, name or path. */
  readonly to: AgentKey | { readonly named: string };
}

/** The product names the process of a thread. */
export interface ProcessSeen {
  readonly type: "process-seen";
  readonly thread: AgentKey;
  readonly process: ProcessMark;
  /** What the process waits for, such as a permission, as the product describes it; null if nothing. */
  readonly waitingFor: string | null;
}

/** By pid, by a lock that it holds while it lives, or by a file that it has open for writing. */
export type ProcessMark = PidMark | LockMark | HolderMark;

export interface LockMark {
  readonly lock: string;
}

export interface HolderMark {
  readonly holds: string;
}

export interface PidMark {
  readonly pid: number;
  /** When the process started, in the unit of its operating system; distinguishes a reused pid. */
  readonly birth: string | null;
  /** The machine or container of the pid. */
  readonly domain: string | null;
  readonly startedAt: number | null;
  /** If the record has the time of the start: an older process is another one. */
  readonly bornAfter?: number;
}

/** A top-level thread began, at the time of the observation. Threads of sub-agents need no such fact. */
export interface ThreadBegan {
  readonly type: "thread-began";
  readonly thread: AgentKey;
  readonly cwd: string;
  /** A person can type into it; omitted if the product does not record it. */
  readonly interactive?: boolean;
}

/** A tool call runs a shell command that starts an agent's product, or a script that may start one. */
export interface ShellCalled {
  readonly type: "shell-called";
  readonly call: CallKey;
  /** The beginning of the command. */
  readonly command: string;
  /** The folders in which it may start agents; null if unknown. They may begin with `OWN_FOLDER`. */
  readonly folders: readonly string[] | null;
  /** Empty for a script whose content is unknown. */
  readonly launches: readonly Launch[];
  /** Parts of it may run after it has returned. */
  readonly background?: true;
  /** Agents may begin long after it has returned. */
  readonly delayed?: true;
}

/** The folder of the agent, if the record of a shell call does not name it. */
export const OWN_FOLDER = ".";

/** A start of a product by a shell command. */
export interface Launch {
  readonly provider: string;
  /**
   * The arguments of which one is the prompt. Each is a list of literal pieces; between two of them is text that only
   * the shell knew.
   */
  readonly prompts: readonly (readonly string[])[];
  /** The prompt may be something that the command does not contain. */
  readonly open: boolean;
  /** The thread, if the command names its id. */
  readonly thread: AgentKey | null;
  /** How often it is started; null if unknown. */
  readonly times: number | null;
  /** The command may return before it ends. */
  readonly background: boolean;
  readonly headless: boolean;
}

/** The result of such a call. */
export interface ShellReturned {
  readonly type: "shell-returned";
  readonly call: CallKey;
  readonly calledAt: number | null;
  readonly folders: readonly string[] | null;
  /** Threads that the started product named in its output, in this order. */
  readonly printed: readonly AgentKey[];
  /** The end of the output, without formatting. */
  readonly output: string;
  /** The command continues in the background. */
  readonly continues?: true;
}

/**
 * Agents that the process of a thread names: in its environment, or as its ancestors. At the time when the process
 * started, because a later process of the same thread only continued it.
 */
export interface StarterSeen {
  readonly type: "starter-seen";
  readonly thread: AgentKey;
  /** Empty if it is known that no agent started it. */
  readonly starters: readonly Starter[];
}

export interface Starter {
  /** The agent; if `exact` is false its thread: then any agent of that thread, or of one below it, may be meant. */
  readonly agent: AgentKey;
  readonly exact: boolean;
  readonly call: CallKey | null;
  /** Continues the sentence "its process …". */
  readonly says: string;
}

export type ObservationOf<T extends Fact["type"]> = Extract<Observation, { type: T }>;
