import type { Source } from "../facts/observation.ts";
import type { StatusVerdict } from "../link/status.ts";
import type { RefusedRecord } from "./agent.ts";

/** All evidence for an agent's parent and status. */
export interface Why {
  readonly uri: string;
  readonly parent: string | null;
  readonly forkedFrom: string | null;
  /** The threads that began as copies of it. */
  readonly continuedIn: readonly string[];
  readonly parentEvidence: readonly {
    readonly decided: boolean;
    readonly parent: string | null;
    readonly rule: string;
    readonly source: Source;
    readonly confidence: number;
    readonly toolCallId: string | null;
    readonly says: string;
    readonly from: string | null;
  }[];
  /** Agents that may have started the thread, one sentence each. */
  readonly undecided: readonly string[];
  readonly refused: readonly (RefusedRecord & { readonly tool: string })[];
  readonly status: StatusVerdict;
  readonly statusEvidence: readonly {
    readonly at: string | null;
    readonly says: string;
    readonly source: string;
    readonly from: string | null;
  }[];
}
