import { displayName } from "../../facts/display-name.ts";
import type { AgentRecord } from "../agent.ts";
import type { EventRef } from "../event.ts";
import type { Span } from "../span.ts";
import type { StepCore, StoryCore } from "../story.ts";

export const FINDING_KINDS = [
  "failed",
  "interrupted",
  "missing",
  "refused",
  "unused",
  "repeated",
  "contended",
  "looped",
  "waited",
  "silent",
  "cache-missed",
  "context-full",
  "compacted",
] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

export const FINDING_LABELS: Readonly<Record<FindingKind, string>> = {
  failed: "failed",
  interrupted: "interrupted",
  missing: "missing",
  refused: "refused",
  unused: "unused result",
  repeated: "same prompt",
  contended: "same file",
  looped: "loop",
  waited: "waited",
  silent: "silent",
  "cache-missed": "cache missed",
  "context-full": "context nearly full",
  compacted: "compacted",
};

/** Something that went wrong or was wasted, with the records that show it. */
export interface Finding {
  readonly kind: FindingKind;
  /** URIs of the agents that it is about. */
  readonly agents: readonly string[];
  /** One sentence. */
  readonly says: string;
  readonly evidence: readonly FindingEvidence[];
  /** How long it lasted; null if that is not known, or not a matter of time. */
  readonly durationMs: number | null;
}

/** A record that shows a finding. */
export interface FindingEvidence {
  readonly says: string;
  readonly uri: string;
  /** The id of the event; null if there is none. */
  readonly event: string | null;
  readonly ref: EventRef | null;
  readonly at: string | null;
}

/** An agent and what findings about it are computed from. */
export interface Subject {
  readonly story: StoryCore;
  readonly parent: StoryCore | null;
  readonly spans: readonly Span[];
  /** The last statement of another source about its end, such as a log; null if there is none. */
  readonly stated: { readonly says: string; readonly place: string } | null;
}

/** What findings need besides the agents. */
export interface Surroundings {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Tokens that fit into the context of a model; null if unknown. */
  readonly windowOf: (model: string, vendor: string | null) => number | null;
}

const MAX_CHARS = 300;

export function lineOf(text: string | null): string {
  const line = (text ?? "").trim().split("\n")[0] ?? "";
  return line.length <= MAX_CHARS ? line : `${line.slice(0, MAX_CHARS - 1).toWellFormed()}…`;
}

/** A finding about one agent. */
export const findingOf = (
  kind: FindingKind,
  { uri }: AgentRecord,
  says: string,
  evidence: Finding["evidence"],
  durationMs: number | null = null,
): Finding => ({ kind, agents: [uri], says, evidence, durationMs });

export const evidenceOf = ({ event }: StepCore, says: string): FindingEvidence => ({
  says,
  uri: event.uri,
  event: event.id,
  ref: event.ref,
  at: event.at,
});

/** An agent as evidence, if no record of it is known. */
export const evidenceOfAgent = (record: AgentRecord, says: string): FindingEvidence => ({
  says,
  uri: record.uri,
  event: null,
  ref: null,
  at: record.endedAt ?? record.lastActivityAt,
});

export const nameOf = (record: AgentRecord) => displayName(record);

/** The step of a tool call, or of its result. */
export const stepOfCall = (steps: readonly StepCore[], callId: string | null, kind: "toolCall" | "toolResult") =>
  callId === null ? undefined : steps.find(({ event }) => event.kind === kind && event.tool?.callId === callId);
