import type { AgentKey, CallKey, MatchKey, ObservationId, RecordKey } from "./ids.ts";
import type { Plan } from "./plan.ts";
import type { Amounts, Tokens } from "./usage.ts";

/** What a source saw, before anybody interprets it. Facts only: `link` draws the conclusions. */
export type Observation = Seen & Fact;

interface Seen {
  readonly id: ObservationId;
  /** Epoch milliseconds by the record's own clock; null when the record carries no time. */
  readonly at: number | null;
  /** The agent in whose records this stands. */
  readonly speaker: AgentKey;
  /** Ids of the record it stands in. Products copy records into forks and resumed sessions: equal keys mean the same record. */
  readonly keys: readonly RecordKey[];
  /** Position in its source; orders what the clock does not. */
  readonly order: number;
  /** Told by a live source: where the product itself wrote the same record down, that one counts. */
  readonly live?: true;
  /** Said by somebody who looked on. Of a record that the product itself keeps, the product's word on whose it is counts. */
  readonly witness?: true;
}

/** By the records' own clock, then by position. Total, so that any order of arrival sorts alike. */
export function byTime(a: Observation, b: Observation): number {
  const [x, y] = [a.at ?? Number.NEGATIVE_INFINITY, b.at ?? Number.NEGATIVE_INFINITY];
  if (x !== y) return x < y ? -1 : 1;
  return a.order - b.order || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);
}

export type Fact =
  | AgentDescribed
  | ThreadTitled
  | RecordRead
  | ModelCalled
  | CallUnrecorded
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
  | Answers
  | Lifecycle
  | MessageSent
  | ProcessSeen
  | Waits
  | PlanStated;

/** Who said it. Ordered: a statement of the provider itself beats what is read off records, and a guess comes last. */
export const SOURCES = ["manual", "protocol", "parent_rollout", "child_rollout", "inferred"] as const;
export type Source = (typeof SOURCES)[number];
export type StatedSource = Exclude<Source, "manual">;

export const AGENT_KINDS = ["main", "subagent", "workflow", "teammate", "fork", "skill", "external", "unassigned"] as const;
export type AgentKind = (typeof AGENT_KINDS)[number];

export interface AgentDescribed {
  readonly type: "agent-described";
  readonly agent: AgentKey;
  readonly kind?: AgentKind;
  /** Set for the product's own background work (warm-ups, suggestions, compaction): not an agent, its calls count as internal. */
  readonly internal?: { readonly why: string; readonly unlessSpawned: boolean; readonly unlessVouched?: true };
  /** Something besides its first record shows that it is an agent: what only followed from that record does not hold. */
  readonly vouched?: true;
  readonly productVersion?: string;
  readonly agentType?: string;
  readonly name?: string;
  readonly description?: string;
  readonly prompt?: string;
  readonly cwd?: string;
  readonly branch?: string;
  readonly background?: boolean;
  /** Where it stands among the agents of its thread, in the product's own words, such as `/root/alpha/beta`: another name for it. */
  readonly path?: string;
  /** It began as a copy of that one, and what was copied is not in its records. */
  readonly forkedFrom?: AgentKey;
  /** A file that belongs to the agent; its size when last read, and when it was made, where the file system knows. `readTo`: the offset up to which its lines are among the facts; set by the store. */
  readonly file?: { readonly path: string; readonly bytes: number; readonly bornMs?: number | null; readonly readTo?: number };
  /** Restrictions that the product records; null where it records none of that kind. */
  readonly tools?: ToolLimits;
  /** The product marks its running processes on disk, so that a missing mark means the process is gone. */
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
  /** Smaller wins: a person's own title before a generated one. */
  readonly rank: number;
}

/** How an agent stands after a record of its own. */
export type Stand = "answered" | "failed" | "interrupted" | "open";

export interface RecordRead {
  readonly type: "record";
  readonly role: "user" | "assistant" | "other";
  /** Null for records that say nothing about how the agent stands. */
  readonly stands: Stand | null;
  /** False where the product leaves open whether an answer was finished. */
  readonly certain: boolean;
  readonly calls: readonly ToolCalled[];
  readonly results: readonly ToolAnswered[];
  /** What the agent said in it, where it is an answer. */
  readonly text: string | null;
  /** True for what a person would call a message; false for bookkeeping. */
  readonly message: boolean;
  /** Set where the product itself writes down how a turn of the agent stands, in words: nobody knows better, and its clock is the same one. */
  readonly turn?: string;
  /** What went wrong, in the product's words; set only where it stands failed or interrupted. */
  readonly error?: string;
}

export interface ToolCalled {
  readonly call: CallKey;
  readonly name: string;
  /** When, where it was not when the record was written. */
  readonly at?: number;
  /** What a person has to give before the tool returns: set only for tools whose purpose is to ask a person. */
  readonly waitsFor?: string;
  /** All it does is wait for agents that were made before. */
  readonly awaitsAgents?: true;
}

export interface ToolAnswered {
  readonly call: CallKey;
  readonly isError: boolean;
  /** When, where it was not when the record was written. */
  readonly at?: number;
}

export interface ModelCalled {
  readonly type: "model-call";
  /** Equal for every row a response is spread over. */
  readonly response: RecordKey;
  /** What the rows of the response are keyed by, where they do not name it themselves. */
  readonly rows?: RecordKey;
  /** The request that it answers, where a record names it: other witnesses may know the response by nothing else. */
  readonly request?: RecordKey;
  /** The API's own name of the response, where `response` is made from more than that: a proxy knows it by nothing else. */
  readonly alias?: RecordKey;
  /** The API's id of the response with what it used (`fingerprintOf`): a proxy that cannot tell the product has nothing else in common with its records. */
  readonly fingerprint?: RecordKey;
  /** When the product sent the request, where it writes that down. */
  readonly askedAt?: number;
  readonly model: string;
  /** Whose price list the model is on, where the record tells. */
  readonly vendor?: string;
  /** What the product itself says it cost; null where too little is recorded to tell; left out where tokens and prices tell. */
  readonly costUsd?: number | null;
  /** The product's own records know the answer by no name, or by another one: if they count one just like it, it is the same. */
  readonly nameless?: true;
  /** Worked out from the product's running totals: these cannot be held against it. */
  readonly fromTotals?: true;
  /** Answered in the vendor's fast mode, which has prices of its own. */
  readonly fast?: true;
  /** The record tells what the response put out, and nothing of what it was given: input and caches are only in the product's total, if it states one. */
  readonly outputOnly?: true;
  /** The product does not count it in its own totals. */
  readonly outsideTotals?: true;
  readonly tokens: Tokens;
  /** How much text this row holds: a response with more text than its tokens allow was not counted to the end by the product. */
  readonly chars: number;
  /** The row says how the response ended, so that its numbers are the final ones. */
  readonly ended: boolean;
}

/** A record shows that the product called a model and kept no record of the call itself. */
export interface CallUnrecorded {
  readonly type: "call-unrecorded";
  /** In a word or two, for a person. */
  readonly what: string;
  /** `own`: on the model of the agent in whose records it shows. `any`: on whichever the product likes. */
  readonly on: "own" | "any";
  /** True where it was one call and no more. */
  readonly one: boolean;
}

/** What the product itself says a thread has used so far, all its agents together. */
export interface TotalStated {
  readonly type: "total-stated";
  readonly byModel: readonly { readonly model: string; readonly amounts: Amounts }[];
  /** Null where the product does not know it either. */
  readonly costUsd: number | null;
  /** When it began to count. A process that goes on from an earlier total keeps that total's beginning. */
  readonly began: number | null;
  /** How long the processes ran that count in it, in milliseconds. */
  readonly activeMs: number | null;
  /** For a total that is written after every answer. */
  readonly running?: RunningTotal;
}

/** It counts exactly the answers above it in its file. */
export interface RunningTotal {
  /** The thread's first total may include what the thread it was forked from had used. */
  readonly goesOn: boolean;
}

export interface SpawnCalled {
  readonly type: "spawn-called";
  readonly call: CallKey;
  readonly tool: string;
  /** `one`: the call makes one agent; `maybe`: it may make some, or none. */
  readonly makes: "one" | "maybe";
  readonly prompt: string | null;
  readonly agentType: string | null;
  readonly description: string | null;
  readonly name: string | null;
  readonly offers: readonly MatchKey[];
  readonly unseen?: Unseen;
}

/** What the agent of a call is known as while no record of its own is: by an id that the product gives it, instead of the call's. */
export interface Unseen {
  readonly id: string;
  readonly kind: AgentKind;
}

/** A record says which agent a call made. */
export interface CallSpawned {
  readonly type: "call-spawned";
  readonly call: CallKey;
  readonly child: AgentKey;
  readonly rule: string;
  readonly source: StatedSource;
  readonly says: string;
}

/** Two names for one call (a workflow's run is known by its own id). */
export interface CallAliased {
  readonly type: "call-aliased";
  readonly alias: CallKey;
  readonly call: CallKey;
}

/** A record says later what the agent of a call will be known by. */
export interface CallOffers {
  readonly type: "call-offers";
  readonly call: CallKey;
  readonly match: MatchKey;
  readonly unseen?: Unseen;
}

/** The call was turned down: it made nobody. */
export interface CallRefused {
  readonly type: "call-refused";
  readonly call: CallKey;
}

/** The product says how many agents a call made, and what they used together. They are known by nothing else where their records are gone. */
export interface AgentsStated {
  readonly type: "agents-stated";
  readonly call: CallKey;
  /** What each would be known as. */
  readonly agents: readonly AgentKey[];
  readonly kind: AgentKind;
  readonly tokens: number | null;
}

/** Two names for one agent: a witness that learns its id later called it something else till then. */
export interface AgentAliased {
  readonly type: "agent-aliased";
  readonly alias: AgentKey;
  readonly agent: AgentKey;
}

/** The agent's file is not what its place says. What only that place says of the agent does not count either. */
export interface FileRefused {
  readonly type: "file-refused";
  readonly agent: AgentKey;
}

/** A record names the parent itself. `confidence` is 1 for a statement, less where it only follows from a place. */
export interface ParentNamed {
  readonly type: "parent-named";
  readonly child: AgentKey;
  readonly parent: AgentKey;
  readonly rule: string;
  readonly source: StatedSource;
  readonly confidence: number;
  readonly says: string;
}

/** The agent has something in common with the call that made it. */
export interface Answers {
  readonly type: "answers";
  readonly agent: AgentKey;
  readonly match: MatchKey;
  readonly rule: string;
  readonly source: StatedSource;
  /** True: one agent a call, in order of time. False: a name that may come back (a team mate restarted) goes with its newest call. */
  readonly exclusive: boolean;
  /** How long after the call it may have begun, at most. */
  readonly withinMs?: number;
  readonly says: string;
}

export type LifecycleState = "launched" | "revived" | "completed" | "errored" | "shutdown";

/** A record says how an agent, or the agent a call made, began or ended. */
export interface Lifecycle {
  readonly type: "lifecycle";
  readonly of: AgentKey | { readonly call: CallKey };
  readonly state: LifecycleState;
  readonly source: StatedSource;
  readonly says: string;
  readonly result: string | null;
  /** What the product says the agent used, where it says so when the agent ends. */
  readonly reported?: ReportedUsage;
  /** The speaker is known to be wrong at times: where the agent's own records say how it ended, they count. */
  readonly yields?: true;
}

/** As the product states it, by its own rules: not a sum of model calls. Null for what it does not state. */
export interface ReportedUsage {
  readonly totalTokens: number | null;
  readonly toolUses: number | null;
  readonly durationMs: number | null;
}

/** The product says that an agent waits, since the moment of the observation; taken back when it no longer does. */
export interface Waits {
  readonly type: "waits";
  readonly agent: AgentKey;
  /** What a person has to give, such as a permission; null where it waits for something else. */
  readonly for: string | null;
  /** In words that follow on "waits". */
  readonly says: string;
  /** The tool call that is held up, where the product names it. */
  readonly call?: CallKey;
}

/** The agent wrote down what it is going to do, and how far it is; the last word counts. */
export interface PlanStated {
  readonly type: "plan-stated";
  readonly plan: Plan;
}

/** The speaker wrote to another agent of its tree, which was there already. */
export interface MessageSent {
  readonly type: "message-sent";
  /** Where its key is not known: as it is called among them, by its id, its name or its path. */
  readonly to: AgentKey | { readonly named: string };
}

/** The product says which operating-system process runs a thread. */
export interface ProcessSeen {
  readonly type: "process-seen";
  readonly thread: AgentKey;
  readonly process: ProcessMark;
  /** The product's own word for what the process waits for, such as a permission; null when it waits for nobody. */
  readonly waitingFor: string | null;
}

/** By its number, by a lock that it holds as long as it lives, or by a file that it has open to write to it. */
export type ProcessMark = PidMark | LockMark | HolderMark;

export interface LockMark {
  readonly lock: string;
}

export interface HolderMark {
  readonly holds: string;
}

export interface PidMark {
  readonly pid: number;
  /** When the process began, in the unit its operating system uses; tells a reused pid from the real one. */
  readonly birth: string | null;
  /** The machine or container the pid belongs to. */
  readonly domain: string | null;
  readonly startedAt: number | null;
}

type Of<T extends Fact["type"]> = Extract<Observation, { type: T }>;

export type { Of as ObservationOf };
