/**
 * The public library: `import { open, run } from "retinue"`. The same records and events as the command line, typed.
 * The implementation is loaded when it is called: it loads the providers asynchronously, and `require("retinue")`
 * accepts only modules that load synchronously.
 */

import type { AgentRecord, AgentTree } from "../core/views/agent.ts";
import type { AgentEvent } from "../core/views/event.ts";
import type { Env } from "./home.ts";
import type { ThreadFilter } from "./ingest/library.ts";
import type { AgentRun, RunOptions } from "./runs/agent-run.ts";

export type { Tokens, Usage } from "../core/facts/usage.ts";
export type { Limit, LimitAction, LimitName, LimitSet, Limits } from "../core/guard/limits.ts";
export type { Status, StatusSource } from "../core/link/status.ts";
export type { PermissionReply, ToolCall, ToolDecision } from "../core/ports/control.ts";
export type { AgentRecord, AgentTree, LinkRecord } from "../core/views/agent.ts";
export type { AgentEvent, EventKind, EventSpawn, EventTool } from "../core/views/event.ts";
export { Failure } from "./failure.ts";
export type { ThreadFilter } from "./ingest/library.ts";
export type { AgentRun, RunOptions } from "./runs/agent-run.ts";
export { NotSupported } from "./runs/not-supported.ts";
export type { Permission, PermissionAnswer, PermissionHandler } from "./runs/permissions.ts";

export interface OpenOptions {
  /** The home folder to read; default: the user's. */
  readonly home?: string;
  /** Replaces the environment of this process: `CLAUDE_CONFIG_DIR`, `RETINUE_HOME` and others. */
  readonly env?: Env;
  /** Receives messages about the state of the index. */
  readonly notify?: (text: string) => void;
}

/** The agents of a machine. */
export interface Retinue {
  /** Top-level threads, newest activity first. */
  threads(filter?: ThreadFilter): Promise<readonly AgentRecord[]>;
  /** A thread or an agent with its subtree. Accepts the same URIs as the command line. */
  tree(uri: string): Promise<AgentTree>;
  /** Events, oldest first; with `subtree`, also those of the agents below. */
  events(uri: string, options?: { readonly subtree?: boolean }): Promise<readonly AgentEvent[]>;
  /** The tree of each thread that changes, until the signal is aborted. */
  live(options?: { readonly signal?: AbortSignal }): AsyncIterable<AgentTree>;
  close(): void;
}

/** Syncs once. Later calls return the state of that sync; `live` keeps it current. */
export async function open(options: OpenOptions = {}): Promise<Retinue> {
  return (await import("./opened.ts")).open(options);
}

/** Runs an agent's command with machine-readable output and, if the product supports it, machine-readable input. */
export async function run(command: readonly string[], options: RunOptions = {}): Promise<AgentRun> {
  return (await import("./runs/agent-run.ts")).run(command, options);
}
