import { typeName } from "../core/display-name.ts";
import { type AgentEvent, shownText } from "../core/event.ts";
import type { AgentKey } from "../core/ids.ts";
import { agentOf, type Forest, type LinkedAgent, namesOf } from "../core/link.ts";
import { kindOf } from "../core/record.ts";
import type { LogSpan } from "./event-log.ts";

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
  readonly parent_session_id: string;
  readonly agent_type: string | null;
  readonly description: string | null;
  readonly created_at: string | null;
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
    metadata: { _subagent: isBelow, _agent_type: typeOf(agent), uri: event.uri, tool: event.tool, usage: event.usage },
    created_at: event.at,
  };
}

function wordsOf({ kind, text, summary, tool, spawn }: AgentEvent): string {
  if (kind === "toolCall") return `${tool?.name ?? "tool"} ${JSON.stringify(tool?.input ?? null)}`;
  if (kind === "spawn") return `Spawned: ${text ?? spawn?.type ?? "an agent"}`;
  return shownText({ summary, text }) ?? "";
}

export const activityOf = (agent: LinkedAgent, { events, first, last }: LogSpan): AgentActivity => ({
  agent_type: typeOf(agent),
  session_id: ownId(agent),
  event_count: events,
  first_seen: iso(first),
  last_seen: iso(last),
});

export function mappingsOf(forest: Forest, keys: readonly AgentKey[], card: string): SessionMapping[] {
  return keys.flatMap((key) => {
    const agent = agentOf(forest, key);
    if (agent.parent === null) return [];
    return [
      {
        child_session_id: ownId(agent),
        card_id: card,
        parent_session_id: ownId(agentOf(forest, agent.parent)),
        agent_type: typeOf(agent),
        description: namesOf(agent, agent.spawnCall).description ?? namesOf(agent, agent.spawnCall).name,
        created_at: iso(agent.firstAt),
      },
    ];
  });
}
