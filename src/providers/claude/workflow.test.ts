import { expect, it } from "vitest";
import {
  agentWriter,
  mainWriter,
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
