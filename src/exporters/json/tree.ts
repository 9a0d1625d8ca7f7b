import type { Tokens } from "../../core/facts/usage.ts";
import type { RedactionLevel } from "../../core/redaction/redaction.ts";
import { printJson } from "../../core/tools/json.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import type { Story, StoryCall } from "../../core/views/story.ts";
import { foldTree } from "../../core/views/tree-fold.ts";

/** `retinue/export@1`: an agent with its subtree, all events and model calls, redacted. */
export interface ExportedTree {
  readonly schema: "retinue/export@1";
  /** Null: not redacted. */
  readonly redaction: RedactionLevel | null;
  readonly agent: ExportedAgent;
}

export interface ExportedAgent extends AgentRecord {
  readonly events: readonly AgentEvent[];
  readonly calls: readonly Omit<StoryCall, "key">[];
  /** Tokens that the product reports for the thread and that no model call accounts for. */
  readonly undivided: readonly Tokens[];
  readonly children: readonly ExportedAgent[];
}

export function jsonTree(story: Story, redaction: RedactionLevel | null): string {
  const tree: ExportedTree = { schema: "retinue/export@1", redaction, agent: agentOf(story) };
  return `${printJson(tree, 2)}\n`;
}

const agentOf = (story: Story): ExportedAgent =>
  foldTree<Story, ExportedAgent>(
    story,
    ({ children }) => children,
    ({ record, steps, calls, undivided }, children) => ({
      ...record,
      events: steps.map(({ event }) => event),
      calls: calls.map(({ key: _, ...call }) => call),
      undivided,
      children,
    }),
  );
