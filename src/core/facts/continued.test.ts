import { describe, expect, it } from "vitest";
import { FindingsOf } from "../ports/findings.ts";
import { continuedFrom, continuedLine } from "./continued.ts";
import { agentKey, threadKey } from "./ids.ts";

const agent = agentKey("copilot", "390ef0d3-c770-4fd0", "01676dd9");

describe("a session that continues an agent from its history as text", () => {
  it("names the agent in the first line of its prompt", () => {
    expect(continuedFrom(`${continuedLine(agent)}\n\nYou continue …`)).toBe(agent);
    expect(continuedFrom(`"${continuedLine(agent)} …"`)).toBe(agent);
  });

  it("is not one whose prompt only quotes the line or names no agent", () => {
    for (const prompt of [`What does ${continuedLine(agent)} mean?`, "[continues agent ]", "[continues agent x y]", ""])
      expect(continuedFrom(prompt)).toBeNull();
  });

  it("is a fork of the agent, whichever product's parser found the prompt", () => {
    const thread = threadKey("copilot", "new-session");
    const out = new FindingsOf({ path: "x", line: 1, at: null, speaker: thread, keys: [] });
    out.add({ type: "agent-described", agent: thread, prompt: `${continuedLine(agent)}\n\nGo on.` });
    out.add({ type: "agent-described", agent, prompt: `${continuedLine(agent)}\n\nGo on.` });
    expect(out.observations.map((o) => (o.type === "agent-described" ? o.forkedFrom : null))).toEqual([
      agent,
      undefined,
    ]);
  });
});
