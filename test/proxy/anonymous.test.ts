/** Clients that send no ids at all: conversations are distinguished and joined by their content. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { listPrice } from "../../src/app/query/prices.ts";
import { loadSettings } from "../../src/app/settings/settings.ts";
import type { AgentTree } from "../../src/core/views/agent.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { recordedHome } from "../support/fixtures.ts";
import { type Proxied, startProxied } from "./proxied.ts";
import { anonymous, replay, startUpstream, type WireExchange, wireOf } from "./wires.ts";

async function through(...wires: (readonly WireExchange[])[]): Promise<{ trees: AgentTree[]; proxied: Proxied }> {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  for (const wire of wires) await replay(wire, proxied.url, upstream);
  await proxied.stop();
  const { forest } = await proxied.read();
  return { trees: forest.roots.map((key) => treeOf(forest, key, listPrice)), proxied };
}

const outline = ({ prompt, usage, children }: AgentTree): unknown => [
  prompt?.split("\n").at(-1),
  usage.own.calls,
  usage.own.outputTokens,
  children.map(outline),
];

const SUMMARY = `Summary: ${"what was said before, in other words; ".repeat(12)}`;
const message = (role: string, text: string) => ({ role, content: text });
const exchange = (n: number, messages: unknown[], text: string, more: Partial<WireExchange> = {}): WireExchange => ({
  n,
  t: n * 10,
  tEnd: n * 10 + 5,
  method: "POST",
  url: "/v1/messages",
  headers: {},
  request: { model: "m", stream: true, messages, tools: [{ name: "Bash" }] },
  status: 200,
  response: {
    id: `msg_${n}`,
    type: "message",
    role: "assistant",
    model: "m",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: n },
  },
  ...more,
});

it.each(["a-single", "b-parallel3", "c-nested", "i-custom", "m-sendmessage", "v2.0.14", "v2.1.220"])(
  "the agents of %s keep their places, each with its own calls",
  async (name) => {
    const { trees } = await through(anonymous(wireOf("claude", name)));
    const truth = recordedHome("claude", name).threads[0]?.agents ?? [];
    const roots = trees.filter(({ usage }) => usage.own.calls > 0);
    const byPrompt = (list: readonly unknown[]) => list.map((item) => JSON.stringify(item)).sort();
    const expected = (parent: string | null): unknown[] =>
      truth
        .filter(({ agentId, parentAgentId }) => agentId !== null && parentAgentId === parent)
        .map(({ prompt, calls, outputTokens, agentId }) => [prompt, calls, outputTokens, expected(agentId)]);
    const [root] = truth;
    const main = roots.find(({ prompt }) => prompt === root?.prompt);
    expect(main?.provider).toBe("proxy");
    expect([main?.usage.own.calls, main?.usage.own.outputTokens]).toEqual([root?.calls, root?.outputTokens]);
    expect(byPrompt(main?.children.map(outline) ?? [])).toEqual(byPrompt(expected(null)));
    for (const child of main?.children ?? []) expect(child.link).toMatchObject({ source: "inferred", rule: "prompt" });
    expect(main?.children.every(({ link }) => (link?.confidence ?? 1) < 1)).toBe(true);
  },
);

it("equal prompts in two consecutive sessions: each session has its own agent", async () => {
  const wire = anonymous(wireOf("claude", "a-single"));
  const renamed = JSON.parse(
    JSON.stringify(wire).replaceAll("toolu_", "toolu_B").replaceAll("msg_", "msg_B").replaceAll("@@main", "@@other"),
  ) as WireExchange[];
  const { trees } = await through(wire, renamed);
  expect(trees.map(({ children }) => children.filter(({ usage }) => usage.own.calls > 0).length)).toEqual([1, 1]);
});

it("an agent that two concurrent sessions could have spawned is assigned to neither", async () => {
  const spawn = (n: number) => ({
    response: {
      id: `msg_${n}`,
      type: "message",
      model: "m",
      content: [{ type: "tool_use", id: `toolu_${n}`, name: "Task", input: { prompt: "Do it all" } }],
      stop_reason: "tool_use",
      usage: {},
    },
  });
  const asked = [
    exchange(1, [message("user", "First")], "", spawn(1)),
    exchange(2, [message("user", "Second")], "", spawn(2)),
    exchange(3, [message("user", "Do it all")], "Done"),
  ];
  const { trees } = await through(asked);
  expect(trees.filter(({ usage }) => usage.own.calls > 0).map(({ prompt, parent }) => [prompt, parent])).toEqual(
    expect.arrayContaining([["Do it all", null]]),
  );
  const [alone] = [await through([asked[0] as WireExchange, asked[2] as WireExchange])];
  expect(alone.trees.map(({ prompt, children }) => [prompt, children.map((child) => child.prompt)])).toEqual([
    ["First", ["Do it all"]],
  ]);
});

/** Spawns, and 60 seconds later an agent with that prompt starts, for a client that sends its working folder. */
async function rootsAfter(windows: string): Promise<number> {
  const settings = join(mkdtempSync(join(tmpdir(), "retinue-window-")), "config.yaml");
  onTestFinished(() => rmSync(dirname(settings), { recursive: true }));
  writeFileSync(settings, windows);
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url, { settings: await loadSettings({ RETINUE_CONFIG: settings }) });
  onTestFinished(() => proxied.dispose());
  const system = `${"You are an agent. ".repeat(300)}\n<env>\n  Working directory: /home/dev/shop\n</env>`;
  const call = { type: "tool_use", id: "toolu_1", name: "Task", input: { prompt: "Do it all" } };
  const asked = [
    exchange(1, [message("user", "First")], "", {
      response: { id: "msg_1", type: "message", model: "m", content: [call], stop_reason: "tool_use", usage: {} },
    }),
    exchange(2, [message("user", "Do it all")], "Done"),
  ];
  await replay(
    asked.map((one) => ({ ...one, request: { ...one.request, system } })),
    proxied.url,
    upstream,
  );
  await proxied.stop();
  const [file = ""] = readdirSync(proxied.folder);
  const late = readFileSync(join(proxied.folder, file), "utf8").replace(
    /\{"at":(\d+),"note":\{(?=[^\n]*Do it all[^\n]*"is":"asked"|[^\n]*"is":"asked"[^\n]*Do it all)/g,
    (_, at) => `{"at":${Number(at) + 60_000},"note":{`,
  );
  writeFileSync(join(proxied.folder, file), late);
  const { forest } = await proxied.read();
  const roots = forest.roots.filter((key) => (forest.agents.get(key)?.calls.length ?? 0) > 0);
  for (const key of roots) expect(forest.agents.get(key)?.cwd).toBe("/home/dev/shop");
  return roots.length;
}

it.each([
  ["match_window: 7d", 1],
  ["match_window: 1s", 2],
  ["match_window: session", 1],
  ["match_window:\n  default: 7d\n  hosts:\n    127.0.0.1: 1s", 2],
  ["match_window:\n  default: 1s\n  hosts:\n    127.0.0.1: 7d", 1],
  ["match_window:\n  default: 7d\n  projects:\n    /home/dev/shop: 1s", 2],
  ["match_window:\n  default: 1s\n  projects:\n    /home/dev: session", 1],
  ["match_window:\n  default: 7d\n  projects:\n    /home/dev/shopping: 1s", 1],
  ["match_window:\n  default: 1s\n  projects:\n    /home/dev/shop: 7d\n  hosts:\n    127.0.0.1: 1s", 1],
])("an agent that begins after the window is not matched: %s", async (windows, roots) => {
  expect(await rootsAfter(`${windows}\n`)).toBe(roots);
});

it("follows a conversation through branches, retries, reminders and compaction", async () => {
  const start = [message("user", "Begin")];
  const second = [...start, message("assistant", "One"), message("user", "Go on")];
  const reminded = [
    {
      role: "user",
      content: [
        { type: "text", text: "<system-reminder>it is late</system-reminder>" },
        { type: "text", text: "Begin" },
      ],
    },
    ...second.slice(1),
  ];
  const { trees, proxied } = await through([
    exchange(1, start, "One"),
    exchange(2, second, "", {
      status: 529,
      response: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    }),
    exchange(3, reminded, "Two"),
    exchange(4, [...start, message("assistant", "One"), message("user", "Something else")], "Other"),
    exchange(
      5,
      [
        ...second,
        message("assistant", "Two"),
        message("user", "Your task is to create a detailed summary of the conversation so far."),
      ],
      SUMMARY,
    ),
    exchange(
      6,
      [message("user", `This session is being continued from a previous conversation.\n${SUMMARY}\nPlease continue.`)],
      "Three",
    ),
    exchange(7, [message("user", "Begin")], "One"),
  ]);
  const { library } = await proxied.read();
  const rows = library.store.exchanges({ under: library.under, limit: 99 }).toReversed();
  expect(rows.map(({ branch, isRetry, tag }) => [branch, isRetry, tag])).toEqual([
    ["main", false, null],
    ["main", false, null],
    ["main", true, null],
    ["branch_1", false, null],
    ["main", false, "compaction"],
    ["compact_2", false, null],
    ["main", false, null],
  ]);
  // The last one only received the same input as the first.
  expect(trees.map(({ usage }) => usage.own.calls).sort()).toEqual([1, 5]);
});
