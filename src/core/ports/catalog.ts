import type { Status } from "../link/status.ts";
import type { AgentRecord, AgentTree } from "../views/agent.ts";
import type { AgentEvent } from "../views/event.ts";
import type { Explanation } from "../views/explain.ts";
import type { UsedFile } from "../views/files.ts";
import type { FoundText } from "../views/found-text.ts";
import type { Message } from "../views/messages.ts";
import type { Span } from "../views/span.ts";
import type { Group, StatsLine } from "../views/stats.ts";
import type { Why } from "../views/why.ts";

/**
 * What the HTTP API and the dashboard ask. The local machine implements it over its index, a team server over its
 * database; both pass test/contract/catalog.ts.
 *
 * A catalog answers one viewer. A team server makes one for each request, narrowed to the owners that the viewer may
 * see and to the requested one; what it leaves out does not exist for the viewer. A URI may be any accepted form. If it
 * names nothing, or several agents, the method rejects with a `Failure` of code `not_found`; if it is malformed, with
 * `usage`. Everything else that fails rejects with another error.
 *
 * `live` of an answer is a position of `changes`: the changes after it, applied to the answer, give the current state.
 */
export interface Catalog {
  /** Records of top-level threads, newest activity first. */
  threads(query: ThreadsQuery): Promise<ThreadsPage>;
  /** The record of an agent with its subtree. */
  tree(uri: string): Promise<Live & { readonly tree: Owned<AgentTree> }>;
  /**
   * Events of an agent or its subtree: history by time, then in order of arrival. Events of the same time are in the
   * order of `subtreeOf`, so a spawn is before the first event of its agent. Null if the cursor has expired.
   */
  events(uri: string, query: EventsQuery): Promise<EventsPage | null>;
  /** The event of an agent with this id, with all of its text. */
  event(uri: string, id: string): Promise<AgentEvent | null>;
  detail<W extends DetailKind>(uri: string, what: W): Promise<Details[W]>;
  /**
   * The spans of an agent and its subtree, or the changes since `after`, which is `next` of an earlier answer. A whole
   * answer lists every agent, also those without spans, in the order of `subtreeOf`.
   */
  spans(uri: string, after: string | null): Promise<Live & SpansAnswer>;
  /** Texts that contain all the words, best match first; the last word may be a prefix. */
  search(words: readonly string[], limit: number): Promise<SearchAnswer>;
  stats(query: StatsQuery): Promise<Live & StatsAnswer>;
  health(): Promise<CatalogHealth>;
  /**
   * Changes of what is followed, after this position; null: from now on. Waits without work until there are some. Ends
   * when the signal is aborted; then everything it holds is released.
   */
  changes(follow: Follow, after: string | null, until: AbortSignal): Promise<ChangeStream>;
}

/** On a team server: whose agent it is. */
export type Owned<R extends AgentRecord> = R & { readonly owner?: string };

export interface Live {
  readonly live: string;
}

export interface ThreadsQuery {
  readonly provider?: string;
  /** This folder and its subfolders. */
  readonly cwd?: string;
  /** Minimum time of the last activity, in epoch milliseconds. */
  readonly since?: number;
  readonly running?: boolean;
  readonly status?: Status;
  readonly project?: string;
  readonly limit: number;
  /** `next` of the previous page. An invalid one rejects with a `Failure` of code `usage`. */
  readonly cursor?: string;
}

export interface ThreadsPage extends Live {
  readonly items: readonly Owned<AgentRecord>[];
  /** Null on the last page. */
  readonly next: string | null;
}

export interface EventsQuery {
  /** `next` of an earlier page: continue after it. Not together with `from`. */
  readonly after?: string;
  /** Start at this position; a negative one counts from the end. */
  readonly from?: number;
  readonly limit: number;
  readonly subtree: boolean;
}

export interface EventsPage extends Live {
  readonly items: readonly AgentEvent[];
  /** Continues after this page, also if the last page was reached: new events follow it. */
  readonly next: string;
  /** The position of the first item. */
  readonly first: number;
  readonly total: number;
}

/** Each about an agent with its subtree, except `why`, which is about the agent alone. */
export interface Details {
  readonly why: Why;
  /** Oldest first. */
  readonly messages: readonly Message[];
  readonly explain: Explanation;
  readonly files: readonly UsedFile[];
}
export type DetailKind = keyof Details;

/** An edit of one agent's spans; `removed` is null if it replaces all spans from `first` on. */
export interface AgentSpans {
  readonly uri: string;
  readonly first: number;
  readonly removed: number | null;
  readonly spans: readonly Span[];
}

export interface SpansAnswer {
  /** Edits of one agent are in the order in which to apply them. */
  readonly items: readonly AgentSpans[];
  /** `after` of the next request. */
  readonly next: string;
  /** False if the answer contains only changes since `after`. */
  readonly whole: boolean;
}

export interface SearchAnswer {
  /** Text that is not searched yet; null if all is. `reaches`: all text written after this time is searched. */
  readonly incomplete: { readonly files: number; readonly bytes: number; readonly reaches: string } | null;
  readonly items: readonly FoundText[];
}

/** How far reading has come. */
interface ReadingProgress {
  readonly done: number;
  readonly all: number;
  readonly bytes: number;
  readonly allBytes: number;
  /** Estimated; null before anything was read. */
  readonly leftMs: number | null;
  /** All files modified after this time have been read. */
  readonly reaches: string;
}

export interface StatsQuery {
  /** Epoch milliseconds; whole days (UTC) are counted. Null: everything. */
  readonly since: number | null;
  readonly by: readonly Group[];
  /** Also the threads of one line, highest cost first. */
  readonly behind: { readonly by: Group; readonly key: string | null; readonly limit: number } | null;
}

export interface StatsAnswer {
  /** What is not counted yet; null if everything is. */
  readonly incomplete: ReadingProgress | null;
  /** Numbers of threads and quartiles of durations are approximate; tokens, costs and agents are exact. */
  readonly approximate: boolean;
  readonly total: StatsLine;
  readonly by: Partial<Record<Group, readonly StatsLine[]>>;
  /** The key of each line is the URI of the thread. */
  readonly threads: readonly (StatsLine & { readonly record: Owned<AgentRecord> | null })[];
}

export interface CatalogHealth extends Live {
  /** Null once everything was read. */
  readonly reading: ReadingProgress | null;
  /** Whether changes are noticed as they happen. */
  readonly watching: boolean;
  /** What cannot be done at the moment, and since when. */
  readonly troubles: readonly { readonly code: string; readonly message: string; readonly since: string }[];
}

/** What a client follows, by URI. Nothing means everything except spans. */
export interface Follow {
  readonly threads: boolean;
  /** Records of these agents and their subtrees. */
  readonly trees: readonly string[];
  /** Events of these agents alone. */
  readonly events: readonly string[];
  /** Events of these agents and their subtrees. */
  readonly logs: readonly string[];
  readonly cards: boolean;
  /** Spans of these agents and their subtrees. */
  readonly spans: readonly string[];
}

export type ChangeType = "agent" | "removed" | "event" | "reset" | "spans" | "card" | "card-removed" | "troubles";

/** One message of the live stream. */
export interface LiveMessage {
  readonly type: ChangeType | "ready";
  /** A position: the stream can be continued after it. */
  readonly id: string;
  /** JSON on one line. */
  readonly data: string;
}

export interface ChangeStream {
  /** `ready`, or `reset` if the changes after the requested position are no longer available. */
  readonly first: LiveMessage;
  /** Waits for the next messages. Empty if the stream has ended. */
  next(): Promise<readonly LiveMessage[]>;
}
