/** Records for tests, whole and valid, with whatever the test is about. */
import type { AgentEvent, AgentRecord } from "./types.ts";

const NOTHING = { calls: 0, inputTokens: 0, outputTokens: 0, reasoningTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, cacheWrite1hTokens: 0, costUsd: 0 };

export function sampleAgent(uri: string, parent: string | null, more: Partial<AgentRecord> = {}): AgentRecord {
  return {
    schema: "retinue/agent@1",
    uri,
    provider: "toy",
    productVersion: null,
    sessionId: "s",
    agentId: parent === null ? null : uri,
    parent,
    forkedFrom: null,
    depth: parent === null ? 0 : 1,
    kind: parent === null ? "main" : "subagent",
    type: null,
    name: null,
    title: null,
    description: uri,
    prompt: null,
    cwd: null,
    project: null,
    branch: null,
    model: [],
    tools: { allowed: null, denied: null },
    background: false,
    status: "completed",
    statusSource: "protocol",
    statusReason: "it said so",
    activity: null,
    link: null,
    startedAt: null,
    endedAt: null,
    lastActivityAt: null,
    durationMs: null,
    usage: { own: NOTHING, internal: null, subtree: NOTHING },
    counts: { messages: 0, toolCalls: 0, toolErrors: 0, spawned: 0, descendants: 0, byStatus: {} },
    result: null,
    records: [],
    warnings: [],
    ...more,
  };
}

export function sampleEvent(uri: string, seq: number, more: Partial<AgentEvent> = {}): AgentEvent {
  return {
    schema: "retinue/event@1",
    uri,
    id: `${uri}#${seq}`,
    seq,
    at: new Date(Date.UTC(2026, 10, 16) + seq * 1000).toISOString(),
    kind: "assistant",
    text: `said ${seq}`,
    tool: null,
    usage: null,
    spawn: null,
    status: null,
    ref: null,
    ...more,
  };
}
