import { describe, expect, it } from "vitest";
import {
  agentCall,
  agentFile,
  agentWriter,
  forestOf,
  mainWriter,
  metaFile,
  OTHER_SESSION,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
} from "../../../test/support/claude-records.ts";
import * as key from "./keys.ts";

const CALL = "toolu_0123456789abcdef";
const SECOND_CALL = "toolu_fedcba9876543210";

const finishedAgent = () => {
  const agent = agentWriter("a0b1");
  return [agent.user("Do it."), agent.assistant([text("Done.")])];
};

describe("an agent that was running when its thread was resumed or forked as another", () => {
  const OTHER_FILE = THREAD_FILE.replace(SESSION, OTHER_SESSION);
  const later = (record: Readonly<Record<string, unknown>>) => ({
    ...record,
    sessionId: OTHER_SESSION,
    timestamp: new Date(Date.parse(String(record.timestamp)) + 60_000).toISOString(),
  });
  /** The first thread ends with its call; the copy continues with `next`. */
  function files(next: (main: ReturnType<typeof mainWriter>) => readonly Readonly<Record<string, unknown>>[]) {
    const main = mainWriter();
    const first = [main.user("Begin."), main.assistant([agentCall(CALL, "Do it.")], { stop_reason: "tool_use" })];
    const copies = first.map((record) => ({ ...record, sessionId: OTHER_SESSION }));
    return { [THREAD_FILE]: first, [OTHER_FILE]: [...copies, ...next(main).map(later)] };
  }
  const shown = (all: Parameters<typeof forestOf>[0]) =>
    [...forestOf(all).agents.values()].map(({ uri, verdict }) => `${uri} ${verdict.status}`).sort();
  const once = (status: string) => [
    expect.stringMatching(`^claude://${SESSION} `),
    `claude://${SESSION}/a0b1 ${status}`,
    expect.stringMatching(`^claude://${OTHER_SESSION} `),
  ];

  const ended = (main: ReturnType<typeof mainWriter>) => [
    main.result(CALL, "Done.", { toolUseResult: { status: "completed", agentId: "a0b1" } }),
    main.assistant([text("All done.")]),
  ];
  const notified = (main: ReturnType<typeof mainWriter>) => [
    main.user(
      '<task-notification>\n<task-id>a0b1</task-id>\n<status>failed</status>\n<summary>Agent "Work" failed</summary>\n</task-notification>',
    ),
    main.assistant([text("All done.")]),
  ];

  it("is shown once, under the thread that called it, whichever of them has its file", () => {
    expect(shown({ ...files(ended), [agentFile("a0b1")]: finishedAgent() })).toEqual(once("completed"));
    expect(shown(files(ended))).toEqual(once("completed"));
    const ofCopy = finishedAgent().map((record) => ({ ...record, sessionId: OTHER_SESSION }));
    const all = { ...files(ended), [agentFile("a0b1").replace(SESSION, OTHER_SESSION)]: ofCopy };
    expect(shown(all)).toEqual(once("completed"));
    expect(forestOf(all).agents.get(key.agent(SESSION, "a0b1"))).toMatchObject({
      parent: key.thread(SESSION),
      answer: "Done.",
    });
  });

  it("has the end that was reported to the copy, though the notification names no call", () => {
    const agent = agentWriter("a0b1");
    const open = [agent.user("Do it."), agent.assistant([toolUse(SECOND_CALL, "Bash")], { stop_reason: "tool_use" })];
    const all = {
      ...files(notified),
      [agentFile("a0b1")]: open,
      [metaFile("a0b1")]: { agentType: "worker", toolUseId: CALL },
    };
    expect(shown(all)).toEqual(once("errored"));
  });
});

describe("a fork that was promoted to a thread", () => {
  it.each([{}, { agentId: "" }, { agentId: "a0b1" }])("has no child without an id: %j", (named) => {
    const main = mainWriter();
    const first = { type: "fork-context-ref", ...named, parentSessionId: OTHER_SESSION, parentLastUuid: "x" };
    const forest = forestOf({ [THREAD_FILE]: [first, main.user("Begin."), main.assistant([text("Done.")])] });
    expect([...forest.agents.values()].map(({ uri, parent }) => [uri, parent])).toEqual([
      [`claude://${SESSION}`, null],
    ]);
  });
});
