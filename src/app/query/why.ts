import { type AgentKey, nativeCall, placeOf } from "../../core/facts/ids.ts";
import type { ParentEvidence } from "../../core/link/evidence.ts";
import { continuationsOf, type Forest, type LinkedAgent } from "../../core/link/forest.ts";
import type { Undecided } from "../../core/link/start-matching.ts";
import type { Why } from "../../core/views/why.ts";

/** All evidence for an agent's parent and status, and what decided. */
export function explain(forest: Forest, agent: LinkedAgent): Why {
  const uriOf = (key: LinkedAgent["key"] | null) => (key === null ? null : (forest.agents.get(key)?.uri ?? null));
  const decided = agent.evidence.find((e) => e.parent === agent.parent);
  const piece = (e: ParentEvidence) => ({
    decided: e === decided,
    parent: uriOf(e.parent),
    rule: e.rule,
    source: e.source,
    confidence: e.confidence,
    toolCallId: e.call === null ? null : nativeCall(e.call),
    says: e.says,
    from: e.from === null ? null : placeOf(e.from),
  });
  const { status, statusSource, statusReason, activity } = agent.verdict;
  return {
    uri: agent.uri,
    parent: uriOf(agent.parent),
    forkedFrom: uriOf(agent.forkedFrom),
    continuedIn: continuationsOf(forest, new Set([agent.key])).map(({ uri }) => uri),
    parentEvidence: agent.parent === null ? [] : agent.evidence.map(piece),
    undecided: agent.undecided === null ? [] : undecidedText(agent.undecided, (key) => uriOf(key) ?? key),
    refused: agent.refused.map(({ call, tool, agentType, description, at, says }) => ({
      toolCallId: nativeCall(call),
      tool,
      type: agentType,
      description,
      at: iso(at),
      reason: says,
    })),
    status: { status, statusSource, statusReason, activity },
    statusEvidence: [
      ...agent.statements.map((s) => ({
        at: iso(s.at),
        says: `${s.state}: ${s.says}`,
        source: s.source,
        from: placeOf(s.id),
      })),
      ...(agent.own === null
        ? []
        : [
            {
              at: iso(agent.own.at),
              says: `own records: ${OWN_STATES[agent.own.state]}`,
              source: "child_rollout",
              from: agent.files[0]?.path ?? null,
            },
          ]),
    ],
  };
}

/** Who may have started the thread, one sentence each. */
function undecidedText({ commands, rivals }: Undecided, nameOf: (key: AgentKey) => string): readonly string[] {
  return [
    ...commands.map(({ agent, name }) => `${nameOf(agent)} may have started it with ${name}`),
    ...rivals.map((rival) => `the same command may have started ${nameOf(rival)} instead`),
  ];
}

const OWN_STATES = {
  answered: "the last response is complete",
  failed: "the last response is an API error",
  interrupted: "interrupted by the user",
  open: "the last response is incomplete",
} as const;
const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
