/** Short functions that create observations for tests of the core. The product is made up. */

import {
  type AgentKey,
  agentKey,
  callKey,
  matchKey,
  observationId,
  recordKey,
  threadKey,
} from "../../src/core/facts/ids.ts";
import type {
  Fact,
  Lifecycle,
  ModelCalled,
  Observation,
  ParentNamed,
  RecordRead,
  SpawnCalled,
} from "../../src/core/facts/observation.ts";
import type { FromOrigin } from "../../src/core/facts/origin.ts";
import { NO_TOKENS } from "../../src/core/facts/usage.ts";
import type { LinkOptions } from "../../src/core/link/link.ts";

const TOY = "toy";
export const thread = (id: string) => threadKey(TOY, id);
export const agent = (threadId: string, id: string) => agentKey(TOY, threadId, id);
export const call = (id: string) => callKey(TOY, id);
export const row = (id: string) => recordKey(TOY, id);
export const match = (value: string) => matchKey(TOY, "prompt", value);

/** The agent, the time and the record ids of an observation. */
interface Where extends FromOrigin {
  readonly by: AgentKey;
  readonly at?: number;
  readonly keys?: readonly string[];
}

/** Numbers observations, as a parser of one file does. */
export function notebook() {
  const observations: Observation[] = [];
  return {
    observations,
    see({ by, at, keys = [], origin }: Where, fact: Fact): Observation {
      const order = observations.length + 1;
      const seen: Observation = {
        ...fact,
        id: observationId(`book:${String(order).padStart(3, "0")}`, 0),
        at: at ?? null,
        speaker: by,
        keys: keys.map(row),
        order,
        ...(origin === undefined ? {} : { origin }),
      };
      observations.push(seen);
      return seen;
    },
  };
}

export const record = (more: Partial<Omit<RecordRead, "type">> = {}): RecordRead => ({
  type: "record",
  role: "assistant",
  state: "answered",
  certain: true,
  calls: [],
  results: [],
  text: null,
  message: true,
  ...more,
});

export const answer = (response: string, outputTokens: number): ModelCalled => ({
  type: "model-call",
  response: row(response),
  model: "model-1",
  tokens: { ...NO_TOKENS, outputTokens },
  chars: 0,
  ended: true,
});

export const spawnCalled = (id: string, more: Partial<Omit<SpawnCalled, "type" | "call">> = {}): SpawnCalled => ({
  type: "spawn-called",
  call: call(id),
  tool: "Spawn",
  makes: "one",
  prompt: null,
  agentType: null,
  description: null,
  name: null,
  offers: [],
  ...more,
});

export const callSpawned = (id: string, child: AgentKey): Fact => ({
  type: "call-spawned",
  call: call(id),
  child,
  rule: "result",
  source: "parent_rollout",
  says: `the result of ${id} names it`,
});

export const parentNamed = (
  child: AgentKey,
  parent: AgentKey,
  more: Partial<Omit<ParentNamed, "type" | "child" | "parent">> = {},
): ParentNamed => ({
  type: "parent-named",
  child,
  parent,
  rule: "named",
  source: "protocol",
  confidence: 1,
  says: "its file names the parent",
  ...more,
});

export const spawnMatch = (agentOf: AgentKey, to: string, exclusive = true): Fact => ({
  type: "spawn-match",
  agent: agentOf,
  match: match(to),
  rule: "prompt",
  source: "inferred",
  exclusive,
  says: "the prompts are equal",
});

export const lifecycle = (
  of: Lifecycle["of"],
  state: Lifecycle["state"],
  more: Partial<Omit<Lifecycle, "type" | "of" | "state">> = {},
): Lifecycle => ({
  type: "lifecycle",
  of,
  state,
  source: "parent_rollout",
  says: `its parent reports ${state}`,
  result: null,
  ...more,
});

/** Far in the future, with no information about processes. */
export const LATER: LinkOptions = { now: 1_000_000_000, liveness: () => "unknown" };
