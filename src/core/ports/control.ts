import type { LedgerNotice } from "../guard/ledger.ts";
import type { JsonObject } from "../tools/json.ts";

/** Messages for the stdin of a running product. Methods are omitted if unsupported. */
export interface Control {
  /**
   * The same command with machine-readable input and output, and the prompt of the command line, which must be sent as
   * a message.
   */
  readonly withJsonInput: readonly string[];
  readonly first: string | null;
  /** The given command reads machine-readable input already: its caller may send control messages, too. */
  readonly isFed: boolean;
  /** The message for text on the stdin of the given command, which it adds to its prompt. */
  withInput(prompt: string | null, text: string): string;
  /** What the given command would print in place of this line; null for nothing. */
  shown(line: string): string | null;
  send(text: string): ControlMessage;
  interrupt?(): ControlMessage;
  stop?(agent: string): ControlMessage;
  /** `call` is the spawn call of the agent. */
  background?(call: string): ControlMessage;
  /** The response in a printed line, if it is one: the id of the message and its error. */
  responseIn(line: string): { readonly id: string; readonly error: string | null } | null;
  /** The message by which the main agent is asked to continue an agent below it with this text. */
  continueAgent?(agent: string, text: string): ControlMessage;
  /** Derives the state of the run from the printed lines. */
  track(): RunTracker;
  /** How to decide about tool calls before they run. */
  readonly interception?: Interception;
  /** How to answer its permission requests. */
  readonly permissions?: PermissionRequests;
}

/** The state of a run: `idle` if it only waits for input; `resuming` if it will begin a turn by itself. */
export interface RunTracker {
  readonly state: "busy" | "resuming" | "idle";
  /** The spawn call of an agent; null if unknown. */
  spawnCall(agent: string): string | null;
  onLine(line: string): void;
  /** A message was sent. */
  sent(): void;
}

/** A product that asks for permissions in its output, and reads the answers from its stdin. */
export interface PermissionRequests {
  /** The command with the options that make it ask; the same if it has other rules for permissions already. */
  enable(command: readonly string[]): readonly string[];
  /** The request in a printed line, if it is one. */
  askedIn(line: string): AskedPermission | null;
  /** The id of a request that is no longer open, if the line says so. */
  closedIn(line: string): string | null;
  /** The line that answers a request. */
  answer(asked: AskedPermission, reply: PermissionReply, text: string | null): string;
}

/** A permission that an agent waits for. */
export interface AskedPermission {
  /** The product's id of the request. */
  readonly id: string;
  readonly sessionId: string | null;
  /** Null for the main agent. */
  readonly agentId: string | null;
  /** The name of the tool, or of the kind of permission. */
  readonly tool: string;
  /** Everything that the product states about what it would do. */
  readonly input: JsonObject;
  /** The tool call; null if unknown. */
  readonly callId: string | null;
  /** The answers that the product accepts. */
  readonly replies: readonly PermissionReply[];
  /** What `always` would allow from now on. */
  readonly always: readonly string[];
}

/** `once`: this call. `always`: this call and similar ones, by a rule of the product. `reject`: the call does not run. */
export type PermissionReply = "once" | "always" | "reject";

/** A line for the product's stdin. Messages with an id are acknowledged. */
export interface ControlMessage {
  readonly line: string;
  readonly id: string | null;
}

/** A product that announces tool calls and waits for a decision before it runs them. */
export interface Interception {
  /** Begins the announcements, also of the agents below. Each must be answered within `answerMs`. */
  begin(options: { readonly spawnsOnly: boolean; readonly answerMs: number }): ControlMessage;
  /** Ends the announcements: later calls run without an answer. */
  end(): ControlMessage;
  /** The announcement in a printed line, if it is one. */
  announcedIn(line: string): AnnouncedCall | null;
  /** The line that answers an announcement. */
  answer(request: string, decision: ToolDecision): string;
  /** What limits depend on; omitted if they cannot be enforced. */
  readonly guard?: RunGuard;
}

/** How limits are enforced on a wrapped command. */
export interface RunGuard {
  /** The agent that a spawn call would start. */
  spawnOf(call: ToolCall): { readonly type: string | null; readonly description: string | null };
  /** What a printed line states about agents of a thread; null if nothing. */
  noticesIn(line: string): { readonly thread: string; readonly notices: readonly LedgerNotice[] } | null;
}

export interface AnnouncedCall {
  /** The id that the answer names. */
  readonly request: string;
  readonly call: Omit<ToolCall, "uri">;
}

/** A tool call that has not run yet. */
export interface ToolCall {
  readonly callId: string;
  /** The name of the tool. */
  readonly tool: string;
  readonly input: JsonObject;
  /** It would spawn an agent. */
  readonly isSpawn: boolean;
  /** The thread of the run. */
  readonly sessionId: string;
  /** The agent that makes the call, at any depth; null for the main agent. */
  readonly agentId: string | null;
  /** Null if unknown. */
  readonly agentType: string | null;
  /** The URI of the agent that makes the call. */
  readonly uri: string;
  readonly cwd: string | null;
}

/**
 * `deny`: the tool does not run, and the model receives an error result with this text. `input`: the tool runs with this
 * input instead.
 */
export type ToolDecision = "allow" | { readonly deny: string } | { readonly input: JsonObject };
