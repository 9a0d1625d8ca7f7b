import { describe, expect, it } from "vitest";
import type { RecordedAgent, RecordedThread } from "../support/fixtures.ts";
import { type TextNode, wrongTexts } from "../support/judge-texts.ts";

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

const node = (agentId: string | null, more: Partial<TextNode> = {}): TextNode => ({
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

const thread = (more: Partial<RecordedAgent> = {}): RecordedThread => ({
  root: "t",
  agents: [agent(null), agent("a", more)],
});
const tree = (more: Partial<TextNode> = {}) => node(null, { children: [node("a", more)] });

describe("the judge of texts", () => {
  it("accepts correct texts", () => {
    expect(wrongTexts(thread(), tree())).toEqual([]);
  });

  it.each<[string, Partial<TextNode>]>([
    ["depth", { depth: 2 }],
    ["type", { type: null }],
    ["description", { description: "Play" }],
    ["prompt", { prompt: "Do it!" }],
    ["result", { result: null }],
    ["background", { background: true }],
    ["toolCallId", { link: null }],
  ])("detects a wrong %s", (field, wrong) => {
    expect(wrongTexts(thread(), tree(wrong))).toEqual([expect.stringContaining(`a: ${field} `)]);
  });

  it("detects a missing agent", () => {
    expect(wrongTexts(thread(), node(null))).toEqual(["a: not in the tree"]);
  });

  it("ignores unknown values, and accepts only listed alternatives", () => {
    const shown = tree({ prompt: "Framed: Do it. End." });
    expect(wrongTexts(thread({ prompt: null }), shown)).toEqual([]);
    expect(wrongTexts(thread({ accept: { prompt: "any" } }), shown)).toEqual([]);
    expect(wrongTexts(thread({ accept: { prompt: "contains" } }), shown)).toEqual([]);
    expect(wrongTexts(thread({ accept: { prompt: ["Framed: Do it. End."] } }), shown)).toEqual([]);
    expect(wrongTexts(thread({ accept: { prompt: ["Another."] } }), shown)).toHaveLength(1);
    expect(wrongTexts(thread({ accept: { result: "any" } }), shown)).toHaveLength(1);
  });

  it("recognises an agent without an id by its call", () => {
    const named = tree({ agentId: "named by the reader" });
    expect(wrongTexts(thread({ agentIdNative: false }), named)).toEqual([]);
    expect(wrongTexts(thread(), named)).toEqual(["a: not in the tree"]);
  });
});
