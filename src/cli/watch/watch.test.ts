import { createColors } from "picocolors";
import { describe, expect, it } from "vitest";
import type { Permission } from "../../app/runs/permissions.ts";
import type { Status } from "../../core/link/status.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import { cells } from "../render/table.ts";
import { rowsOf, SORTS } from "./rows.ts";
import { isAllShown, type Size, screenOf } from "./screen.ts";
import { FIRST_VIEW, isFolded, press, type View } from "./view.ts";

const NO_USE = {
  calls: 0,
  inputTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  cacheWrite1hTokens: 0,
  costUsd: 0,
};
const NOW = Date.parse("2026-11-16T10:00:00Z");

function agent(name: string, status: Status, children: AgentTree[] = [], more: Partial<AgentTree> = {}): AgentTree {
  const below = children.flatMap((child) => [child, ...walkBelow(child)]);
  const byStatus: Partial<Record<Status, number>> = {};
  for (const { status } of below) byStatus[status] = (byStatus[status] ?? 0) + 1;
  const own = { ...NO_USE, calls: 1, inputTokens: name.length * 100, costUsd: name.length };
  const parented = children.map((child) => ({ ...child, parent: `x://t/${name}` }));
  return {
    schema: "retinue/agent@1",
    uri: `x://t/${name}`,
    provider: "x",
    productVersion: null,
    sessionId: "t",
    agentId: name,
    parent: null,
    forkedFrom: null,
    depth: 0,
    kind: "subagent",
    type: "worker",
    name: null,
    title: null,
    description: name,
    prompt: `Do ${name}.`,
    cwd: null,
    project: null,
    branch: null,
    model: ["m-1"],
    tools: { allowed: null, denied: null },
    background: false,
    status,
    statusSource: "protocol",
    statusReason: "because",
    activity: status === "running" ? "runs Bash" : null,
    link: null,
    startedAt: "2026-11-16T09:59:00.000Z",
    endedAt: null,
    lastActivityAt: null,
    durationMs: 5_000,
    usage: { own, internal: null, reported: null, subtree: own },
    counts: {
      messages: 0,
      toolCalls: 0,
      toolErrors: 0,
      spawned: children.length,
      refused: 0,
      descendants: below.length,
      byStatus,
    },
    refused: [],
    result: null,
    records: [],
    warnings: [],
    children: parented,
    ...more,
  };
}
const walkBelow = (tree: AgentTree): AgentTree[] => tree.children.flatMap((child) => [child, ...walkBelow(child)]);

const TREES = [
  agent("done", "completed", [agent("old", "completed")], { startedAt: "2026-11-16T09:00:00.000Z" }),
  agent("busy", "running", [
    agent("over", "completed"),
    agent("failed", "errored"),
    agent("atwork", "running", [agent("deep", "running")]),
  ]),
];
const rows = (view: View) => rowsOf(TREES, view.sort, (tree) => isFolded(view, tree));
const names = (view: View) => rows(view).map(({ agent: { agentId } }) => agentId);
const colors = createColors(false);
const draw = (view: View, size: Size) => screenOf(TREES, rows(view), view, size, colors, NOW);
const SMALL: Size = { columns: 80, rows: 24 };

describe("the live tree", () => {
  it("shows running agents first, then failures, and folds finished agents", () => {
    expect(names(FIRST_VIEW)).toEqual(["busy", "atwork", "deep", "failed", "over", "done"]);
    expect(names({ ...FIRST_VIEW, sort: "newest first" })).toEqual([
      "busy",
      "over",
      "failed",
      "atwork",
      "deep",
      "done",
    ]);
  });

  it("shows name, activity, time, tokens and cost of every agent in 80×24", () => {
    const lines = draw(FIRST_VIEW, SMALL);
    expect(lines).toHaveLength(24);
    expect(lines.map(cells).filter((width) => width > 80)).toEqual([]);
    expect(lines.slice(0, 10).map((line) => line.trimEnd())).toEqual([
      "3 running · 7 agents · 800 tokens · $8.00 · running first",
      "",
      "AGENT         NOW        STATUS       TYPE    MODEL   TIME  TOKENS   COST  CALLS",
      "● busy        runs Bash  ● running    worker  m-1      1 m     400  $4.00      1",
      "├─ ● atwork   runs Bash  ● running    worker  m-1      1 m     600  $6.00      1",
      "│  └─ ● deep  runs Bash  ● running    worker  m-1      1 m     400  $4.00      1",
      "├─ ✖ failed   because    ✖ errored    worker  m-1    5.0 s     600  $6.00      1",
      "└─ ✔ over                ✔ completed  worker  m-1    5.0 s     400  $4.00      1",
      "✔ done (+1)              ✔ completed  worker  m-1    5.0 s     400  $4.00      1",
      "",
    ]);
  });

  it.each([
    [20, 5],
    [40, 10],
    [200, 50],
    [1, 1],
  ])("fits into %i×%i", (columns, rowCount) => {
    for (const view of [FIRST_VIEW, { ...FIRST_VIEW, isHelp: true }, { ...FIRST_VIEW, open: "x://t/busy" }]) {
      const lines = draw(view, { columns, rows: rowCount });
      expect(lines).toHaveLength(rowCount);
      // The columns of a table have a minimum width; everything else is truncated.
      if (columns >= 40) expect(lines.map(cells).filter((width) => width > columns)).toEqual([]);
    }
  });

  it("shows a message without agents", () => {
    expect(screenOf([], [], FIRST_VIEW, SMALL, colors, NOW).join("\n")).toContain("No agents yet");
  });

  it("never lets a transcript move the cursor", () => {
    const evil = agent("evil", "running", [], {
      description: "a\u001b[2Jb\nc",
      activity: "runs \u001b]0;x\u0007Bash",
      prompt: "p\u001b[31m",
    });
    for (const view of [FIRST_VIEW, { ...FIRST_VIEW, open: evil.uri }])
      for (const line of screenOf(
        [evil],
        rowsOf([evil], "running first", () => false),
        view,
        SMALL,
        colors,
        NOW,
      ))
        expect(line).not.toMatch(/[\u0000-\u001f\u007f]/);
  });
});

describe("keys", () => {
  const pressed = (keys: readonly string[], from: View = { ...FIRST_VIEW, cursor: "x://t/busy" }) =>
    keys.reduce<View | null>((view, key) => (view === null ? null : press(view, key, rows(view), 10)), from);

  it("move the selection within the list", () => {
    expect(pressed(["j", "\u001b[B"])?.cursor).toBe("x://t/deep");
    expect(pressed(["k", "k", "k"])?.cursor).toBe("x://t/busy");
    expect(pressed(["G", "j"])?.cursor).toBe("x://t/done");
    expect(pressed(["G", "g"])?.cursor).toBe("x://t/busy");
  });

  it("fold and unfold, and go to the parent of a folded agent", () => {
    expect(names(pressed([" "]) ?? FIRST_VIEW)).toEqual(["busy", "done"]);
    expect(names(pressed([" ", " "]) ?? FIRST_VIEW)).toHaveLength(6);
    expect(names(pressed(["G", "l"]) ?? FIRST_VIEW)).toContain("old");
    expect(pressed(["j", "h", "h"])?.cursor).toBe("x://t/busy");
  });

  it("open an agent and go back, pause the screen, sort, show help, and quit", () => {
    expect(draw(pressed(["j", "\r"]) ?? FIRST_VIEW, SMALL).join("\n")).toContain("Do atwork.");
    expect(pressed(["\r", "q"])).toMatchObject({ open: null });
    expect(pressed(["\r", "\u0003"])).toBeNull();
    expect(pressed(["f"])).toMatchObject({ isHeld: true });
    expect(draw(pressed(["f"]) ?? FIRST_VIEW, SMALL).at(-1)).toContain("paused");
    expect(pressed(SORTS.map(() => "s"))?.sort).toBe("running first");
    expect(pressed(["?"])).toMatchObject({ isHelp: true });
    expect(pressed(["?", "x"])).toMatchObject({ isHelp: false });
    expect(pressed(["q"])).toBeNull();
  });

  it("continue an agent after a question, from the list and from its page", () => {
    const asked = pressed(["j", "a"]);
    expect(asked).toMatchObject({ attaches: { uri: "x://t/atwork", isConfirmed: false } });
    expect(draw(asked ?? FIRST_VIEW, SMALL).at(-1)).toContain("continue atwork as a session of its own?");
    expect(pressed(["j", "a", "a"])?.attaches).toEqual({ uri: "x://t/atwork", isConfirmed: true });
    for (const other of ["q", "x", "\u001b"]) expect(pressed(["j", "a", other])?.attaches).toBeNull();
    expect(pressed(["j", "a", "\u0003"])).toBeNull();
    const page = draw(pressed(["j", "\r"]) ?? FIRST_VIEW, SMALL).join("\n");
    expect(page).toContain("retinue attach x://t/atwork");
    expect(pressed(["j", "\r", "a"])).toMatchObject({ attaches: { uri: "x://t/atwork" }, open: "x://t/atwork" });
  });
});

describe("a permission request", () => {
  const asked: Permission = {
    id: "o.1",
    uri: "x://t/a",
    tool: "Bash",
    input: { command: `rm -rf build\u001b[2K && ${"echo long; ".repeat(200)}`, description: "Cleans" },
    callId: null,
    replies: ["once", "reject"],
    always: [],
    askedAt: "2026-11-16T09:59:00.000Z",
  };
  const size: Size = { columns: 60, rows: 12 };
  const shownAt = (scroll: number) =>
    screenOf(
      [],
      [],
      { ...FIRST_VIEW, permission: { shown: asked, reply: null }, scroll },
      size,
      createColors(false),
      NOW,
    );

  it("is shown in full before its answers are offered", () => {
    const pages: string[] = [];
    let scroll = 0;
    while (!isAllShown(asked, scroll, size)) {
      const page = shownAt(scroll);
      expect(page.at(-1)).toBe("↓ more");
      expect(page.every((line) => cells(line) <= size.columns)).toBe(true);
      pages.push(...page.slice(0, -1));
      scroll += size.rows - 1;
    }
    const last = shownAt(scroll);
    expect(last.at(-1)).toBe("y: allow once · n: reject · any other key: decide later");
    const all = [...pages, ...last.slice(0, -1)].join("\n");
    expect(all.match(/echo/g)?.length).toBeGreaterThanOrEqual(200);
    expect(all).toContain("Cleans");
    expect(all).not.toContain("\u001b");
  });

  it("is answered only by its keys", () => {
    const view: View = { ...FIRST_VIEW, permission: { shown: asked, reply: null } };
    const pressed = (key: string) => press(view, key, [], 10)?.permission;
    expect(pressed("y")).toEqual({ shown: asked, reply: "once" });
    expect(pressed("n")).toEqual({ shown: asked, reply: "reject" });
    // Not offered by this request.
    expect(pressed("A")).toBeNull();
    for (const key of ["q", "\r", "a", "\u001b", "Y", "x"]) expect(pressed(key)).toBeNull();
    for (const key of ["j", "k", " ", "\u001b[B"]) expect(pressed(key)).toEqual({ shown: asked, reply: null });
    expect(press(view, "\u0003", [], 10)).toBeNull();
  });
});
