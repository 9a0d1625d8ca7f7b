import { describe, expect, it } from "vitest";
import type { RecordedAgent, RecordedThread } from "./fixtures.ts";
import { type SpokenNode, wrongWords } from "./said.ts";

const agent = (agentId: string | null, more: Partial<RecordedAgent> = {}): RecordedAgent => ({
  agentId,
  parentAgentId: null,
  depth: agentId === null ? 0 : 1,
  type: "worker",
  description: "Work",
  prompt: "Do it.",
  toolCallId: agentId && `call-${agentId}`,
  background: false,
  status: "completed",
  result: "Done.",
  ...more,
});

const node = (agentId: string | null, more: Partial<SpokenNode> = {}): SpokenNode => ({
  agentId,
  depth: agentId === null ? 0 : 1,
  type: "worker",
  description: "Work",
  prompt: "Do it.",
  result: "Done.",
  background: false,
  status: "completed",
  link: { toolCallId: agentId && `call-${agentId}` },
  children: [],
  ...more,
});

const thread = (more: Partial<RecordedAgent> = {}): RecordedThread => ({ root: "t", agents: [agent(null), agent("a", more)] });
const tree = (more: Partial<SpokenNode> = {}) => node(null, { children: [node("a", more)] });

describe("the judge of words", () => {
  it("passes what is right", () => {
    expect(wrongWords(thread(), tree())).toEqual([]);
  });

  it.each<[string, Partial<SpokenNode>]>([
    ["depth", { depth: 2 }],
    ["type", { type: null }],
    ["description", { description: "Play" }],
    ["prompt", { prompt: "Do it!" }],
    ["result", { result: null }],
    ["background", { background: true }],
    ["toolCallId", { link: null }],
  ])("catches a wrong %s", (field, wrong) => {
    expect(wrongWords(thread(), tree(wrong))).toEqual([expect.stringContaining(`a: ${field} `)]);
  });

  it("catches an agent that is not there", () => {
    expect(wrongWords(thread(), node(null))).toEqual(["a: not in the tree"]);
  });

  it("does not judge what nobody knows, and takes what is accepted and nothing more", () => {
    const shown = tree({ prompt: "Framed: Do it. End." });
    expect(wrongWords(thread({ prompt: null }), shown)).toEqual([]);
    expect(wrongWords(thread({ accept: { prompt: "any" } }), shown)).toEqual([]);
    expect(wrongWords(thread({ accept: { prompt: "contains" } }), shown)).toEqual([]);
    expect(wrongWords(thread({ accept: { prompt: ["Framed: Do it. End."] } }), shown)).toEqual([]);
    expect(wrongWords(thread({ accept: { prompt: ["Another."] } }), shown)).toHaveLength(1);
    expect(wrongWords(thread({ accept: { result: "any" } }), shown)).toHaveLength(1);
  });

  it("knows an agent without an id by its call", () => {
    const named = tree({ agentId: "named by the reader" });
    expect(wrongWords(thread({ agentIdNative: false }), named)).toEqual([]);
    expect(wrongWords(thread(), named)).toEqual(["a: not in the tree"]);
  });
});
