import { describe, expect, it } from "vitest";
import {
  mainWriter,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
  treeFrom,
  writer,
} from "../../../test/support/claude-records.ts";

const CALL = "toolu_0123456789abcdef";
const MATE_SESSION = "88888888-2222-4333-8444-555555555555";

describe("a teammate", () => {
  const thread = (toolUseResult: object | null, input: object = { name: "alice", team_name: "docs" }) => {
    const main = mainWriter();
    return [
      main.user("Begin."),
      main.assistant(
        [toolUse(CALL, "Task", { prompt: "Write.", description: "Write docs", subagent_type: "writer", ...input })],
        { stop_reason: "tool_use" },
      ),
      ...(toolUseResult === null
        ? []
        : [main.result(CALL, "Spawned successfully.", { toolUseResult }), main.assistant([text("Waiting.")])]),
    ];
  };
  const spawned = {
    status: "teammate_spawned",
    teammate_id: "alice@docs",
    agent_id: "alice@docs",
    name: "alice",
    team_name: "docs",
  };

  it.each([
    ["by the result of its call", thread(spawned)],
    ["by its id alone", thread({ status: "teammate_spawned", teammate_id: "alice@docs" }, {})],
    ["by the call, where there is no result", thread(null)],
  ])("without a file is known as name@team: %s", (_, records) => {
    expect(treeFrom({ [THREAD_FILE]: records }).children).toMatchObject([
      {
        uri: `claude://${SESSION}/alice@docs`,
        agentId: "alice@docs",
        kind: "teammate",
        type: "writer",
        link: { toolCallId: CALL },
      },
    ]);
  });

  it("with a session of its own is that session", () => {
    const mate = writer("mate", { isSidechain: false, sessionId: MATE_SESSION, teamName: "docs", agentName: "alice" });
    const later = (record: Readonly<Record<string, unknown>>) => ({ ...record, timestamp: "2026-01-01T00:01:00.000Z" });
    const files = {
      [THREAD_FILE]: thread(spawned),
      [THREAD_FILE.replace(SESSION, MATE_SESSION)]: [
        later(mate.user("Write.")),
        later(mate.assistant([text("Written.")])),
      ],
    };
    expect(treeFrom(files).children).toMatchObject([
      { kind: "teammate", name: "alice", agentId: MATE_SESSION, result: "Written." },
    ]);
  });
});
