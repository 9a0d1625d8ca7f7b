/**
 * Agents of recordings, continued: the copy that is made for the product, record by record, and the tree once the
 * product has gone on with it.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { type AttachOptions, type AttachPlan, planAttach } from "../../src/app/attach/attach.ts";
import { openLibrary } from "../../src/app/open.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { Forest, LinkedAgent } from "../../src/core/link/forest.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { caseNames, homeEnv, recordedHome } from "../support/fixtures.ts";

const scratch = mkdtempSync(join(tmpdir(), "retinue-attach-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let count = 0;

const WHOLE: AttachOptions = { message: null, at: null, folder: scratch, isInteractive: true, args: [] };
type Json = Record<string, unknown>;

/** Reads a home, and plans for all of its agents, or for the chosen ones. */
async function planned(home: string, isWanted: (agent: LinkedAgent) => boolean, options: Partial<AttachOptions> = {}) {
  const env = { ...homeEnv(home), RETINUE_HOME: join(scratch, `data-${count++}`) };
  const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  try {
    await library.refresh();
    const keys = [...library.threadRows({ limit: 1000 })].map(({ place }) => place.key);
    const forest = library.forestOf(keys);
    const plans: { agent: LinkedAgent; plan: AttachPlan }[] = [];
    for (const agent of forest.agents.values())
      if (isWanted(agent))
        plans.push({ agent, plan: await planAttach(env, library, forest, agent, { ...WHOLE, ...options }) });
    const trees = forest.roots.map((key) => treeOf(forest, key, library.price));
    return { forest, plans, trees };
  } finally {
    library.close();
  }
}

const linesIn = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Json];
      } catch {
        return [];
      }
    });
const copyIn = ({ copies }: AttachPlan) => (copies[0]?.records ?? []).map((record) => JSON.parse(record) as Json);
const hasFile = (agent: LinkedAgent) => agent.files.length > 0 && agent.records > 0;
const flat = (tree: AgentTree): AgentTree[] => [tree, ...tree.children.flatMap(flat)];

describe("copies of the agents of Claude Code", () => {
  it.each(caseNames("claude"))("%s", async (name) => {
    const { forest, plans } = await planned(recordedHome("claude", name).home, hasFile);
    expect(plans.length).toBeGreaterThan(0);
    for (const { agent, plan } of plans) {
      if (plan.begins === "text") {
        // It has no messages.
        expect(agent.messages, agent.uri).toBe(0);
        continue;
      }
      const copy = copyIn(plan);
      const originals = new Map(
        filesAbove(forest, agent)
          .flatMap(linesIn)
          .map((record) => [record.uuid, record]),
      );
      const session = copy[0]?.sessionId;
      for (const record of copy) {
        const { isSidechain, sessionId, parentUuid: _, ...rest } = record;
        const original = originals.get(record.uuid);
        expect({ isSidechain, sessionId }).toEqual({ isSidechain: false, sessionId: session });
        const { agentId: __, isSidechain: ___, sessionId: ____, parentUuid: _____, ...same } = original ?? {};
        expect(rest).toEqual(same);
      }
      // Every record follows one that is there, so that the product finds the whole conversation.
      const uuids = new Set(copy.map(({ uuid }) => uuid));
      const loose = copy.filter(({ parentUuid }) => parentUuid !== null && !uuids.has(parentUuid));
      expect(loose, agent.uri).toEqual([]);
      // None of its messages is missing.
      const own = agent.files.map(({ path }) => path).filter((path) => /agent-[^/]*\.jsonl$/.test(path));
      const messages = linesIn(own[0] ?? "/dev/null").filter(({ type }) => type === "user" || type === "assistant");
      expect(
        messages.filter(({ uuid }) => !uuids.has(uuid)),
        agent.uri,
      ).toEqual([]);
      expect(plan.command.slice(0, 4)).toEqual(["claude", "--resume", plan.copies[0]?.path, "--fork-session"]);
    }
  });

  function filesAbove(forest: Forest, agent: LinkedAgent): string[] {
    const parent = agent.parent === null ? undefined : forest.agents.get(agent.parent);
    return [...agent.files.map(({ path }) => path), ...(parent === undefined ? [] : filesAbove(forest, parent))];
  }
});

/** What Claude Code writes when it resumes a copy with --fork-session (2.1.325): all records again, and new ones. */
function goOn(plan: AttachPlan, project: string, answer: string): string {
  const session = `00000000-0000-4000-8000-${String(count++).padStart(12, "0")}`;
  const copied = copyIn(plan).map((record): Json => ({ ...record, sessionId: session }));
  const common = {
    isSidechain: false,
    sessionId: session,
    cwd: "/home/dev/x",
    version: "2.1.325",
    userType: "external",
  };
  const turn = [
    {
      ...common,
      type: "user",
      uuid: `${session.slice(0, -1)}a`,
      parentUuid: copied.at(-1)?.uuid ?? null,
      timestamp: "2027-01-01T00:00:00.000Z",
      message: { role: "user", content: "Continue." },
    },
    {
      ...common,
      type: "assistant",
      uuid: `${session.slice(0, -1)}b`,
      parentUuid: `${session.slice(0, -1)}a`,
      timestamp: "2027-01-01T00:00:01.000Z",
      requestId: `req_${session}`,
      message: {
        id: `msg_${session}`,
        role: "assistant",
        model: "claude-opus-5-5",
        content: [{ type: "text", text: answer }],
        stop_reason: "end_turn",
        usage: { input_tokens: 11, output_tokens: 7, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
      },
    },
  ];
  writeFileSync(
    join(project, `${session}.jsonl`),
    `${[...copied, ...turn].map((one) => JSON.stringify(one)).join("\n")}\n`,
  );
  return session;
}

describe("the tree after an agent was continued", () => {
  it.each([
    ["a nested agent", "c2-nested5", (agent: LinkedAgent) => agent.depth === 5],
    [
      "an agent with agents below it",
      "c3-nested-parallel",
      (agent: LinkedAgent) => agent.depth === 1 && agent.children.length > 1,
    ],
    ["a killed agent", "f-killed", (agent: LinkedAgent) => agent.depth === 1],
    ["a fork", "o-fork", (agent: LinkedAgent) => agent.agentType === "fork"],
    ["an agent of a workflow", "n-workflow", (agent: LinkedAgent) => agent.depth > 0 && agent.records > 0],
    ["a team mate", "m3-teams-tty", (agent: LinkedAgent) => agent.kind === "teammate"],
    ["an agent beside the main transcript", "v2.0.76", (agent: LinkedAgent) => agent.depth === 1],
    ["an agent in the main transcript", "v1.0.60", (agent: LinkedAgent) => agent.depth === 1],
    ["a thread", "b-parallel3", (agent: LinkedAgent) => agent.depth === 0],
  ])("%s: %s", async (_, name, isWanted) => {
    const home = join(scratch, `home-${count++}`);
    cpSync(recordedHome("claude", name).home, home, { recursive: true });
    const before = await planned(home, (agent) => hasFile(agent) && isWanted(agent));
    const [first] = before.plans;
    if (first === undefined) throw new Error("no such agent in the recording");
    const root = before.trees.find((tree) => flat(tree).some(({ uri }) => uri === first.agent.uri));
    const project = dirname(root?.records[0]?.path ?? "");
    const session = goOn(first.plan, project, "Went on.");
    const after = await planned(home, () => false);

    const attached = after.trees.find(({ sessionId }) => sessionId === session);
    expect(attached).toMatchObject({ forkedFrom: first.agent.uri, parent: null, children: [], result: "Went on." });
    expect(attached?.usage.subtree).toMatchObject({ calls: 1, inputTokens: 11, outputTokens: 7 });
    expect(attached?.counts).toMatchObject({ toolCalls: 0, spawned: 0 });
    // The others are as they were.
    const others = after.trees.filter(({ sessionId }) => sessionId !== session);
    const comparable = (trees: readonly AgentTree[]) =>
      trees.flatMap(flat).map(({ uri, parent, status, usage, counts }) => ({ uri, parent, status, usage, counts }));
    expect(new Set(comparable(others).map((one) => JSON.stringify(one)))).toEqual(
      new Set(comparable(before.trees).map((one) => JSON.stringify(one))),
    );
  });
});

describe("the history up to an event", () => {
  it("ends with the record of the event", async () => {
    const { home } = recordedHome("claude", "a-single");
    const isWanted = (agent: LinkedAgent) => agent.depth === 1;
    const whole = copyIn((await planned(home, isWanted)).plans[0]?.plan as AttachPlan);
    const sizes: number[] = [];
    for (const at of ["1", "2", "3", "4", "5"]) {
      const cut = copyIn((await planned(home, isWanted, { at })).plans[0]?.plan as AttachPlan);
      const same = ({ sessionId: _, ...rest }: Json) => rest;
      expect(cut.map(same)).toEqual(whole.slice(0, cut.length).map(same));
      sizes.push(cut.filter(({ type }) => type === "user" || type === "assistant").length);
    }
    // The prompt, a call, its result, a call, its result.
    expect(sizes).toEqual([1, 2, 3, 4, 5]);
  });
});
