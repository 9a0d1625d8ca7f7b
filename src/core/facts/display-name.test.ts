import { describe, expect, it } from "vitest";
import { displayName, type Named, typeName } from "./display-name.ts";

const NOTHING: Named = {
  title: null,
  description: null,
  name: null,
  prompt: null,
  type: null,
  agentId: null,
  sessionId: "5e55",
};

describe("the display name of an agent", () => {
  it.each<[Partial<Named>, string]>([
    [{ title: "Fix the login", prompt: "Please fix it" }, "Fix the login"],
    [{ description: "Leaf A1", prompt: "Do it.", type: "Explore" }, "Leaf A1"],
    [{ prompt: "Look at\n\n  every file", type: "Explore" }, "Look at every file"],
    [{ name: "alice", description: "Review the API" }, "alice: Review the API"],
    [{ name: "alice", prompt: "Review" }, "alice: Review"],
    [{ name: "alice", description: "alice" }, "alice"],
    [{ name: "alice" }, "alice"],
    [{ type: "Explore", agentId: "a1" }, "Explore"],
    [{ agentId: "a1", title: " \n" }, "a1"],
    [{}, "5e55"],
  ])("by %o is %s", (known, name) => {
    expect(displayName({ ...NOTHING, ...known })).toBe(name);
  });

  it("is one line of at most 160 characters, and no character is split", () => {
    const long = displayName({ ...NOTHING, prompt: `${"x".repeat(158)}😀 and so on` });
    expect(long).toBe(`${"x".repeat(158)}…`);
    expect(displayName({ ...NOTHING, name: "n".repeat(100), title: "t".repeat(100) })).toHaveLength(160);
  });
});

describe("the kind of an agent", () => {
  it("is its type, else its name, else how it was started", () => {
    const kind = "subagent";
    expect([
      typeName({ type: "Explore", name: "alice", kind }),
      typeName({ type: null, name: "alice", kind }),
      typeName({ type: null, name: null, kind }),
    ]).toEqual(["Explore", "alice", "subagent"]);
  });
});
