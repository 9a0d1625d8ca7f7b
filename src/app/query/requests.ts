import type { ExchangeFilter, Invocation, RecordedExchange } from "../../core/facts/exchange.ts";
import { type AgentKey, type CallKey, partsOf, threadOf } from "../../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent, subtreeOf } from "../../core/link/forest.ts";
import type { Status } from "../../core/link/status.ts";
import { treeOf } from "../../core/views/record.ts";
import type { RequestRecord, Subtask } from "../../core/views/request.ts";
import { processLiveness } from "../../transports/processes.ts";
import { Failure } from "../failure.ts";
import type { Library } from "../ingest/library.ts";
import { resolve } from "./resolve.ts";

export interface RequestsQuery {
  /** Only of this agent. */
  readonly agent?: AgentKey;
  /** Omits internal model calls. */
  readonly isWork?: boolean;
  readonly limit: number;
  readonly after?: NonNullable<ExchangeFilter["after"]>;
}

const PAGE = 200;

/** Assigns requests to agents: by the response, which transcripts may name too, else by the request's own ids. */
export class Requests {
  readonly #library: Library;
  readonly #forests = new Map<AgentKey, Forest>();
  readonly #ofThread = new Map<AgentKey, readonly RecordedExchange[]>();

  constructor(library: Library) {
    this.#library = library;
  }

  get #under(): readonly string[] {
    return this.#library.under;
  }

  /** Newest first. */
  list({ agent, isWork = false, limit, after }: RequestsQuery): {
    readonly items: readonly RequestRecord[];
    readonly last: RecordedExchange | null;
    readonly isMore: boolean;
  } {
    const found: RecordedExchange[] = [];
    const thread = agent === undefined ? {} : { thread: threadOf(agent) };
    let place = after;
    for (;;) {
      const page = this.#library.store.exchanges({
        under: this.#under,
        limit: PAGE,
        ...thread,
        ...(place === undefined ? {} : { after: place }),
      });
      for (const exchange of page) {
        if (isWork && exchange.tag !== null) continue;
        if (agent === undefined || this.agentOf(exchange)?.key === agent) found.push(exchange);
        if (found.length > limit) break;
      }
      place = page.at(-1);
      if (found.length > limit || page.length < PAGE || place === undefined) break;
    }
    const shown = found.slice(0, limit);
    return {
      items: shown.map((exchange) => this.record(exchange)),
      last: shown.at(-1) ?? null,
      isMore: found.length > limit,
    };
  }

  find(id: string): RecordedExchange {
    const found = this.#library.store.exchange(id, this.#under);
    if (found === null)
      throw new Failure("not_found", `no request ${id}`, ["GET /api/requests lists the recorded ones"]);
    return found;
  }

  record(exchange: RecordedExchange): RequestRecord {
    const agent = this.agentOf(exchange);
    const { status, reason } = statusOf(exchange);
    return {
      request_id: exchange.id,
      uri: agent?.uri ?? null,
      is_subtask: agent !== null && agent.parent !== null,
      parent_task_request_id: agent === null ? null : this.#spawnRequest(agent),
      task_tool_invocation: this.#tasks(exchange).map(({ toolUseId, name, prompt, description }) => ({
        tool_use_id: toolUseId,
        name,
        prompt,
        description,
      })),
      conversation_id: agent?.sessionId ?? partsOf(exchange.thread).thread,
      branch: exchange.branch,
      previous_request_id: exchange.before,
      is_retry: exchange.isRetry,
      tag: exchange.tag,
      method: exchange.method,
      path: exchange.path,
      upstream: exchange.upstream,
      model: exchange.model,
      message_count: exchange.messages,
      status,
      status_reason: reason,
      http_status: exchange.httpStatus,
      stop_reason: exchange.stop,
      error: exchange.error,
      usage: exchange.usage,
      started_at: new Date(exchange.at).toISOString(),
      ended_at: exchange.durationMs === null ? null : new Date(exchange.at + exchange.durationMs).toISOString(),
      first_token_ms: exchange.firstTokenMs,
      duration_ms: exchange.durationMs,
    };
  }

  /** Spawn calls. For tools that can do other things too, only calls that spawned an agent. */
  #tasks({ thread, invocations }: RecordedExchange): readonly Invocation[] {
    if (invocations.every(({ makes }) => makes === "one")) return invocations;
    const spawning = new Set(this.forestOf(thread).agents.values().map(callOf));
    return invocations.filter(({ makes, call }) => makes === "one" || spawning.has(call));
  }

  /** The request whose response contains the spawn call of the agent. */
  #spawnRequest(agent: LinkedAgent): string | null {
    const call = callOf(agent);
    const exchange = call === null ? null : this.#library.store.exchangeOfCall(call, this.#under);
    return exchange?.id ?? agent.evidence[0]?.request ?? null;
  }

  /** The agents spawned by calls in this response, in call order; then those linked to it manually without a call. */
  subtasks({ id, thread, invocations }: RecordedExchange): readonly Subtask[] {
    const forest = this.forestOf(thread);
    const made = Map.groupBy(forest.agents.values(), callOf);
    const called = invocations.flatMap((invocation) =>
      (made.get(invocation.call) ?? []).map((agent) => ({ invocation, agent })),
    );
    const linked = (made.get(null) ?? [])
      .filter(({ evidence }) => evidence[0]?.request === id)
      .map((agent) => ({ invocation: null, agent }));
    return [...called, ...linked].map(({ invocation, agent }, i) => this.#subtask(invocation, agent, forest, i + 1));
  }

  /** All agents below an agent as its sub-tasks, parents first. */
  subtasksBelow(root: AgentKey): readonly Subtask[] {
    const forest = this.forestOf(root);
    const below = subtreeOf(forest, root).slice(1);
    return below.map((key, i) => {
      const agent = agentOf(forest, key);
      const call = callOf(agent);
      const exchange = call === null ? null : this.#library.store.exchangeOfCall(call, this.#under);
      return this.#subtask(
        exchange?.invocations.find((invocation) => invocation.call === call) ?? null,
        agent,
        forest,
        i + 1,
      );
    });
  }

  #subtask(invocation: Invocation | null, agent: LinkedAgent, forest: Forest, number: number): Subtask {
    const { usage, durationMs, counts, status } = treeOf(forest, agent.key, this.#library.price);
    const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usage.subtree;
    const requests = this.ofThread(threadOf(agent.key)).filter((exchange) => this.agentOf(exchange)?.key === agent.key);
    return {
      request_id: requests[0]?.id ?? null,
      parent_task_request_id: this.#spawnRequest(agent),
      task_number: number,
      tool_use_id: invocation?.toolUseId ?? null,
      description: agent.description ?? invocation?.description ?? null,
      prompt: agent.prompt ?? invocation?.prompt ?? null,
      // If its requests were not recorded, use its own records.
      message_count: requests.length > 0 ? longest(requests.filter(({ tag }) => tag === null)) : counts.messages,
      status,
      uri: agent.uri,
      tokens: inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens,
      duration_ms: durationMs,
    };
  }

  /** All requests of a thread, oldest first. */
  ofThread(thread: AgentKey): readonly RecordedExchange[] {
    const known =
      this.#ofThread.get(thread) ??
      this.#library.store.exchanges({ under: this.#under, thread, limit: Number.MAX_SAFE_INTEGER }).toReversed();
    this.#ofThread.set(thread, known);
    return known;
  }

  agentOf({ thread, speaker, response }: RecordedExchange): LinkedAgent | null {
    const forest = this.forestOf(thread);
    const owner = response === null ? undefined : forest.ownerOf(response);
    const key = [owner, speaker, thread].find((one) => one !== undefined && forest.agents.has(one));
    return key === undefined ? null : agentOf(forest, key);
  }

  forestOf(thread: AgentKey): Forest {
    const known = this.#forests.get(thread) ?? this.#library.forestOf([thread]);
    this.#forests.set(thread, known);
    return known;
  }
}

/** Number of messages of the longest of these conversations, including the response. */
export const longest = (list: readonly RecordedExchange[]): number =>
  list.reduce((most, { messages, stop }) => Math.max(most, messages + (stop === null ? 0 : 1)), 0);

/** The spawn call of the agent in its current parent. An agent moved manually no longer belongs to its former call. */
function callOf({ evidence }: LinkedAgent): CallKey | null {
  return evidence.find(({ call, parent }) => call !== null && parent === evidence[0]?.parent)?.call ?? null;
}

/** The status of a request in the terms of agent statuses. If the proxy was killed, the response is lost. */
function statusOf({ how, error, httpStatus, process, stop }: RecordedExchange): {
  readonly status: Status;
  readonly reason: string;
} {
  switch (how) {
    case "open": {
      const isAlive =
        process !== null &&
        processLiveness({ pid: process.pid, startedAt: process.startedAt, birth: null, domain: null }) === "alive";
      return isAlive
        ? { status: "running", reason: "the response is not complete yet" }
        : { status: "shutdown", reason: "the proxy ended before the response was complete" };
    }
    case "finished":
      if (error !== null || (httpStatus ?? 0) >= 400)
        return { status: "errored", reason: error ?? `the upstream returned ${httpStatus}` };
      return {
        status: "completed",
        reason: stop === null ? "the response is complete" : `the response is complete: ${stop}`,
      };
    case "aborted":
      return { status: "shutdown", reason: "the client disconnected before the response was complete" };
    case "failed":
    case "timed-out":
    case "refused":
      return { status: "errored", reason: error ?? how };
    default:
      return how satisfies never;
  }
}

/** The given URI itself, or the URI of the agent that made the request with this id. */
export function uriOf(library: Library, id: string): string {
  const exchange = library.store.exchange(id, library.under);
  if (exchange === null) return id;
  const agent = new Requests(library).agentOf(exchange);
  if (agent === null)
    throw new Failure("not_found", `the agent of request ${id} is unknown`, ["use the URI of the agent"]);
  return agent.uri;
}

export const keyOf = (library: Library, id: string): AgentKey => resolve(library, uriOf(library, id)).key;
