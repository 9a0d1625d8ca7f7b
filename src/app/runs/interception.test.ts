import { describe, expect, it } from "vitest";
import type { ToolCall, ToolDecision } from "../../core/ports/control.ts";
import { decide, type Interceptor } from "./interception.ts";

const CALL: ToolCall = {
  callId: "c1",
  tool: "Bash",
  input: { command: "ls" },
  isSpawn: false,
  sessionId: "s",
  agentId: null,
  agentType: null,
  uri: "claude://s",
  cwd: null,
};
const always = (decision: ToolDecision): Interceptor => ({ decide: () => decision });

describe("several interceptors", () => {
  it("allow if none objects, or if there are none", async () => {
    expect(await decide(CALL, { interceptors: [] })).toBe("allow");
    expect(await decide(CALL, { interceptors: [always("allow"), always("allow")] })).toBe("allow");
  });

  it("deny if one denies; those after it are not asked", async () => {
    const unasked: Interceptor = {
      decide: () => {
        throw new Error("must not be asked");
      },
    };
    const faults: string[] = [];
    const options = { interceptors: [always("allow"), always({ deny: "no" }), unasked] };
    expect(await decide(CALL, { ...options, onFault: (text) => faults.push(text) })).toEqual({ deny: "no" });
    expect(faults).toEqual([]);
  });

  it("see the input that those before them changed", async () => {
    const seen: unknown[] = [];
    const second: Interceptor = {
      decide: ({ input }) => {
        seen.push(input);
        return { input: { ...input, more: 1 } };
      },
    };
    const interceptors = [always({ input: { command: "pwd" } }), second, always("allow")];
    expect(await decide(CALL, { interceptors })).toEqual({ input: { command: "pwd", more: 1 } });
    expect(seen).toEqual([{ command: "pwd" }]);
  });

  it("that decide only about spawns are not asked about other calls", async () => {
    const interceptors: Interceptor[] = [{ spawnsOnly: true, decide: () => ({ deny: "no" }) }];
    expect(await decide(CALL, { interceptors })).toBe("allow");
    expect(await decide({ ...CALL, isSpawn: true }, { interceptors })).toEqual({ deny: "no" });
  });

  it.each<[string, () => unknown]>([
    ["throws", () => Promise.reject(new Error("broken"))],
    ["throws at once", () => JSON.parse("{")],
    ["never answers", () => new Promise(() => {})],
    ["returns nothing", () => undefined],
    ["returns null", () => null],
    ["denies without a text", () => ({ deny: 1 })],
    ["returns an input that is no object", () => ({ input: "ls" })],
  ])("one that %s counts as allow, and the others decide", async (_, broken) => {
    const faults: string[] = [];
    const failing: Interceptor = { decide: () => broken() as ToolDecision };
    const options = { answerMs: 20, onFault: (text: string) => faults.push(text) };
    expect(await decide(CALL, { interceptors: [failing], ...options })).toBe("allow");
    expect(await decide(CALL, { interceptors: [failing, always({ deny: "no" })], ...options })).toEqual({ deny: "no" });
    expect(faults).toHaveLength(2);
  });
});
