import { expect, it } from "vitest";
import {
  agentCall,
  agentFile,
  agentWriter,
  mainWriter,
  metaFile,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
  treeFrom,
} from "../../../test/support/claude-records.ts";

const CALL = "toolu_0123456789abcdef";
const RUN = "wf_0123abcd-ef0";
const NOTE = `<task-notification>
<task-id>wabc</task-id>
<tool-use-id>${CALL}</tool-use-id>
<status>completed</status>
<summary>Dynamic workflow "Two agents" completed</summary>
<result>{"quoted":"<usage><agent_count>9</agent_count></usage>"}</result>
<usage><agent_count>2</agent_count><subagent_tokens>3402</subagent_tokens><tool_uses>4</tool_uses></usage>
</task-notification>`;

function thread() {
  const main = mainWriter();
  return [
    main.user("Begin."),
    main.assistant([toolUse(CALL, "Workflow", { name: "two" })], { stop_reason: "tool_use" }),
    main.result(CALL, "Launched.", {
      toolUseResult: { status: "async_launched", taskId: "wabc", taskType: "local_workflow", runId: RUN },
    }),
    main.assistant([text("Waiting.")]),
    main.user(NOTE, { origin: { kind: "task-notification" } }),
    main.user(NOTE, { origin: { kind: "task-notification" } }),
    main.assistant([text("Done.")]),
  ];
}

it("a workflow whose folder is missing has the agents in its notification, and a warning with their tokens", () => {
  const tree = treeFrom({ [THREAD_FILE]: thread() });
  expect(tree.children).toMatchObject(
    [1, 2].map((n) => ({ agentId: `${CALL}.${n}`, kind: "workflow", status: "completed", link: { toolCallId: CALL } })),
  );
  expect(tree.warnings).toContainEqual(expect.stringContaining("2 agents, which used 3"));
});

it("a workflow whose folder exists has only the agents in its folder", () => {
  const agent = agentWriter("a0b1");
  const folder = `projects/-home-dev-repo/${SESSION}/subagents/workflows/${RUN}`;
  const tree = treeFrom({
    [THREAD_FILE]: thread(),
    [`${folder}/agent-a0b1.jsonl`]: [agent.user("Do it."), agent.assistant([text("Done.")])],
  });
  expect(tree.children).toMatchObject([{ agentId: "a0b1", kind: "workflow" }]);
  expect(tree.children).toHaveLength(1);
  expect(tree.warnings.filter((words) => words.includes("their transcripts are missing"))).toEqual([]);
});

const FOLDER = `projects/-home-dev-repo/${SESSION}/subagents/workflows/${RUN}`;
const SPAWN = "toolu_fedcba9876543210";
const inner = agentWriter("a0b1");
const nested = {
  [`${FOLDER}/agent-a0b1.jsonl`]: [
    { ...inner.user("Do it."), timestamp: "2026-01-01T00:00:09.000Z" },
    { ...inner.assistant([text("Done.")]), timestamp: "2026-01-01T00:00:10.000Z" },
  ],
  [`${FOLDER}/agent-a0b1.meta.json`]: { agentType: "workflow-subagent", spawnDepth: 2 },
};
const main = mainWriter();
const outerOf = (result: string | null) => {
  const outer = agentWriter("outer");
  const called = [outer.user("Begin."), outer.assistant([toolUse(CALL, "Workflow", {})], { stop_reason: "tool_use" })];
  return {
    [THREAD_FILE]: [main.user("Begin."), main.assistant([agentCall(SPAWN, "Begin.")], { stop_reason: "tool_use" })],
    [agentFile("outer")]: result === null ? called : [...called, outer.result(CALL, result)],
    [metaFile("outer")]: { agentType: "general-purpose", toolUseId: SPAWN, spawnDepth: 1 },
  };
};

it.each([
  ["the text of the result names the run", `Workflow launched in background.\nRun ID: ${RUN}\nUse it.`, "workflow run"],
  ["no result of the call is recorded", null, "workflow order"],
])("a workflow of an agent is below that agent, if %s", (_, result, rule) => {
  const [outer] = treeFrom({ ...outerOf(result), ...nested }).children;
  expect(outer).toMatchObject({ agentId: "outer", children: [{ agentId: "a0b1", depth: 2, link: { rule } }] });
});

it("a workflow agent of depth 2 has a warning if nothing shows which agent started it", () => {
  const [shown] = treeFrom({ [THREAD_FILE]: thread().slice(0, 1), ...nested }).children;
  expect(shown).toMatchObject({
    agentId: "a0b1",
    depth: 1,
    warnings: expect.arrayContaining([
      "it was started by another agent (the product states depth 2), but no record names that agent",
    ]),
  });
});
