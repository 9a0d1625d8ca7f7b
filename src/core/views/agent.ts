import type { AgentKind, ReportedUsage, Source, ToolLimits } from "../facts/observation.ts";
import type { Usage } from "../facts/usage.ts";
import type { Status, StatusVerdict } from "../link/status.ts";

/** Next to the name of a status, or alone if there is no room. */
export const STATUS_MARKS: Readonly<Record<Status, string>> = {
  pendingInit: "○",
  running: "●",
  completed: "✔",
  errored: "✖",
  shutdown: "■",
  notFound: "?",
};

/** The evidence for the parent, the deciding piece first. */
export interface LinkRecord {
  readonly rule: string;
  readonly source: Source;
  readonly confidence: number;
  readonly toolCallId: string | null;
  readonly evidence: readonly [string, ...string[]];
}

/** A spawn call that was refused: there is no agent. */
export interface RefusedRecord {
  readonly toolCallId: string;
  readonly at: string | null;
  readonly type: string | null;
  readonly description: string | null;
  /** As the model received it; null if it is not recorded. */
  readonly reason: string | null;
}

/** The public record of one agent, `retinue/agent@1`. Unknown values are null, never omitted. */
export interface AgentRecord extends StatusVerdict {
  readonly schema: "retinue/agent@1";
  readonly uri: string;
  readonly provider: string;
  readonly productVersion: string | null;
  readonly sessionId: string;
  readonly agentId: string | null;
  readonly parent: string | null;
  readonly forkedFrom: string | null;
  readonly depth: number;
  readonly kind: AgentKind;
  readonly type: string | null;
  readonly name: string | null;
  readonly title: string | null;
  readonly description: string | null;
  readonly prompt: string | null;
  readonly cwd: string | null;
  readonly project: string | null;
  readonly branch: string | null;
  readonly model: readonly string[];
  readonly tools: ToolLimits;
  readonly background: boolean;
  readonly link: LinkRecord | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly lastActivityAt: string | null;
  readonly durationMs: number | null;
  /** `reported`: usage that the product reported when the agent ended; not in any sum. */
  readonly usage: {
    readonly own: Usage;
    readonly internal: Usage | null;
    readonly subtree: Usage;
    readonly reported: ReportedUsage | null;
  };
  readonly counts: {
    readonly messages: number;
    readonly toolCalls: number;
    readonly toolErrors: number;
    readonly spawned: number;
    /** Spawn calls that were refused. */
    readonly refused: number;
    readonly descendants: number;
    readonly byStatus: Partial<Record<Status, number>>;
  };
  /** Spawn calls of this agent that were refused, oldest first; at most the last 100. */
  readonly refused: readonly RefusedRecord[];
  readonly result: string | null;
  readonly records: readonly { readonly path: string; readonly bytes: number }[];
  readonly warnings: readonly string[];
}

export interface AgentTree extends AgentRecord {
  readonly children: readonly AgentTree[];
}
