/** Agents known only from other agents' records: those of their parent, or a copy of these. */
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { agentOf, type Forest } from "../../src/core/link/forest.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { homeEnv, recordedHome } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-lost-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let homes = 0;

const THREAD = "cd09e48c-75db-4f67-b4b1-7cfca4bc9bb9";
const [L1, L2, L3] = ["ae44c39a3d06e6efb", "aee8a9e31692ee37b", "a06b55e9d9f2be101"];
/** The call of L1 that spawned L2. */
const L2_CALL = "toolu_01TL7eDfK8uCelmf0ZW0A9KW";
const COPY = "11111111-2222-4333-8444-555555555555";
type Row = Record<string, unknown> & { type: string; uuid: string; timestamp: string; message?: { content: unknown } };

/** A home with the recording, in which files can be changed and removed. */
class Home {
  readonly path = join(scratch, `home-${homes++}`);
  readonly #folder: string;

  constructor(provider: string, name: string) {
    cpSync(recordedHome(provider, name).home, this.path, { recursive: true });
    const projects = join(this.path, ".claude/projects");
    this.#folder = join(projects, readdirSync(projects)[0] ?? "");
  }

  agentFile = (agent: string) => join(this.#folder, THREAD, "subagents", `agent-${agent}.jsonl`);
  lose(agent: string) {
    for (const path of [this.agentFile(agent), this.agentFile(agent).replace(/jsonl$/, "meta.json")]) rmSync(path);
  }
  rows = (agent: string): Row[] =>
    readFileSync(this.agentFile(agent), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Row);
  write(agent: string, rows: readonly Row[]) {
    writeFileSync(this.agentFile(agent), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  }
  writeThread(session: string, rows: readonly Row[]) {
    mkdirSync(this.#folder, { recursive: true });
    writeFileSync(join(this.#folder, `${session}.jsonl`), rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  }
  async forest(): Promise<Forest> {
    return (await readMachine({ env: { ...homeEnv(this.path), RETINUE_HOME: join(this.path, "data") } })).forest;
  }
}

const statuses = (forest: Forest) =>
  [...forest.agents.values()]
    .filter(({ depth }) => depth > 0)
    .map(({ uri, verdict }) => [uri, verdict.status, verdict.statusSource] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));

const blocksOf = (row: Row) =>
  Array.isArray(row.message?.content) ? (row.message.content as Record<string, unknown>[]) : [];
const isAgentCall = (row: Row) => blocksOf(row).some(({ type, name }) => type === "tool_use" && name === "Agent");

describe("a spawn call that returned without toolUseResult, while the agent's own file is missing", () => {
  /** Changes the result of the call of L1 that spawned L2. */
  const withResult = (change: (result: Record<string, unknown>) => void) => {
    const home = new Home("claude", "c-nested");
    const rows = home.rows(L1);
    const results = rows.flatMap((row) =>
      row.toolUseResult === undefined ? blocksOf(row).filter((block) => block.tool_use_id === L2_CALL) : [],
    );
    expect(results).toHaveLength(1);
    for (const result of results) change(result);
    home.write(L1, rows);
    home.lose(L2);
    home.lose(L3);
    return home;
  };

  it("gives a completed agent, on the evidence of its parent", async () => {
    const forest = await withResult(() => {}).forest();
    expect(statuses(forest)).toContainEqual([`claude://${THREAD}/${L2}`, "completed", "parent_rollout"]);
  });

  it("also if the text does not contain its id", async () => {
    const forest = await withResult((result) => {
      result.content = "L2 done";
    }).forest();
    expect(statuses(forest)).toContainEqual([`claude://${THREAD}/${L2_CALL}`, "completed", "parent_rollout"]);
    const [lost] = [...forest.agents.values()].filter(({ agentId }) => agentId === L2_CALL);
    const record = treeOf(forest, lost?.key ?? ("" as never), () => null);
    expect({ result: record.result, prompt: record.prompt, warnings: record.warnings.length }).toEqual({
      result: "L2 done",
      prompt: "Go deeper. @@L2",
      warnings: 1,
    });
  });

  it("gives a failed agent if the result is an error", async () => {
    const forest = await withResult((result) => {
      result.content = "Agent terminated early due to an API error";
      result.is_error = true;
    }).forest();
    expect(statuses(forest)).toContainEqual([`claude://${THREAD}/${L2_CALL}`, "errored", "parent_rollout"]);
  });
});

describe("a promoted copy of an agent that had spawned another one", () => {
  /** L1 up to its call that spawns L2, as a session of its own; then what the product adds when that is resumed. */
  const promoted = (home: Home, more: (call: string) => Row[]) => {
    const rows = home.rows(L1);
    const kept = rows
      .slice(0, rows.findIndex(isAgentCall) + 1)
      .filter(({ type }) => ["user", "assistant", "attachment", "system"].includes(type));
    const last = kept.at(-1) as Row;
    const call = blocksOf(last).find(({ type }) => type === "tool_use")?.id as string;
    const asThread = (row: Row): Row => {
      const { agentId: _, ...rest } = row;
      return { ...rest, isSidechain: false, sessionId: COPY } as unknown as Row;
    };
    const own = more(call).map((row, i) =>
      asThread({
        ...row,
        uuid: `99999999-0000-4000-8000-00000000000${i}`,
        timestamp: `2026-11-15T23:30:0${i}.000Z`,
        parentUuid: last.uuid,
        version: "2.1.325",
        cwd: "/x",
      }),
    );
    home.writeThread(COPY, [...kept.map(asThread), ...own]);
  };
  const user = (content: unknown, more: object = {}) =>
    ({ type: "user", message: { role: "user", content }, ...more }) as unknown as Row;
  const interrupted = (call: string) => [
    user(
      [
        {
          type: "tool_result",
          tool_use_id: call,
          is_error: true,
          content: "[Tool call interrupted: the session ended]",
        },
      ],
      {
        toolDenialKind: "interrupted",
      },
    ),
    user("go on"),
  ];
  const notified = () => [
    user(
      `<task-notification>\n<task-id>${L2}</task-id>\n<status>stopped</status>\n<summary>Agent "Level L2" didn't finish</summary>\n</task-notification>`,
    ),
    user("go on"),
  ];

  it.each([
    ["nothing", () => [user("go on")]],
    ["an interrupted call", interrupted],
    ["a notification that names no call", notified],
  ])("has no agents below it: resumed with %s", async (_, more) => {
    const home = new Home("claude", "c-nested");
    promoted(home, more);
    const forest = await home.forest();
    expect(agentOf(forest, `claude:${COPY}` as never).children).toEqual([]);
    expect(statuses(forest).map(([uri, status]) => [uri, status])).toEqual(
      [L3, L1, L2].map((id) => [`claude://${THREAD}/${id}`, "completed"]),
    );
  });

  it("has no agents below it either if the spawned agent left no file", async () => {
    const home = new Home("claude", "c-nested");
    const rows = home.rows(L1);
    home.write(L1, rows.slice(0, rows.findIndex(isAgentCall) + 1));
    home.lose(L2);
    home.lose(L3);
    promoted(home, interrupted);
    const forest = await home.forest();
    expect(agentOf(forest, `claude:${COPY}` as never).children).toEqual([]);
    expect(statuses(forest).map(([uri]) => uri)).toEqual([`claude://${THREAD}/${L1}`, `claude://${THREAD}/${L2_CALL}`]);
  });
});
