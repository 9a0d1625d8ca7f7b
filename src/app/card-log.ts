import type { Status } from "../core/agent.ts";
import { typeName } from "../core/display-name.ts";
import { type AgentEvent, shownText } from "../core/event.ts";
import type { AgentKey } from "../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent, namesOf } from "../core/link.ts";
import { endOf, kindOf } from "../core/record.ts";
import { type EventLog, type LogSpan, MergedLog } from "./event-log.ts";

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
    /** How the agent ended; null for everything else. */
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

/** Which card a session below a thread belongs to, and why. */
export interface SessionMapping {
  readonly child_session_id: string;
  readonly card_id: string;
  /** Null where the parent is not known. */
  readonly parent_session_id: string | null;
  readonly agent_type: string | null;
  readonly description: string | null;
  readonly created_at: string | null;
  /** Nobody knows which card it belongs to: it is shown in the only one that is worked on (`relay.single_card_guess`). */
  readonly inferred: boolean;
}

/** The provider's own id of an agent, whether it is a thread or stands below one. */
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
    content: `${isBelow ? `↳ ${who} | ` : ""}${wordsOf(event)}`,
    metadata: { _subagent: isBelow, _agent_type: typeOf(agent), uri: event.uri, tool: event.tool, usage: event.usage, status: event.status },
    created_at: event.at,
  };
}

function wordsOf({ kind, text, summary, tool, spawn, status }: AgentEvent): string {
  if (status !== null) return endWords(status);
  if (kind === "toolCall") return `${tool?.name ?? "tool"} ${JSON.stringify(tool?.input ?? null)}`;
  if (kind === "spawn") return `Spawned: ${text ?? spawn?.type ?? "an agent"}`;
  return shownText({ summary, text }) ?? "";
}

/** Why a finished agent is known to be finished is no news; why one failed or was stopped is. */
const endWords = ({ status, statusReason }: NonNullable<AgentEvent["status"]>) =>
  `${status.charAt(0).toUpperCase()}${status.slice(1)}${status === "completed" ? "" : `: ${statusReason}`}`;

/** An end that is not confirmed by the agent's own records is told when nothing has contradicted it for this long: these come a moment after the parent's, or when a server that was cut off answers again. */
const SETTLE_MS = 30_000;

/**
 * The log of a card: the events of all its agents, and how each sub-agent ended. History comes by time; what becomes known later is appended, so that a reader
 * who goes on behind the last entry misses nothing. An end is told once, when no record that is still on its way can change it.
 */
export class CardLog {
  readonly #events = new MergedLog();
  readonly #entries: CardLogPlace[] = [];
  readonly #ended = new Map<AgentKey, Status>();
  readonly #unconfirmed = new Map<AgentKey, { readonly status: Status; readonly since: number }>();

  /** Adds what is new. `toldAt`: when anything new was last read about these agents. */
  take(forest: Forest, logs: readonly EventLog[], now: number, toldAt: number): void {
    const before = this.#events.length;
    this.#events.take(logs);
    const fresh: (CardLogPlace & { readonly time: number })[] = this.#events.happened(before).map((one) => ({ ...one, is: "event" }));
    for (const { key } of logs) {
      const agent = agentOf(forest, key);
      if (agent.parent === null || !this.#isNewEnd(agent, now, toldAt)) continue;
      const time = endOf(agent);
      const { status, statusSource, statusReason } = agent.verdict;
      const id = `ended:${agent.uri}:${status}:${time ?? ""}`;
      fresh.push({ is: "end", id, key, at: iso(time), status: { status, statusSource, statusReason }, time: time ?? 0 });
    }
    fresh.sort((a, b) => a.time - b.time);
    this.#entries.push(...fresh);
  }

  #isNewEnd({ key, ending, verdict: { status } }: LinkedAgent, now: number, toldAt: number): boolean {
    if (status === "running") this.#ended.delete(key);
    const doubted = this.#unconfirmed.get(key);
    const since = ending === "unconfirmed" ? (doubted?.status === status ? doubted.since : now) : null;
    if (since === null) this.#unconfirmed.delete(key);
    else this.#unconfirmed.set(key, { status, since });
    // The same end may be worded anew, or timed anew, by a later record.
    if (ending === null || this.#ended.get(key) === status) return false;
    if (since !== null && now - Math.min(since, toldAt) < SETTLE_MS) return false;
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

/** Under the URI that the agent has by now; none where it is gone. */
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

/** `guessed`: agents that are in the card by a guess, with everybody below them. */
export function mappingsOf(forest: Forest, keys: readonly AgentKey[], card: string, guessed: ReadonlySet<AgentKey>): SessionMapping[] {
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
