/** A team server with generated people and their threads. */
import { NO_USAGE } from "../../src/core/facts/usage.ts";
import type { ShipmentDocument } from "../../src/core/ports/shipment.ts";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import { agentDocument, eventDocument, HEAD, spentRow } from "../team/documents.ts";
import type { TestTeam } from "../team/server.ts";

const NAMES = ["ann", "bob", "cid", "dora", "emil", "fay", "gus", "hana", "ivo", "jo"];
const PROJECTS = ["shop", "billing", "search", "mobile-app", "infrastructure"];
const MODELS = ["claude-sonnet-5", "gpt-6-codex", "gemini-4-pro"];
const TITLES = [
  "Fix the rounding of totals in the cart",
  "Migrate the billing tests to the new runner",
  "Why does the search index lose documents?",
  "Draft release notes for the mobile app",
  "Upgrade the cluster and report what breaks",
];
const ACTIVITIES = ["Bash: npm test", "Edit: src/cart/total.ts", "waits for 3 agents", "Read: docs/plan.md"];

export const nameOf = (n: number) => (n < NAMES.length ? (NAMES[n] ?? "") : `${NAMES[n % NAMES.length]}.${n}`);
export const threadOf = (n: number) => `claude://bbbbbbbb-0000-4000-8000-${String(n).padStart(12, "0")}`;
const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();
const day = (n: number) => ago(n * 86_400).slice(0, 10);
const usage = (costUsd: number): AgentRecord["usage"] => {
  const some = { ...NO_USAGE, calls: 12, inputTokens: 40_000, outputTokens: 3_000, costUsd };
  return { own: some, internal: null, subtree: some, reported: null };
};

/** What person `n` shipped. Every third runs agents, every fourth had failures; the sixth is out of control. */
export function documentsOf(n: number): ShipmentDocument[] {
  const uri = threadOf(n);
  const isRunning = n % 3 === 0;
  const isRunaway = n === 6;
  const common = {
    title: TITLES[n % TITLES.length] ?? "",
    project: PROJECTS[n % PROJECTS.length] ?? "",
    model: [MODELS[n % MODELS.length] ?? ""],
    usage: usage(isRunaway ? 42.5 : 0.4 + (n % 7)),
    lastActivityAt: ago(isRunning ? n % 20 : 600 * (n + 1)),
  };
  const counts = agentDocument(uri, uri, 1).record.counts;
  const root = isRunning
    ? {
        ...common,
        status: "running" as const,
        activity: ACTIVITIES[n % ACTIVITIES.length] ?? null,
        startedAt: ago(isRunaway ? 15_000 : 240 + n),
        endedAt: null,
        durationMs: null,
        counts: { ...counts, descendants: 2, byStatus: { running: 1, completed: 1 } },
      }
    : { ...common, counts: { ...counts, descendants: 1, byStatus: { [n % 4 === 1 ? "errored" : "completed"]: 1 } } };
  const child = (name: string, more: Partial<AgentRecord>) =>
    agentDocument(uri, `${uri}/${name}`, 1, { ...common, ...more });
  return [
    agentDocument(uri, uri, 1, root),
    ...(isRunning ? [child("a1", { title: "Look for other callers", status: "running", endedAt: null })] : []),
    ...(n % 4 === 1
      ? [
          child("a2", { title: "Run the slow tests", status: "errored", statusReason: "API error 529: overloaded" }),
          child("a3", { title: "Summarise", status: "shutdown", statusReason: "its process ended" }),
        ]
      : []),
    eventDocument(uri, uri, 0, 1, { text: `${nameOf(n)} asks about the zebra crossing`, kind: "user" }),
    {
      is: "detail",
      thread: uri,
      agent: uri,
      revision: 1,
      what: "spent",
      value: [0, 1, 3, 7, 12].map((back) =>
        spentRow(uri, (1 + ((n + back) % 9)) / 2, {
          day: day(back),
          model: MODELS[(n + back) % MODELS.length] ?? null,
          project: PROJECTS[n % PROJECTS.length] ?? null,
          type: ["(main)", "Explore", "general-purpose"][back % 3] ?? null,
        }),
      ),
    },
  ] as ShipmentDocument[];
}

const AT_ONCE = 10;

/** People in two teams, each with a ship token and one thread, and budgets. */
export async function fillTeam(team: TestTeam, count: number): Promise<void> {
  const join = async (n: number) => {
    await team.token(nameOf(n), "ship", n % 2 === 0 ? "core" : "web");
    await team.store.ingest(nameOf(n), { ...HEAD, machine: `machine-${n}` }, documentsOf(n));
  };
  for (let n = 0; n < count; n += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, i) => join(n + i)));
  const { budgets } = team.store;
  for (const [of, name, usd] of [
    ["team", "core", 20 * count],
    ["owner", nameOf(0), 4],
    ["owner", nameOf(1), 300],
    ["project", "shop", 12],
  ] as const)
    await budgets.set({ of, name, usd });
}
