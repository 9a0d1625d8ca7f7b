import type { RecordedExchange } from "../../core/facts/exchange.ts";
import { type AgentKey, threadOf } from "../../core/facts/ids.ts";
import { agentOf, subtreeOf } from "../../core/link/forest.ts";
import type { ConversationMessage, Subtask } from "../../core/views/request.ts";
import { Failure } from "../failure.ts";
import type { Library } from "../ingest/library.ts";
import { messagesOf } from "./request-content.ts";
import { longest, Requests } from "./requests.ts";
import { resolve } from "./resolve.ts";

export interface Branch {
  readonly name: string;
  readonly requests: number;
  readonly messages: number;
  readonly first_request_id: string;
  readonly last_request_id: string;
}

/** A thread as seen in its API traffic. */
export interface Conversation {
  readonly id: string;
  readonly uri: string;
  readonly title: string | null;
  readonly messages: number;
  readonly requests: number;
  readonly subtasks: number;
  readonly branches: readonly Branch[];
  readonly first_at: string;
  readonly last_at: string;
}

export interface ConversationPlace {
  readonly at: number;
  readonly id: string;
}

const PAGE = 500;

/** Conversations with recorded traffic, newest request first. */
export function conversations(
  library: Library,
  limit: number,
  after?: ConversationPlace,
): { readonly items: readonly Conversation[]; readonly next: ConversationPlace | null } {
  const reader = new Reader(library);
  const items: Conversation[] = [];
  const seen = new Set<AgentKey>();
  let place = after;
  for (;;) {
    const page = library.store.exchanges({
      under: library.under,
      limit: PAGE,
      ...(place === undefined ? {} : { after: place }),
    });
    for (const exchange of page) {
      const root = reader.rootOf(exchange.thread);
      // Conversations with newer requests were on an earlier page.
      if (root === null || seen.has(root) || (after !== undefined && reader.isNewer(root, after))) continue;
      if (items.length === limit) return { items, next: place ?? null };
      seen.add(root);
      items.push(reader.read(root));
      place = exchange;
    }
    if (page.length < PAGE) return { items, next: null };
    place = page.at(-1);
  }
}

interface Page<T> {
  readonly items: readonly T[];
  /** Start of the next page; null on the last page. */
  readonly next: number | null;
}

/** A conversation with its messages. */
export interface ConversationDetail extends Omit<Conversation, "messages" | "subtasks"> {
  readonly message_count: number;
  readonly subtask_count: number;
  /** The branch whose messages these are. */
  readonly branch: string;
  readonly messages: Page<ConversationMessage>;
  readonly subtasks: Page<Subtask>;
}

export interface ConversationQuery {
  /** Default: the branch with the newest request. */
  readonly branch?: string;
  readonly limit: number;
  /** Number of messages on previous pages. */
  readonly messagesAfter: number;
  readonly subtasksAfter: number;
}

/** Finds the conversation by its id or by the URI of one of its agents. */
export async function conversation(
  library: Library,
  id: string,
  query: ConversationQuery,
): Promise<ConversationDetail> {
  const reader = new Reader(library);
  const root = reader.rootOf(threadOf(resolve(library, id).key));
  if (root === null || reader.below(root).length === 0)
    throw new Failure("not_found", `no recorded API traffic of ${id}`, [
      "GET /api/conversations lists the recorded ones",
    ]);
  const { messages, subtasks, ...rest } = reader.read(root);
  const own = reader.own(root);
  const branch = query.branch ?? own.at(-1)?.branch ?? "main";
  const requests = own.filter((exchange) => exchange.branch === branch);
  if (query.branch !== undefined && requests.length === 0)
    throw new Failure("not_found", `no branch ${branch} in ${rest.uri}`, [
      `branches: ${rest.branches.map(({ name }) => name).join(", ")}`,
    ]);
  return {
    ...rest,
    message_count: messages,
    subtask_count: subtasks,
    branch,
    messages: pageOf(await messagesOf(requests), query.messagesAfter, query.limit),
    subtasks: pageOf(reader.subtasks(root), query.subtasksAfter, query.limit),
  };
}

function pageOf<T>(all: readonly T[], after: number, limit: number): Page<T> {
  const end = after + limit;
  return { items: all.slice(after, end), next: end < all.length ? end : null };
}

/** Links each tree once. */
class Reader {
  readonly #requests: Requests;
  readonly #roots = new Map<AgentKey, AgentKey | null>();
  readonly #below = new Map<AgentKey, readonly RecordedExchange[]>();

  constructor(library: Library) {
    this.#requests = new Requests(library);
  }

  rootOf(thread: AgentKey): AgentKey | null {
    const known = this.#roots.get(thread);
    if (known !== undefined) return known;
    const forest = this.#requests.forestOf(thread);
    let key = forest.agents.has(thread) ? thread : null;
    for (let above = key; above !== null; above = agentOf(forest, above).parent) key = above;
    this.#roots.set(thread, key);
    return key;
  }

  /** All requests of a thread and its subtree, oldest first. */
  below(root: AgentKey): readonly RecordedExchange[] {
    const known = this.#below.get(root);
    if (known !== undefined) return known;
    const threads = new Set(subtreeOf(this.#requests.forestOf(root), root).map(threadOf));
    const all = [...threads]
      .flatMap((thread) => this.#requests.ofThread(thread))
      .sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1));
    this.#below.set(root, all);
    return all;
  }

  isNewer(root: AgentKey, { at, id }: ConversationPlace): boolean {
    const newest = this.below(root).at(-1);
    return newest !== undefined && (newest.at > at || (newest.at === at && newest.id <= id));
  }

  /** Requests of the thread itself, without internal ones. */
  own(root: AgentKey): readonly RecordedExchange[] {
    return this.below(root).filter(
      (exchange) => exchange.tag === null && this.#requests.agentOf(exchange)?.key === root,
    );
  }

  subtasks(root: AgentKey): readonly Subtask[] {
    return this.#requests.subtasksBelow(root);
  }

  read(root: AgentKey): Conversation {
    const forest = this.#requests.forestOf(root);
    const { uri, sessionId, title } = agentOf(forest, root);
    const all = this.below(root);
    const own = this.own(root);
    return {
      id: sessionId,
      uri,
      title,
      messages: longest(own),
      requests: all.length,
      subtasks: subtreeOf(forest, root).length - 1,
      branches: [...Map.groupBy(own, ({ branch }) => branch)].map(([name, list]) => branchOf(name, list)),
      first_at: new Date(all[0]?.at ?? 0).toISOString(),
      last_at: new Date(all.at(-1)?.at ?? 0).toISOString(),
    };
  }
}

const branchOf = (name: string, list: readonly RecordedExchange[]): Branch => ({
  name,
  requests: list.length,
  messages: longest(list),
  first_request_id: list[0]?.id ?? "",
  last_request_id: list.at(-1)?.id ?? "",
});
