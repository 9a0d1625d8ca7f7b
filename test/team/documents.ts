/** Documents of shipments for tests. */

import { NO_USAGE } from "../../src/core/facts/usage.ts";
import type { AgentDocument, EventDocument, ShipmentHead } from "../../src/core/ports/shipment.ts";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import type { AgentEvent } from "../../src/core/views/event.ts";
import type { SpentRow } from "../../src/core/views/stats.ts";

export const HEAD: ShipmentHead = { schema: "retinue/shipment@1", machine: "m1", version: "0.1.0" };

export function record(thread: string, uri: string, more: Partial<AgentRecord> = {}): AgentRecord {
  const [, rest = ""] = uri.split("://");
  const [sessionId = "", agentId = null] = rest.split("/");
  return {
    schema: "retinue/agent@1",
    uri,
    provider: uri.split("://")[0] ?? "",
    productVersion: null,
    sessionId,
    agentId,
    parent: uri === thread ? null : thread,
    forkedFrom: null,
    depth: uri === thread ? 0 : 1,
    kind: uri === thread ? "main" : "subagent",
    type: uri === thread ? null : "worker",
    name: null,
    title: `title of ${uri}`,
    description: null,
    prompt: null,
    cwd: "/home/dev/shop",
    project: "shop",
    branch: null,
    model: ["m-1"],
    tools: { allowed: null, denied: null },
    background: false,
    status: "completed",
    statusSource: "protocol",
    statusReason: "it ended",
    activity: null,
    link:
      uri === thread
        ? null
        : { rule: "toy", source: "protocol", confidence: 1, toolCallId: null, evidence: ["it says so"] },
    startedAt: "2026-06-01T10:00:00.000Z",
    endedAt: "2026-06-01T10:01:00.000Z",
    lastActivityAt: "2026-06-01T10:01:00.000Z",
    durationMs: 60_000,
    usage: { own: NO_USAGE, internal: null, subtree: NO_USAGE, reported: null },
    counts: { messages: 0, toolCalls: 0, toolErrors: 0, spawned: 0, refused: 0, descendants: 0, byStatus: {} },
    refused: [],
    result: null,
    records: [],
    warnings: [],
    ...more,
  };
}

export const agentDocument = (
  thread: string,
  uri: string,
  revision: number,
  more: Partial<AgentRecord> = {},
): AgentDocument => {
  const made = record(thread, uri, more);
  return { is: "agent", thread, uri, parent: made.parent, place: 0, revision, record: made };
};

export function eventDocument(
  thread: string,
  agent: string,
  at: number,
  revision: number,
  more: Partial<AgentEvent> = {},
): EventDocument {
  const event: AgentEvent = {
    schema: "retinue/event@1",
    uri: agent,
    id: `e${at}`,
    seq: at + 1,
    at: `2026-06-01T10:00:0${at % 10}.000Z`,
    kind: "assistant",
    text: `event ${at} of ${agent}`,
    summary: null,
    tool: null,
    usage: null,
    spawn: null,
    status: null,
    ref: { path: "/home/dev/log.jsonl", line: at + 1 },
    ...more,
  };
  return { is: "event", thread, agent, at, revision, event };
}

export const spentRow = (thread: string, costUsd: number, more: Partial<SpentRow> = {}): SpentRow => ({
  day: "2026-06-01",
  provider: "toy",
  model: "m-1",
  type: "worker",
  project: "shop",
  template: null,
  status: "completed",
  thread,
  agents: 1,
  durationMs: 60_000,
  usage: { ...NO_USAGE, calls: 1, inputTokens: 10, outputTokens: 5, costUsd },
  ...more,
});
