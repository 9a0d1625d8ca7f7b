import { expect, it } from "vitest";
import type { LinkedAgent } from "../link/forest.ts";
import { type AlertRules, alertsOf } from "./alerts.ts";

const OFF: AlertRules = { waitingMinutes: null, silentMinutes: null, failed: false, limitPercent: null };
const NOW = 10_000_000;
const minutesAgo = (minutes: number) => NOW - minutes * 60_000;

function agent(key: string, more: Partial<LinkedAgent> & { status?: string } = {}): LinkedAgent {
  const { status = "running", ...rest } = more;
  return {
    key,
    uri: key.replace(":", "://"),
    parent: key.includes("/") ? "toy:t" : null,
    children: [],
    title: null,
    description: `Work of ${key}`,
    prompt: null,
    name: null,
    agentType: "worker",
    spawnCall: undefined,
    agentId: key.split("/")[1] ?? null,
    sessionId: "t",
    cwd: "/home/dev/shop",
    verdict: { status, statusReason: "it says so", statusSource: "protocol", activity: null },
    waiting: null,
    statements: [],
    own: null,
    lastAt: minutesAgo(1),
    lastActivity: minutesAgo(1),
    ...rest,
  } as unknown as LinkedAgent;
}

function alerts(agents: readonly LinkedAgent[], rules: Partial<AlertRules>, more: object = {}) {
  const root = agent("toy:t", { children: agents.map(({ key }) => key) });
  const forest = { now: NOW, agents: new Map([root, ...agents].map((one) => [one.key, one])) };
  type Input = Parameters<typeof alertsOf>;
  const found = alertsOf(
    forest as unknown as Input[0],
    root.key,
    { ...OFF, ...rules },
    { uses: [], since: 0, ...more },
  );
  return found.map(({ kind, uri, event, detail }) => ({ kind, uri, event, detail }));
}

const waiting = (minutes: number) => ({ for: "permission", says: "Bash", since: minutesAgo(minutes), call: null });

it("reports an agent that waits for a person, and nothing without rules", () => {
  const agents = [agent("toy:t/a", { waiting: waiting(6) }), agent("toy:t/b", { waiting: waiting(4) })];
  expect(alerts(agents, { waitingMinutes: 5 })).toEqual([
    { kind: "waiting", uri: "toy://t/a", event: "has waited for a person for 6 m", detail: "Bash" },
  ]);
  expect(alerts(agents, {})).toEqual([]);
});

it("reports a silent agent, but not one that waits, has ended, or has running agents below it", () => {
  const silent = { lastActivity: minutesAgo(20) };
  const agents = [
    agent("toy:t/a", silent),
    agent("toy:t/b", { ...silent, waiting: waiting(20) }),
    agent("toy:t/c", { ...silent, status: "completed" }),
    agent("toy:t/d", { ...silent, children: ["toy:t/e"] as unknown as LinkedAgent["children"] }),
    agent("toy:t/e"),
  ];
  expect(alerts(agents, { silentMinutes: 15 }).map(({ kind, uri }) => [kind, uri])).toEqual([["silent", "toy://t/a"]]);
});

it("reports failures since the start", () => {
  const failed = (minutes: number) => ({
    status: "errored",
    own: { at: minutesAgo(minutes), state: "failed" } as LinkedAgent["own"],
  });
  const agents = [agent("toy:t/old", failed(9)), agent("toy:t/new", failed(1))];
  expect(alerts(agents, { failed: true }, { since: minutesAgo(5) })).toEqual([
    { kind: "failed", uri: "toy://t/new", event: "failed", detail: "it says so" },
  ]);
});

it("reports a limit that is nearly used, once for the thread", () => {
  const use = { action: "deny", whose: null, max: 10 } as const;
  const uses = [
    { ...use, limit: "agents", used: 8 },
    { ...use, limit: "depth", used: 7 },
    { ...use, limit: "tokens", used: null },
  ];
  expect(alerts([], { limitPercent: 80 }, { uses })).toEqual([
    { kind: "limit", uri: "toy://t", event: "has used 80 % of its limit of agents", detail: null },
  ]);
});
