/** Every recorded exchange through the proxy: its recording alone yields the tree that is known to be true. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { recordingsRoot } from "../../src/app/home.ts";
import { type Machine, readMachine } from "../../src/app/machine.ts";
import { readEvents } from "../../src/app/query/events.ts";
import { listPrice } from "../../src/app/query/prices.ts";
import { treeOf } from "../../src/core/views/record.ts";
import { verifyAll } from "../../src/core/views/verify.ts";
import { caseNames, FIXTURES, type RecordedThread, recordedHome } from "../support/fixtures.ts";
import { differences, type TreeNode } from "../support/judge.ts";
import { readLater, startProxied } from "./proxied.ts";
import { anonymous, type ReplayOptions, replay, setBack, startUpstream, type WireExchange, wireOf } from "./wires.ts";

const MISSING: TreeNode = { agentId: null, status: "not listed" };
const casesOf = (provider: string) =>
  caseNames(provider).filter((name) => existsSync(join(FIXTURES, provider, name, "wire.jsonl")));

/**
 * The result of the replay, thread by thread; `home`, `recordings`: together with the product's own records and other
 * live recordings.
 */
async function treesAfter(
  wire: readonly WireExchange[],
  options: ReplayOptions = {},
  home?: string,
  recordings?: string,
): Promise<Map<string, TreeNode>> {
  return treesIn(await machineAfter(wire, options, home, recordings));
}

function treesIn({ forest, problems }: Machine): Map<string, TreeNode> {
  expect(problems.filter(({ code }) => code === "line-not-json" || code === "record-malformed")).toEqual([]);
  return new Map(
    forest.roots.map((key) => [
      treeOf(forest, key, listPrice).sessionId,
      treeOf(forest, key, listPrice) as unknown as TreeNode,
    ]),
  );
}

const scratch = mkdtempSync(join(tmpdir(), "retinue-traffic-"));
afterAll(() => rmSync(scratch, { recursive: true, maxRetries: 3 }));

/** The exchanges of a case as they were sent. They are replayed once, and each test of them gets a copy. */
const trafficOf = memo((name: string) => wireOf(name.slice(0, name.indexOf("/")), name.slice(name.indexOf("/") + 1)));
const unchanged = memo((wire: readonly WireExchange[]) => recorded(wire, {}));

function memo<K, V>(make: (key: K) => V): (key: K) => V {
  const made = new Map<K, V>();
  return (key) => {
    const found = made.get(key) ?? make(key);
    made.set(key, found);
    return found;
  };
}

/** The data folder of a proxy that forwarded all of it. */
async function recorded(wire: readonly WireExchange[], options: ReplayOptions): Promise<string> {
  const upstream = await startUpstream();
  const proxied = await startProxied(upstream.url);
  try {
    await replay(wire, proxied.url, upstream, options);
    await proxied.stop();
    expect(proxied.messages).toEqual([]);
    const data = mkdtempSync(join(scratch, "data-"));
    cpSync(proxied.env.RETINUE_HOME ?? "", data, { recursive: true });
    return data;
  } finally {
    await proxied.dispose();
    await upstream.close();
  }
}

async function machineAfter(
  wire: readonly WireExchange[],
  options: ReplayOptions = {},
  home?: string,
  recordings?: string,
): Promise<Machine> {
  const place = mkdtempSync(join(scratch, "copy-"));
  const env = { HOME: join(place, "home"), RETINUE_HOME: join(place, "data") };
  mkdirSync(env.HOME);
  cpSync(await (options.headers === undefined ? unchanged(wire) : recorded(wire, options)), env.RETINUE_HOME, {
    recursive: true,
  });
  if (home !== undefined) {
    setBack(recordingsRoot(env, "proxy"), wire, home);
    // Imported: the creation time of these copies is unrelated to their content.
    for (const folder of readdirSync(home))
      cpSync(join(home, folder), join(env.RETINUE_HOME, "imported", folder.slice(1)), { recursive: true });
  }
  if (recordings !== undefined) cpSync(recordings, join(env.RETINUE_HOME, "recordings"), { recursive: true });
  return readLater(env);
}

/** The traffic of a case with the product's own records. */
const joinedWithRecords = memo((name: string) => {
  const [provider = "", recording = ""] = name.split("/");
  return machineAfter(trafficOf(name), {}, recordedHome(provider, recording).home);
});

/** Removes what cannot be known from the traffic: ids that are only in files. */
function asTheWireKnows(thread: RecordedThread, wire: readonly WireExchange[]): RecordedThread {
  const sent = JSON.stringify(wire);
  return {
    ...thread,
    agents: thread.agents.map((agent) =>
      agent.agentId !== null && !sent.includes(agent.agentId) ? { ...agent, agentIdNative: false } : agent,
    ),
  };
}

const nobodyNamed = (thread: RecordedThread): RecordedThread => ({
  ...thread,
  agents: thread.agents.map((agent) => (agent.agentId === null ? agent : { ...agent, agentIdNative: false })),
});

/** The ids by which a client distinguishes its agents. */
const AGENT_HEADERS =
  /^(x-claude-code-(agent|parent).*|thread-id|x-codex-parent-thread-id|x-openai-subagent|x-codex-turn-metadata|x-codex-window-id|x-client-request-id)$/;
const withoutAgents = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !AGENT_HEADERS.test(name)));

describe.each(["claude", "codex"])("the traffic of %s", (provider) => {
  const threadsOf = (name: string) => recordedHome(provider, name).threads.filter(({ optional }) => optional !== true);

  it.each(casesOf(provider))("yields the tree of %s", async (name) => {
    const wire = trafficOf(`${provider}/${name}`);
    const trees = await treesAfter(wire);
    expect(
      threadsOf(name).flatMap((thread) => differences(asTheWireKnows(thread, wire), trees.get(thread.root) ?? MISSING)),
    ).toEqual([]);
  });

  // Older versions send none.
  const naming = casesOf(provider).filter((name) =>
    trafficOf(`${provider}/${name}`).some(
      ({ headers }) => headers?.["x-claude-code-agent-id"] ?? headers?.["thread-id"],
    ),
  );
  it.each(naming)("without the ids of agents, yields the same agents by their content: %s", async (name) => {
    const wire = trafficOf(`${provider}/${name}`);
    const trees = await treesAfter(wire, { headers: withoutAgents });
    expect(
      threadsOf(name).flatMap((thread) => differences(nobodyNamed(thread), trees.get(thread.root) ?? MISSING)),
    ).toEqual([]);
  });

  it.each(casesOf(provider))("with the product's own records counts everything once: %s", async (name) => {
    const { home } = recordedHome(provider, name);
    const joined = treesIn(await joinedWithRecords(`${provider}/${name}`));
    expect(threadsOf(name).flatMap((thread) => differences(thread, joined.get(thread.root) ?? MISSING))).toEqual([]);
    const alone = await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "none") } });
    expect(joined.size).toBe(alone.forest.roots.length);
  });

  const recordingsOf = (name: string) => join(FIXTURES, provider, name, "recordings");
  it.each(casesOf(provider).filter((name) => existsSync(recordingsOf(name))))(
    "with all other sources counts everything once: %s",
    async (name) => {
      const trees = await treesAfter(
        trafficOf(`${provider}/${name}`),
        {},
        recordedHome(provider, name).home,
        recordingsOf(name),
      );
      expect(threadsOf(name).flatMap((thread) => differences(thread, trees.get(thread.root) ?? MISSING))).toEqual([]);
    },
  );
});

describe("responses in fast mode", () => {
  const wire = trafficOf("claude/c-nested");
  const fast = wire.map((exchange) => ({
    ...exchange,
    response: exchange.response && {
      ...exchange.response,
      usage: { ...(exchange.response.usage as object), speed: "fast" },
    },
  }));
  const costs = ({ forest }: Machine) =>
    forest.roots
      .map((key) => treeOf(forest, key, listPrice).usage.subtree)
      .map(({ calls, costUsd }) => ({ calls, costUsd }));
  const twice = (machine: Machine) =>
    costs(machine).map(({ calls, costUsd }) => ({
      calls,
      costUsd: expect.closeTo(2 * (costUsd ?? Number.NaN), 9) as number,
    }));

  it("are priced as fast if the traffic states it", async () => {
    expect(costs(await machineAfter(fast))).toEqual(twice(await machineAfter(wire)));
  });

  it("are priced once, as fast, if the transcript contains them too", async () => {
    const { home } = recordedHome("claude", "c-nested");
    expect(costs(await machineAfter(fast, {}, home))).toEqual(twice(await machineAfter(wire, {}, home)));
  });

  it("are priced as fast for every product", async () => {
    expect(costs(await machineAfter(anonymous(fast)))).toEqual(twice(await machineAfter(anonymous(wire))));
  });
});

it("events in both traffic and transcripts are returned once", async () => {
  const { home } = recordedHome("claude", "c-nested");
  const wire = trafficOf("claude/c-nested");
  const shownBy = async (machine: Machine) => {
    const events = await readEvents(machine.library, machine.forest, [...machine.forest.agents.keys()]);
    return events
      .flatMap(({ kind, text, tool }) =>
        kind === "assistant" || kind === "toolCall" || kind === "toolResult" ? [`${kind} ${tool?.callId ?? text}`] : [],
      )
      .sort();
  };
  const alone = await shownBy(await readMachine({ env: { HOME: home, RETINUE_HOME: join(home, "none") } }));
  const joined = await machineAfter(wire, {}, home);
  expect(await shownBy(joined)).toEqual(alone);
  expect(await shownBy(await machineAfter(wire))).toEqual(alone);
});

it.each(casesOf("codex"))(
  "rollouts still agree with their totals if a proxy recorded the traffic too: %s",
  async (name) => {
    const { forest } = await joinedWithRecords(`codex/${name}`);
    expect(
      verifyAll(forest, listPrice).flatMap(({ uri, differences: off }) => off.map((one) => ({ uri, ...one }))),
    ).toEqual([]);
  },
);
