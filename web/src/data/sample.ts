/** Complete, valid records for tests. */
import { AgentSet } from "./agent-set.ts";
import type { Span } from "./span-set.ts";
import type { AgentEvent, AgentRecord } from "./types.ts";

const NOTHING = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  costUsd: 0,
};

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
    statusReason: "sample",
    activity: null,
    link: null,
    startedAt: null,
    endedAt: null,
    lastActivityAt: null,
    durationMs: null,
    usage: { own: NOTHING, internal: null, subtree: NOTHING, reported: null },
    counts: { messages: 0, toolCalls: 0, toolErrors: 0, spawned: 0, refused: 0, descendants: 0, byStatus: {} },
    refused: [],
    result: null,
    records: [],
    warnings: [],
    ...more,
  };
}

export function sampleEvent(uri: string, seq: number, more: Partial<AgentEvent> = {}): AgentEvent {
  return {
    schema: "retinue/event@1",
    summary: null,
    uri,
    id: `${uri}#${seq}`,
    seq,
    at: new Date(Date.UTC(2026, 10, 16) + seq * 1000).toISOString(),
    kind: "assistant",
    text: `text ${seq}`,
    tool: null,
    usage: null,
    spawn: null,
    status: null,
    ref: null,
    ...more,
  };
}

export function sampleSpan(from: number, to: number | null, more: Partial<Span> = {}): Span {
  return {
    kind: "model",
    from,
    to,
    name: "model-1",
    callId: null,
    tokens: 0,
    outputTokens: 0,
    end: to === null ? null : "done",
    agents: [],
    ...more,
  };
}

/** Agents nested as given. */
export function sampleSet(
  tree: Readonly<Record<string, readonly string[]>>,
  root: string,
  more: (uri: string) => Partial<AgentRecord> = () => ({}),
): AgentSet {
  const set = new AgentSet();
  const left: { uri: string; parent: string | null }[] = [{ uri: root, parent: null }];
  for (const { uri, parent } of left) {
    set.put(sampleAgent(uri, parent, more(uri)));
    for (const child of tree[uri] ?? []) left.push({ uri: child, parent: uri });
  }
  return set;
}

export const sampleTime = (ms: number) => new Date(ms).toISOString();
