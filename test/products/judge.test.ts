import { describe, expect, it } from "vitest";
import {
  type AgentTruth,
  differences,
  type ThreadTruth,
  type TreeNode,
  USAGE_FIELDS,
  type Usage,
} from "../support/judge.ts";

const usage = (seed: number): Usage => ({
  calls: seed,
  inputTokens: 100 + seed,
  outputTokens: 20 + seed,
  cacheReadTokens: 1000 + seed,
  cacheWriteTokens: 300 + seed,
  cacheWrite1hTokens: 200 + seed,
});

const agent = (
  agentId: string | null,
  parentAgentId: string | null,
  seed: number,
  more: Partial<AgentTruth> = {},
): AgentTruth => ({
  agentId,
  parentAgentId,
  status: "completed",
  statusWhy: "its last answer ended the turn",
  prompt: `Prompt of ${agentId}`,
  toolCallId: agentId && `call-${agentId}`,
  ...usage(seed),
  ...more,
});

const thread = (more: Partial<ThreadTruth> = {}): ThreadTruth => ({
  root: "thread",
  agents: [
    agent(null, null, 1),
    agent("a", null, 2),
    agent("b", null, 3, { status: "errored" }),
    agent("leaf", "a", 4),
  ],
  ...more,
});

/** The ideal tree. */
function ideal(truth: ThreadTruth): TreeNode {
  const below = (parent: string | null): TreeNode[] =>
    truth.agents.filter((one) => one.agentId !== null && one.parentAgentId === parent).map(show);
  const show = (one: AgentTruth): TreeNode => ({
    agentId: one.agentId,
    status: one.status,
    prompt: one.prompt ?? null,
    link: { toolCallId: one.toolCallId ?? null },
    usage: { own: Object.fromEntries(USAGE_FIELDS.map((field) => [field, one[field] ?? null])) },
    children: below(one.agentId),
  });
  const root = truth.agents.find((one) => one.agentId === null);
  if (!root) throw new Error("a truth needs its root");
  return show(root);
}

function child(tree: TreeNode, index: number): TreeNode {
  const found = tree.children?.[index];
  if (!found) throw new Error(`no child ${index}`);
  return found;
}

const stranger = (more: Partial<TreeNode> = {}): TreeNode => ({
  ...structuredClone(child(ideal(thread()), 0)),
  agentId: "stranger",
  link: null,
  prompt: "",
  children: [],
  ...more,
});

describe("the judge", () => {
  it("accepts the ideal tree", () => {
    expect(differences(thread(), ideal(thread()))).toEqual([]);
  });

  const faults: Record<string, (tree: TreeNode) => void> = {
    "a missing agent": (tree) => tree.children?.pop(),
    "a missing nested agent": (tree) => child(tree, 0).children?.pop(),
    "an additional agent": (tree) => tree.children?.push(stranger()),
    "an agent shown twice under its own id": (tree) => tree.children?.push(structuredClone(child(tree, 1))),
    "a wrong id": (tree) => {
      child(tree, 0).agentId = "z";
    },
    "a wrong status": (tree) => {
      child(tree, 0).status = "running";
    },
    "a wrong status of the root": (tree) => {
      tree.status = "shutdown";
    },
    "no usage": (tree) => {
      child(tree, 0).usage = null;
    },
    "two siblings' numbers swapped": (tree) => {
      const [first, second] = [child(tree, 0), child(tree, 1)];
      [first.usage, second.usage] = [second.usage ?? null, first.usage ?? null];
    },
    "an agent under its sibling": (tree) => {
      const moved = tree.children?.pop();
      if (moved) child(tree, 0).children?.push(moved);
    },
    "a nested agent under the root": (tree) => {
      const moved = child(tree, 0).children?.pop();
      if (moved) tree.children?.push(moved);
    },
  };
  it.each(Object.entries(faults))("detects %s", (_what, plant) => {
    const tree = ideal(thread());
    plant(tree);
    expect(differences(thread(), tree)).not.toEqual([]);
  });

  it.each(USAGE_FIELDS)("detects a wrong number of %s, in an agent and in the root", (field) => {
    for (const pick of [(tree: TreeNode) => tree, (tree: TreeNode) => child(tree, 0)]) {
      const tree = ideal(thread());
      const own = pick(tree).usage?.own;
      if (own) own[field] = (own[field] ?? 0) + 1;
      expect(differences(thread(), tree)).toHaveLength(1);
    }
  });
});

describe("alternatives in a truth", () => {
  const withFirst = (more: Partial<AgentTruth>): ThreadTruth =>
    thread({
      agents: [
        agent(null, null, 1),
        agent("a", null, 2, more),
        agent("b", null, 3, { status: "errored" }),
        agent("leaf", "a", 4),
      ],
    });
  const shown = (change: (first: TreeNode) => void): TreeNode => {
    const tree = ideal(thread());
    change(child(tree, 0));
    return tree;
  };
  const stop = shown((first) => {
    first.status = "shutdown";
  });
  const noCalls = shown((first) => {
    first.usage = { own: Object.fromEntries(USAGE_FIELDS.map((field) => [field, 0])) };
  });

  it("allow another status only if it is listed", () => {
    expect(differences(withFirst({ accept: { status: ["completed", "shutdown"] } }), stop)).toEqual([]);
    expect(differences(withFirst({ accept: { status: ["completed", "running"] } }), stop)).toHaveLength(1);
    expect(differences(withFirst({ accept: { status: "any" } }), stop)).toEqual([]);
  });

  it("allow other usage only as a whole", () => {
    const nothing = {
      calls: 0,
      inputTokens: 0,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
    };
    expect(differences(withFirst({ accept: { usage: [nothing] } }), noCalls)).toEqual([]);
    expect(differences(withFirst({ accept: { usage: [{ ...nothing, calls: 1 }] } }), noCalls)).toHaveLength(1);
    expect(differences(withFirst({ accept: { usage: [{ outputTokens: 0 }] } }), noCalls)).toHaveLength(1);
  });

  it("do not matter for an unknown number, which is not judged", () => {
    expect(differences(withFirst({ cacheWriteTokens: null }), ideal(thread()))).toEqual([]);
  });

  it("include finding an agent without an id by its call, otherwise by its prompt", () => {
    const renamed = shown((first) => {
      first.agentId = "named by the reader";
    });
    expect(differences(withFirst({ agentIdNative: false }), renamed)).toEqual([]);
    expect(differences(withFirst({ agentIdNative: false, toolCallId: null }), renamed)).toEqual([]);
    expect(
      differences(withFirst({ agentIdNative: false, toolCallId: null, prompt: "another prompt" }), renamed),
    ).not.toEqual([]);
  });

  it("include the id of the API traffic if it differs from that of the files", () => {
    const byWire = shown((first) => {
      first.agentId = "a@session";
    });
    expect(differences(withFirst({ wireAgentId: "a@session" }), byWire)).toEqual([]);
  });

  it("allow optional and refused agents to be shown, but only once each", () => {
    const optional = thread({ optionalAgents: [{ prompt: "Warmup" }], refusedSpawns: [{ toolCallId: "refused" }] });
    const tree = ideal(thread());
    expect(differences(optional, tree)).toEqual([]);
    tree.children?.push(stranger({ prompt: "Warmup" }), stranger({ link: { toolCallId: "refused" } }));
    expect(differences(optional, tree)).toEqual([]);
    tree.children?.push(stranger({ prompt: "Warmup" }));
    expect(differences(optional, tree)).toHaveLength(1);
  });
});
