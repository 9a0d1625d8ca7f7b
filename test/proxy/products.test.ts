/** Products that send session ids, with their own records: every agent is shown once, and every call counts once. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { readMachine } from "../../src/app/machine.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { Requests } from "../../src/app/query/requests.ts";
import type { Forest } from "../../src/core/link/forest.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { caseNames, FIXTURES, homeEnv, type RecordedThread, recordedHome } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";
import { startProxied } from "./proxied.ts";
import { replay, setBack, startUpstream, type WireExchange, wireOf } from "./wires.ts";

const MISSING: TreeNode = { agentId: null, status: "not listed" };
const casesOf = (provider: string) =>
  caseNames(provider).filter((name) => existsSync(join(FIXTURES, provider, name, "wire.jsonl")));
const treesOf = (forest: Forest) =>
  new Map(forest.roots.map((key) => [treeOf(forest, key, listPrice).sessionId, treeOf(forest, key, listPrice)]));

async function recorded(wire: readonly WireExchange[], home: string | null) {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  const proxied = await startProxied(upstream.url);
  onTestFinished(() => proxied.dispose());
  await replay(wire, proxied.url, upstream);
  await proxied.stop();
  if (home !== null) setBack(proxied.folder, wire, home);
  return proxied;
}

/** Agents of Pi send no ids of their own; those of OpenCode do. */
const asTheWireKnows = (thread: RecordedThread, provider: string): RecordedThread =>
  provider !== "pi"
    ? thread
    : {
        ...thread,
        agents: thread.agents.map((agent) => (agent.agentId === null ? agent : { ...agent, agentIdNative: false })),
      };

/** Two agents with the same prompt: the label of the second one stays a thread of its own. */
const AMBIGUOUS = new Set(["forked", "killed-resumed", "same"]);

describe.each(["pi", "omp", "opencode"])("the traffic of %s", (provider) => {
  const clear = casesOf(provider).filter((name) => provider !== "omp" || !AMBIGUOUS.has(name));
  it.each(clear)("with its own records counts everything once, and alone yields its agents: %s", async (name) => {
    const { home, threads } = recordedHome(provider, name);
    const proxied = await recorded(wireOf(provider, name), home);
    const own = { ...homeEnv(home), RETINUE_HOME: join(proxied.env.RETINUE_HOME ?? "", "own") };
    // Requests of omp are read by content, like those of every client without an id of the whole run.
    if (provider !== "omp") {
      const alone = treesOf((await proxied.read()).forest);
      const seen = threads.filter(({ optional }) => optional !== true);
      expect(
        seen.flatMap((thread) =>
          differences(asTheWireKnows(thread, provider), (alone.get(thread.root) as TreeNode | undefined) ?? MISSING),
        ),
      ).toEqual([]);
    }
    const unproxied = treesOf((await readMachine({ env: own })).forest);
    const { forest, problems } = await readMachine({
      env: { ...homeEnv(home), RETINUE_HOME: proxied.env.RETINUE_HOME ?? "" },
    });
    const joined = treesOf(forest);
    expect(problems.filter(({ code }) => code === "line-not-json" || code === "record-malformed")).toEqual([]);
    expect(
      threads.flatMap((thread) => differences(thread, (joined.get(thread.root) as TreeNode | undefined) ?? MISSING)),
    ).toEqual([]);
    expect([...joined.keys()].sort()).toEqual([...unproxied.keys()].sort());
  });

  it.each(provider === "pi" ? casesOf(provider) : [])(
    "with its own records counts everything once, even if it sends no ids: %s",
    async (name) => {
      const { home, threads } = recordedHome(provider, name);
      const wire = wireOf(provider, name).map((exchange) => ({
        ...exchange,
        headers: { "user-agent": "OpenAI/JS 7.19.0" },
      }));
      const proxied = await recorded(wire, home);
      const machine = await readMachine({ env: { ...homeEnv(home), RETINUE_HOME: proxied.env.RETINUE_HOME ?? "" } });
      const joined = treesOf(machine.forest);
      expect(
        threads.flatMap((thread) => differences(thread, (joined.get(thread.root) as TreeNode | undefined) ?? MISSING)),
      ).toEqual([]);
      expect([...joined.keys()]).toEqual(threads.map(({ root }) => root));
      const { items } = new Requests(machine.library).list({ limit: 99 });
      expect(items).toHaveLength(wire.length);
      for (const { uri } of items) expect(uri).toMatch(new RegExp(`^${provider}://${threads[0]?.root}`));
    },
  );
});

describe.each([
  ["cline", "fail"],
  ["droid", "background"],
  ["droid", "fail"],
  ["grok", "background"],
  ["grok", "fail"],
  ["kilo", "fail"],
  ["kimi", "fail"],
  ["kimi", "swarm"],
  ["letta", "single"],
  ["qwen", "background"],
  ["qwen", "fail"],
])("the traffic of %s, case %s", (provider, name) => {
  it("with its own records counts everything once", async () => {
    const { home, threads } = recordedHome(provider, name);
    const proxied = await recorded(wireOf("wires", `${provider}-${name}`), home);
    const { forest } = await readMachine({ env: { ...homeEnv(home), RETINUE_HOME: proxied.env.RETINUE_HOME ?? "" } });
    const joined = treesOf(forest);
    expect(
      threads.flatMap((thread) => differences(thread, (joined.get(thread.root) as TreeNode | undefined) ?? MISSING)),
    ).toEqual([]);
    expect([...joined.keys()]).toEqual(threads.map(({ root }) => root));
  });
});

describe("a request that may belong to more than one product", () => {
  const id = "01a1e11c-ea2c-7174-9520-4cd9373a20d7";
  const asked = (headers: Record<string, string>): WireExchange => ({
    ...{ n: 1, t: 10, tEnd: 15, method: "POST", url: "/v1/responses", headers, status: 200 },
    request: {
      model: "m",
      stream: true,
      prompt_cache_key: id,
      tools: [{ name: "bash" }],
      input: [{ role: "user", content: "Begin" }],
    },
    response: {
      id: "resp_1",
      model: "m",
      status: "completed",
      output: [],
      usage: { input_tokens: 3, output_tokens: 2 },
    },
  });
  const pi = { "user-agent": "pi/1.5.0 (linux; node/v24.21.0; x64)", session_id: id };
  const codex = { "user-agent": "codex_exec/0.121.0 (Debian 12.0.0)", originator: "codex_exec", session_id: id };

  it.each([
    ["Pi", pi, `pi://${id}`],
    ["Codex up to 0.121", codex, `codex://${id}`],
    ["a client that only has a session_id", { session_id: id }, "proxy://"],
    ["Letta, which calls itself Pi and names no session", { "user-agent": "pi (linux 6.1.0; x64)" }, "proxy://"],
    ["Pi and Codex at once", { ...pi, originator: "codex_exec" }, "proxy://"],
    [
      "Kilo, which has the ids of OpenCode",
      { "user-agent": "Kilo-Code/7.7.9", "x-session-id": "ses_e1b738ba3ffe2g7oOd5ACH8CaL" },
      "kilo://ses_e1b738ba3ffe2g7oOd5ACH8CaL",
    ],
    [
      "OpenCode",
      { "user-agent": "opencode/1.18.33", "x-session-id": "ses_e1b738ba3ffe2g7oOd5ACH8CaL" },
      "opencode://ses_e1b738ba3ffe2g7oOd5ACH8CaL",
    ],
  ])("%s", async (_, headers, uri) => {
    const proxied = await recorded([asked(headers)], null);
    const trees = [...treesOf((await proxied.read()).forest).values()];
    expect(trees.map((tree) => [tree.uri.startsWith(uri), tree.usage.own.calls])).toEqual([[true, 1]]);
  });
});
