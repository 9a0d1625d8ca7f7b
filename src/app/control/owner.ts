import type { Action } from "../runs/channel.ts";
import type { Permission, PermissionAnswer } from "../runs/permissions.ts";

/** What a person can do with a running agent. */
export const ACTIONS = ["stop", "background", "interrupt", "send", "continue"] as const satisfies readonly Action[];

export interface SteerRequest {
  readonly action: Action;
  /** The agent; the thread for `interrupt` and `send`. */
  readonly uri: string;
  /** For `send` and `continue`. */
  readonly text?: string | undefined;
}

/** A thread whose agents can be controlled while it runs. */
export interface Steered {
  readonly uri: string;
  readonly actions: readonly Action[];
}

export interface OwnerState {
  readonly threads: readonly Steered[];
  readonly permissions: readonly Permission[];
}

/** A process that controls agents: it started them, or follows their server. */
export interface Owner {
  state(): OwnerState;
  /** Returns false if the request is not open (any more). */
  answer(id: string, answer: PermissionAnswer): Promise<boolean>;
  steer(request: SteerRequest): Promise<void>;
}
