import { describe, expect, it } from "vitest";
import { notificationsIn } from "./notification.ts";

const note = (inside: string) => `<task-notification>\n${inside}\n</task-notification>`;
const only = (text: string) => {
  const [first, ...more] = notificationsIn(text);
  expect(more).toEqual([]);
  return first;
};

describe("a task notification", () => {
  it("names the task, its call, its state and its result", () => {
    const text = note(
      "<task-id>a0b1</task-id>\n<tool-use-id>toolu_1</tool-use-id>\n<status>completed</status>\n<summary>Agent &quot;Work&quot; finished</summary>\n<result>All is\ndone.</result>",
    );
    expect(only(`Before. ${text} After.`)).toEqual({
      tasks: ["a0b1"],
      toolUse: "toolu_1",
      state: "completed",
      summary: "Agent &quot;Work&quot; finished",
      result: "All is\ndone.",
      isAgent: true,
      agents: null,
    });
  });

  it.each([
    ["completed", "completed"],
    ["failed", "errored"],
    ["killed", "shutdown"],
    ["stopped", "shutdown"],
    ["something new", null],
    // Properties that every object inherits.
    ["constructor", null],
  ])("with the status %s means %s", (status, state) => {
    expect(only(note(`<task-id>a</task-id><status>${status}</status>`))?.state).toBe(state);
  });

  it("names several agents that were lost in one crash, but no call", () => {
    const found = only(
      note(
        '<task-id>a0b1</task-id>\n<task-id>a2c3</task-id>\n<status>stopped</status>\n<summary>2 background agents didn\'t finish before the previous session ended: "A" (a0b1), "B" (a2c3).</summary>',
      ),
    );
    expect(found).toMatchObject({
      tasks: ["a0b1", "a2c3"],
      toolUse: null,
      state: "shutdown",
      result: null,
      isAgent: true,
    });
  });

  it("keeps a complete result that contains the same tags", () => {
    const found = only(
      note(
        "<task-id>a</task-id><status>completed</status><summary>Agent done</summary><result>It said <result>42</result> and <status>failed</status>.</result>",
      ),
    );
    expect(found).toMatchObject({
      state: "completed",
      result: "It said <result>42</result> and <status>failed</status>.",
    });
  });

  it("does not report agents that only its result mentions", () => {
    const quoted = note("<task-id>b</task-id><tool-use-id>toolu_2</tool-use-id><status>failed</status>");
    const found = only(note(`<task-id>a</task-id><status>completed</status><result>I saw ${quoted} there.</result>`));
    expect(found).toMatchObject({ tasks: ["a"], toolUse: null, state: "completed" });
  });

  it("may be one of several in a text", () => {
    const text =
      note("<task-id>a</task-id><status>completed</status>") + note("<task-id>b</task-id><status>failed</status>");
    expect([...notificationsIn(text)].map((n) => [n.tasks, n.state])).toEqual([
      [["a"], "completed"],
      [["b"], "errored"],
    ]);
  });

  it("distinguishes agents from background shells", () => {
    expect(
      only(
        note(
          '<task-id>b1</task-id><status>completed</status><summary>Background command "sleep 5" completed (exit code 0)</summary>',
        ),
      )?.isAgent,
    ).toBe(false);
  });

  it("is also read in its older form for agents", () => {
    const text =
      "<agent-notification><agent-id>0a1b2c3d</agent-id><status>completed</status><summary>Agent done</summary></agent-notification>";
    expect(only(text)).toMatchObject({ tasks: ["0a1b2c3d"], state: "completed", isAgent: true });
  });

  it("is not recognised before it is complete, nor if only its tag is mentioned", () => {
    expect([...notificationsIn("<task-notification><task-id>a</task-id>")]).toEqual([]);
    expect([...notificationsIn("What is a task-notification?")]).toEqual([]);
  });

  it("that is never closed is ignored, and thousands of them take little time", () => {
    const open = "<task-notification><agent-notification>".repeat(200_000);
    expect([...notificationsIn(open)]).toEqual([]);
    expect([...notificationsIn(`${open}<task-id>a</task-id></agent-notification>`)].map((n) => n.tasks)).toEqual([
      ["a"],
    ]);
    expect(only(note(`<task-id>a</task-id>${"<summary>".repeat(200_000)}`))?.summary).toBe("");
  });
});
