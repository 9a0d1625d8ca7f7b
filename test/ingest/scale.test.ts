/**
 * Sizes beyond any real use, to detect quadratic work: each test takes seconds, or with a quadratic algorithm so long
 * that it is stopped.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { type Cell, table } from "../../src/cli/render/table.ts";
import { renderTree, walk } from "../../src/cli/render/tree.ts";
import { openTerminal } from "../../src/cli/terminal.ts";
import { agentOf, subtreeOf } from "../../src/core/link/forest.ts";
import { treeOf } from "../../src/core/views/record.ts";
import * as key from "../../src/providers/claude/keys.ts";
import { scratchFolder } from "../support/bad-input/homes.ts";
import {
  agentCall,
  type Files,
  forestOf,
  mainWriter,
  SESSION,
  THREAD_FILE,
  text,
  toolUse,
  treeFrom,
  writer,
} from "../support/claude-records.ts";

const scratch = scratchFolder();
const terminal = { width: null, colors: openTerminal({ color: false, quiet: true }).colors };
/** More arguments than fit on the stack of a test (`--stack-size` in vitest.config.ts). */
const MANY = 70_000;
const call = (n: number) => `toolu_${String(n).padStart(16, "0")}`;

function* numbers(count: number) {
  for (let n = 0; n < count; n += 1) yield n;
}

describe("a thread", { timeout: 120_000 }, () => {
  it("may have 4,000 agents", () => {
    const main = mainWriter();
    const rows = [...numbers(4_000)].flatMap((n) => [
      main.assistant([agentCall(call(n), `Do ${n}.`)], { stop_reason: "tool_use" }),
      main.result(call(n), "Done.", { toolUseResult: { status: "completed", agentId: `a${n}` } }),
    ]);
    const tree = treeFrom({ [THREAD_FILE]: rows });
    expect(tree.counts.byStatus).toEqual({ completed: 4_000 });
    expect(renderTree(tree, terminal, { all: false })).toContain("… 3,992 more agents");
  });

  it("may have more children than a function call can have arguments", () => {
    expect(() => Math.max(...Array<number>(MANY).fill(0))).toThrow(RangeError);
    const tree = treeFrom({ [THREAD_FILE]: [mainWriter().user("Begin.")] });
    const many = { ...tree, children: Array<typeof tree>(MANY).fill(tree) };
    expect([...walk(many)].length).toBe(MANY + 1);
    expect(table([{ title: "ID" }], Array<Cell[]>(MANY).fill([{ text: "a0b1" }]), null, String).length).toBe(MANY + 1);

    const root = forestOf({ [THREAD_FILE]: [mainWriter().user("Begin.")] });
    const thread = agentOf(root, key.thread(SESSION));
    const keys = [...numbers(MANY)].map((n) => key.agent(SESSION, `a${n}`));
    const agents = new Map([[thread.key, { ...thread, children: keys }], ...keys.map((one) => [one, thread] as const)]);
    expect(subtreeOf({ ...root, agents }, thread.key).length).toBe(MANY + 1);
  });

  it("may have 4,000 agents without a name and with the same prompt", () => {
    const main = mainWriter();
    const asked = [...numbers(4_000)].map((n) =>
      main.assistant([agentCall(call(n), "Do it.")], { stop_reason: "tool_use" }),
    );
    const answered = [...numbers(4_000)].map((n) => ({
      ...writer(`inline-${n}`, { isSidechain: true }).user("Do it."),
      timestamp: new Date(Date.parse("2026-02-01T00:00:00Z") + n).toISOString(),
    }));
    const tree = treeFrom({ [THREAD_FILE]: [...asked, ...answered] });
    expect(new Set(tree.children.map((child) => child.link?.rule))).toEqual(new Set(["prompt"]));
    expect(tree.children.length).toBe(4_000);
  });

  it("may contain 5,000 notifications of one agent's end", () => {
    const main = mainWriter();
    const note = `<task-notification><task-id>a0</task-id><tool-use-id>${call(0)}</tool-use-id><status>completed</status><summary>Agent "x" completed</summary></task-notification>`;
    const rows = [main.assistant([agentCall(call(0), "Do it.")]), ...[...numbers(5_000)].map(() => main.user(note))];
    expect(treeFrom({ [THREAD_FILE]: rows }).children).toMatchObject([{ agentId: "a0", status: "completed" }]);
  });

  it("may have tens of thousands of titles", () => {
    const titles = [...numbers(MANY)].map((n) => ({ type: "ai-title", aiTitle: `Title ${n}`, sessionId: SESSION }));
    expect(treeFrom({ [THREAD_FILE]: [mainWriter().user("Begin."), ...titles] }).title).toBe(`Title ${MANY - 1}`);
  });

  it("may have 6,000 lines", async () => {
    const main = mainWriter();
    const rows = [...numbers(2_000)].flatMap((n) => [
      main.assistant([text("Next.")]),
      main.assistant([toolUse(call(n), "Read", { path: "x" })], { stop_reason: "tool_use" }),
      main.result(call(n), "Read."),
    ]);
    const home = homeWith({ [THREAD_FILE]: rows });
    const machine = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "data") } });
    expect(machine.counts.lines).toBe(6_000);
    const events = await readEvents(machine.library, machine.forest, [key.thread(SESSION)]);
    expect(events.filter((event) => event.usage !== null).length).toBe(4_000);
  });
});

describe("a machine", { timeout: 120_000 }, () => {
  it("may contain 100 forks of one session without a known original", { timeout: 120_000 }, () => {
    const main = mainWriter();
    const history = [...numbers(200)].map((n) =>
      n % 2 === 0 ? main.user(`Do ${n}.`) : main.assistant([text("Done.")]),
    );
    const forks = [...numbers(100)].map((n): [string, unknown[]] => {
      const session = `${String(n).padStart(8, "0")}-2222-4333-8444-555555555555`;
      const own = {
        ...writer(`fork-${n}`, { isSidechain: false }).user(`Go on ${n}.`),
        timestamp: "2026-03-01T00:00:00.000Z",
      };
      return [`projects/-repo/${session}.jsonl`, [...history, own].map((row) => ({ ...row, sessionId: session }))];
    });
    const forest = forestOf(Object.fromEntries(forks));
    const calls = forest.roots.map((root) => agentOf(forest, root).calls.length);
    expect(calls.reduce((sum, count) => sum + count)).toBe(100);
  });

  it("may contain a file of junk, which is reported in one line with a count", async () => {
    const home = homeWith({ [THREAD_FILE]: ["x\n".repeat(30_000)] });
    const { problems } = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "data") } });
    expect(problems.reduce((sum, problem) => sum + (problem.times ?? 1), 0)).toBe(30_000);
    expect(problems.length).toBeLessThan(1_000);
  });

  it("may contain thousands of nested agents", () => {
    const metas = [...numbers(5_000)].map((n) => [
      `projects/-home-dev-repo/${SESSION}/subagents/agent-a${n}.meta.json`,
      n === 0 ? { spawnDepth: 1 } : { parentAgentId: `a${n - 1}` },
    ]);
    const forest = forestOf(Object.fromEntries(metas));
    expect(agentOf(forest, key.agent(SESSION, "a4999")).depth).toBe(5_000);
    expect(treeOf(forest, key.thread(SESSION), () => 0).counts.descendants).toBe(5_000);
  });
});

let homes = 0;
function homeWith(files: Files): string {
  homes += 1;
  const home = join(scratch(), `home-${homes}`);
  for (const [path, rows] of Object.entries(files)) {
    const full = join(home, ".claude", path);
    mkdirSync(dirname(full), { recursive: true });
    const lines = (rows as readonly unknown[]).map((row) => (typeof row === "string" ? row : JSON.stringify(row)));
    writeFileSync(full, `${lines.join("\n")}\n`);
  }
  return home;
}
