import type { LimitScope } from "../../../src/core/guard/limit-text.ts";
import type { Limit, LimitName } from "../../../src/core/guard/limits.ts";
import type { RedactionLevel } from "../../../src/core/redaction/redaction.ts";
import type { AgentRecord as CoreRecord, AgentTree as CoreTree } from "../../../src/core/views/agent.ts";
import type { AgentEvent, EventKind, EventRef } from "../../../src/core/views/event.ts";

export type { Usage } from "../../../src/core/facts/usage.ts";
export { reportedOnly, totalTokens } from "../../../src/core/facts/usage.ts";
export type { Status } from "../../../src/core/link/status.ts";
export { STATUSES } from "../../../src/core/link/status.ts";
export type { AgentEvent, EventKind, EventRef } from "../../../src/core/views/event.ts";
export { shownText } from "../../../src/core/views/event.ts";
export type { Explanation } from "../../../src/core/views/explain.ts";
export { shareOf } from "../../../src/core/views/explain-share.ts";
export type { FileUse, UsedFile } from "../../../src/core/views/files.ts";
export type { Finding, FindingEvidence, FindingKind } from "../../../src/core/views/findings/finding.ts";
export { FINDING_LABELS } from "../../../src/core/views/findings/finding.ts";
export type { Message } from "../../../src/core/views/messages.ts";

export interface Paged<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** An event as the server sends it. Very long texts are truncated. */
export interface SentEvent extends AgentEvent {
  readonly cut?: { readonly chars: number } | null;
}

/** `GET /api/agents/{uri}/events` */
export interface EventPage {
  readonly items: readonly SentEvent[];
  readonly next: string;
  /** Position of the first event. */
  readonly first: number;
  readonly total: number;
}

/** Reading progress, newest files first. */
export interface Reading {
  readonly done: number;
  readonly all: number;
  readonly bytes: number;
  readonly allBytes: number;
  readonly leftMs: number | null;
  /** All files modified after this time have been read. */
  readonly reaches: string;
}

/** `GET /api/health` */
export interface Health {
  readonly version: string;
  /** Null on a team server. */
  readonly home: string | null;
  readonly startedAt: string;
  readonly reading: Reading | null;
  readonly watching: boolean;
  readonly demo: boolean;
  /** The names of products, by provider. */
  readonly products: Readonly<Record<string, string>>;
  /** Current troubles of the server. */
  readonly troubles: readonly Trouble[];
}

export interface Trouble {
  readonly code: string;
  readonly message: string;
  readonly since: string;
}

/** `GET /api/agents/{uri}/attach` */
export interface Attach {
  readonly uri: string;
  readonly command: string;
  readonly product: string;
  readonly begins: "history" | "text";
  readonly runs: string;
  readonly folder: string | null;
  readonly notes: readonly string[];
}

/** `GET /api/agents/{uri}/why` */
export type { Why } from "../../../src/core/views/why.ts";

/** `GET /api/search` */
export interface SearchPage extends Paged<SearchHit> {
  /** The part that is not indexed yet: files modified before `reaches`. Null if the index is complete. */
  readonly incomplete: { readonly files: number; readonly bytes: number; readonly reaches: string } | null;
}

export interface SearchHit {
  readonly uri: string;
  readonly kind: EventKind;
  readonly at: string | null;
  readonly snippet: string;
  readonly marks: readonly (readonly [number, number])[];
  readonly ref: EventRef;
  /** Set on a team server. */
  readonly owner?: string;
}

/** `GET /api/guard` */
export interface Guard {
  readonly limits: readonly (LimitOf & { readonly scope: LimitScope; readonly name: string | null })[];
  readonly hooks: readonly {
    readonly provider: string;
    readonly product: string;
    readonly commands: readonly string[];
    readonly canRefuse: boolean;
  }[];
  readonly threads: readonly {
    readonly uri: string;
    readonly title: string | null;
    readonly uses: readonly (LimitOf & {
      readonly whose: string | null;
      readonly used: number | null;
      readonly share: number | null;
    })[];
  }[];
  readonly denied: readonly GuardEvent[];
  readonly warned: readonly GuardEvent[];
}

interface LimitOf extends Limit {
  readonly limit: LimitName;
}

export interface GuardEvent extends LimitOf {
  readonly at: string;
  readonly uri: string;
  readonly id: string;
  readonly type: string | null;
  readonly description: string | null;
  readonly via: string;
  readonly reason: string;
}

/** `GET /api/doctor` */
export { type Examination as Doctor, isListed } from "../../../src/core/views/examination.ts";

/** `owner` is set on a team server. */
export type AgentRecord = CoreRecord & { readonly owner?: string };
export type AgentTree = CoreTree & { readonly owner?: string };

/** `GET /api/session` of a team server */
export interface Session {
  /** The owner of the token. */
  readonly owner: string;
  readonly scope: "read" | "admin";
  /** All owners whose threads the token may read. */
  readonly owners: readonly string[];
}

/** An entry of `GET /api/team/audit` */
export interface AuditEntry {
  readonly at: string;
  /** The id of the token; null if the request had none. */
  readonly token: string | null;
  readonly owner: string | null;
  readonly action: string;
  readonly subject: string | null;
  /** Whose thread the subject is; null if it is not one. */
  readonly threadOwner: string | null;
}

/** `GET /api/ship`: what this machine shares with a team server. */
export interface Sharing {
  readonly url: string;
  readonly level: RedactionLevel;
  /** Shared folders; all if empty. */
  readonly projects: readonly string[];
  readonly ignoresCase: boolean;
  /** What is not shipped yet; null unless requested. */
  readonly waiting: {
    /** Number of threads by reason: new, changed, running, removed, refused. */
    readonly threads: Readonly<Record<string, number>>;
    readonly items: readonly { readonly uri: string; readonly why: string; readonly reason: string | null }[];
    readonly sentAt: string | null;
    readonly documents: number;
    readonly bytes: number;
    readonly reason: string | null;
    readonly nextAt: string | null;
  } | null;
}
