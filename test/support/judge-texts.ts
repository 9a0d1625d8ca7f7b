/** Judges the texts of each agent in a tree: prompt, type and result. */
import type { RecordedAgent, RecordedThread } from "./fixtures.ts";
import type { TreeNode } from "./judge.ts";

export interface TextNode extends TreeNode {
  depth: number;
  type: string | null;
  description: string | null;
  prompt: string | null;
  result: string | null;
  background: boolean;
  children: TextNode[];
}

const FIELDS = {
  depth: (node) => node.depth,
  type: (node) => node.type,
  description: (node) => node.description,
  prompt: (node) => node.prompt,
  result: (node) => node.result,
  background: (node) => node.background,
  toolCallId: (node) => node.link?.toolCallId ?? null,
} as const satisfies Record<string, (node: TextNode) => unknown>;

/** Differences as sentences; empty if the texts agree. A field that is null in the truth is not judged. */
export function wrongTexts(thread: RecordedThread, tree: TextNode): string[] {
  const nodes = everyone(tree);
  return thread.agents.flatMap((agent) => {
    const fitting = nodes.filter((candidate) => isThatAgent(agent, candidate));
    // One call may have spawned several agents.
    const node =
      fitting.find((candidate) => fitting.length > 1 && candidate.prompt?.includes(agent.prompt ?? "")) ?? fitting[0];
    if (node === undefined) return [`${agent.agentId}: not in the tree`];
    return Object.entries(FIELDS).flatMap(([field, read]) => {
      const [want, got] = [agent[field as keyof typeof FIELDS], read(node)];
      const isRight =
        want === null || want === undefined || got === want || isAccepted(agent.accept?.[field], got, want);
      return isRight
        ? []
        : [`${agent.agentId ?? "root"}: ${field} ${JSON.stringify(got)}, should be ${JSON.stringify(want)}`];
    });
  });
}

function everyone(node: TextNode): TextNode[] {
  return [node, ...node.children.flatMap(everyone)];
}

function isThatAgent(agent: RecordedAgent, node: TextNode): boolean {
  if (agent.agentIdNative === false) return node.agentId !== null && node.link?.toolCallId === agent.toolCallId;
  return node.agentId === agent.agentId;
}

function isAccepted(accept: unknown, got: unknown, want: unknown): boolean {
  if (accept === "any") return true;
  if (accept === "contains") return typeof got === "string" && got.includes(String(want));
  return Array.isArray(accept) && accept.includes(got);
}
