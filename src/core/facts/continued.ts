import type { AgentKey } from "./ids.ts";

/**
 * If a product cannot continue an agent, `attach` begins a new session whose first message contains this line. It is
 * the only record that connects the session to the agent.
 */
export const continuedLine = (key: AgentKey) => `[continues agent ${key}]`;

const CONTINUED = /^["'\s]*\[continues agent ([a-z]+:[^\s[\]]{6,300})\]/;

/** The agent that a session with this prompt continues. */
export const continuedFrom = (prompt: string): AgentKey | null => (CONTINUED.exec(prompt)?.[1] as AgentKey) ?? null;
