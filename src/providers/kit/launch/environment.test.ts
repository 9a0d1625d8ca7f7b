import { describe, expect, it } from "vitest";
import { threadKey } from "../../../core/facts/ids.ts";
import { startersIn } from "./environment.ts";

const SESSION = "01a1eac5-69d9-7790-a86e-ad5bfaa039fd";

describe("variables that a product takes over from another one", () => {
  it.each([
    ["oh-my-pi, which marks its shells as Claude Code does", { OMPCODE: "1", CLAUDECODE: "1" }],
    ["Kilo, which marks its shells as OpenCode does", { OPENCODE: "1", KILO_PID: "4711", KILO_RUN_ID: "run_12345678" }],
  ])("name no agent: %s", (_, env) => {
    expect(startersIn(env)).toEqual([]);
  });

  it("do not hide the session that is named", () => {
    const found = startersIn({ CLAUDECODE: "1", OPENCODE: "1", GROK_SESSION_ID: SESSION });
    expect(found.map(({ agent }) => agent)).toEqual([threadKey("grok", SESSION)]);
  });
});
