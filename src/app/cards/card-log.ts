import { typeName } from "../../core/facts/display-name.ts";
import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf, type Forest, type LinkedAgent } from "../../core/link/forest.ts";
import { namesOf } from "../../core/link/shape.ts";
import type { Status } from "../../core/link/status.ts";
import { type AgentEvent, shownText } from "../../core/views/event.ts";
import { endOf, kindOf } from "../../core/views/record.ts";
import { type EventLog, type LogSpan, MergedLog } from "../query/event-log.ts";

/** A line of a card's log. */
export interface CardLogEntry {
  readonly id: string;
  readonly session_id: string;
  readonly event_type: AgentEvent["kind"];
  readonly agent: string;
  readonly content: string;
  readonly metadata: {
    readonly _subagent: boolean;
    readonly _agent_type: string | null;
    readonly uri: string;
    readonly tool: AgentEvent["tool"];
    readonly usage: AgentEvent["usage"];
    /** The final status of the agent; null for other entries. */
    readonly status: AgentEvent["status"];
  };
  readonly created_at: string | null;
}

export interface AgentActivity {
  readonly agent_type: string | null;
  readonly session_id: string;
  readonly event_count: number;
  readonly first_seen: string | null;
  readonly last_seen: string | null;
}

/** Assigns a sub-agent's session to a card. */
export interface SessionMapping {
  readonly child_session_id: string;
  readonly card_id: string;
  /** Null if the parent is unknown. */
  readonly parent_session_id: string | null;
  readonly agent_type: string | null;
  readonly description: string | null;
  readonly created_at: string | null;
  /** Its card is unknown: it is shown in the only active one (`relay.single_card_guess`). */
  readonly inferred: boolean;
}

/** The native id of a thread or agent. */
const ownId = ({ agentId, sessionId }: LinkedAgent) => agentId ?? sessionId;
const typeOf = (agent: LinkedAgent) => namesOf(agent, agent.spawnCall).type;
const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

export function logEntry(event: AgentEvent, agent: LinkedAgent): CardLogEntry {
  const isBelow = agent.parent !== null;
  const who = typeName({ ...namesOf(agent, agent.spawnCall), kind: kindOf(agent) });
  return {
    id: event.id,
    session_id: ownId(agent),
    event_type: event.kind,
    agent: who,
    content: `${isBelow ? `↳ ${who} | ` : ""}${contentOf(event)}`,
    metadata: {
      _subagent: isBelow,
      _agent_type: typeOf(agent),
      uri: event.uri,
      tool: event.tool,
      usage: event.usage,
      status: event.status,
    },
    created_at: event.at,
  };
}

function contentOf({ kind, text, summary, tool, spawn, status }: AgentEvent): string {
  if (status !== null) return statusText(status);
  if (kind === "toolCall") return `${tool?.name ?? "tool"} ${JSON.stringify(tool?.input ?? null)}`;
  if (kind === "spawn") return `Spawned: ${text ?? spawn?.type ?? "an agent"}`;
  return shownText({ summary, text }) ?? "";
}

/** The reason is added only if the agent did not complete. */
const statusText = ({ status, statusReason }: NonNullable<AgentEvent["status"]>) =>
  `${status.charAt(0).toUpperCase()}${status.slice(1)}${status === "completed" ? "" : `: ${statusReason}`}`;

/**
 * An end that the agent's own records do not confirm is logged after this time without contradiction. They may arrive
 * after the parent's, or when a relay reconnects.
 */
const SETTLE_MS = 30_000;

/**
 * The log of a card: the events of all its agents, and the final status of each sub-agent. History is sorted by time;
 * later entries are appended, so a reader that continues after the last entry misses nothing. An end is logged once,
 * when no pending record can change it.
 */
export class CardLog {
  readonly #events = new MergedLog();
  readonly #entries: CardLogPlace[] = [];
  readonly #ended = new Map<AgentKey, Status>();
  readonly #unconfirmed = new Map<AgentKey, { readonly status: Status; readonly since: number }>();

  /** Adds new entries. `changedAt`: when these agents last changed. */
  take(forest: Forest, logs: readonly EventLog[], now: number, changedAt: number): void {
    const before = this.#events.length;
    this.#events.take(logs);
    const fresh: (CardLogPlace & { readonly time: number })[] = this.#events
      .happened(before)
      .map((one) => ({ ...one, is: "event" }));
    for (const { key } of logs) {
      const agent = agentOf(forest, key);
      if (agent.parent === null || !this.#isNewEnd(agent, now, changedAt)) continue;
      const time = endOf(agent);
      const { status, statusSource, statusReason } = agent.verdict;
      const id = `ended:${agent.uri}:${status}:${time ?? ""}`;
      fresh.push({
        is: "end",
        id,
        key,
        at: iso(time),
        status: { status, statusSource, statusReason },
        time: time ?? 0,
      });
    }
    fresh.sort((a, b) => a.time - b.time);
    this.#entries.push(...fresh);
  }

  #isNewEnd({ key, ending, verdict: { status } }: LinkedAgent, now: number, changedAt: number): boolean {
    if (status === "running") this.#ended.delete(key);
    const unconfirmed = this.#unconfirmed.get(key);
    const since = ending === "unconfirmed" ? (unconfirmed?.status === status ? unconfirmed.since : now) : null;
    if (since === null) this.#unconfirmed.delete(key);
    else this.#unconfirmed.set(key, { status, since });
    // A later record may change the reason or time of the same end.
    if (ending === null || this.#ended.get(key) === status) return false;
    if (since !== null && now - Math.min(since, changedAt) < SETTLE_MS) return false;
    this.#ended.set(key, status);
    return true;
  }

  get ids(): readonly string[] {
    return this.#entries.map(({ id }) => id);
  }

  async page(forest: Forest, from: number, limit: number): Promise<readonly AgentEvent[]> {
    const events: AgentEvent[] = [];
    for (const entry of this.#entries.slice(from, from + limit))
      events.push(...(entry.is === "end" ? endEvents(forest, entry) : await this.#events.page(entry.index, 1)));
    return events;
  }
}

interface CardLogEnd {
  readonly is: "end";
  readonly id: string;
  readonly key: AgentKey;
  readonly at: string | null;
  readonly status: NonNullable<AgentEvent["status"]>;
}
type CardLogPlace = { readonly is: "event"; readonly id: string; readonly index: number } | CardLogEnd;

/** Under the agent's current URI; empty if the agent no longer exists. */
function endEvents(forest: Forest, { id, key, at, status }: CardLogEnd): AgentEvent[] {
  const uri = forest.agents.get(key)?.uri;
  const none = { text: null, summary: null, tool: null, usage: null, spawn: null, ref: null };
  return uri === undefined ? [] : [{ schema: "retinue/event@1", uri, id, seq: 0, at, kind: "status", status, ...none }];
}

export const activityOf = (agent: LinkedAgent, { events, first, last }: LogSpan): AgentActivity => ({
  agent_type: typeOf(agent),
  session_id: ownId(agent),
  event_count: events,
  first_seen: iso(first),
  last_seen: iso(last),
});

/** `guessed`: agents assigned to the card by a guess, with their subtrees. */
export function mappingsOf(
  forest: Forest,
  keys: readonly AgentKey[],
  card: string,
  guessed: ReadonlySet<AgentKey>,
): SessionMapping[] {
  return keys.flatMap((key) => {
    const agent = agentOf(forest, key);
    if (agent.parent === null) return [];
    const parent = agentOf(forest, agent.parent);
    const { description, name, title } = namesOf(agent, agent.spawnCall);
    return [
      {
        child_session_id: ownId(agent),
        card_id: card,
        parent_session_id: parent.kind === "unassigned" ? null : ownId(parent),
        agent_type: typeOf(agent),
        description: description ?? name ?? title,
        created_at: iso(agent.firstAt),
        inferred: guessed.has(key),
      },
    ];
  });
}
