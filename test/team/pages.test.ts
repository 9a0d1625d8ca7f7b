import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { NO_USAGE } from "../../src/core/facts/usage.ts";
import type { CostLine, FailedThread, Person, RunningThread } from "../../src/core/ports/team.ts";
import type { AgentRecord } from "../../src/core/views/agent.ts";
import type { BudgetUse } from "../../src/core/views/budget.ts";
import type { SpentRow } from "../../src/core/views/stats.ts";
import { agentDocument, spentRow } from "./documents.ts";
import { startTeam, type TestTeam } from "./server.ts";

const thread = (n: number) => `claude://aaaaaaaa-0000-4000-8000-00000000000${n}`;
const [ANN, BOB, CAT] = [thread(1), thread(2), thread(3)];
const TODAY = new Date().toISOString().slice(0, 10);
let team: TestTeam;
const tokens = { ann: "", bob: "", cat: "", core: "", bobReads: "", admin: "" };

const detail = (uri: string, value: readonly SpentRow[]) =>
  ({ is: "detail", thread: uri, agent: uri, revision: 1, what: "spent", value }) as const;
const agent = (uri: string, child: string, more: Partial<AgentRecord>) => {
  const sub = `${uri}/${child}`;
  return agentDocument(uri, sub, 1, more);
};
const at = (seconds: number) => new Date(Date.now() - seconds * 1_000).toISOString();

beforeAll(async () => {
  team = await startTeam();
  tokens.ann = await team.token("ann", "ship", "core");
  tokens.bob = await team.token("bob", "ship", "core", "other");
  tokens.cat = await team.token("cat", "ship", "other");
  tokens.core = await team.token("lead", "read", "core");
  tokens.bobReads = await team.token("bob", "read");
  tokens.admin = await team.token("root", "admin");
  const counts = { ...agentDocument(ANN, ANN, 1).record.counts, refused: 3 };
  await team.ship(tokens.ann, [
    agentDocument(ANN, ANN, 1, {
      status: "running",
      endedAt: null,
      durationMs: null,
      startedAt: at(90),
      lastActivityAt: at(5),
      usage: { own: NO_USAGE, internal: null, subtree: { ...NO_USAGE, costUsd: 1.5 }, reported: null },
    }),
    agent(ANN, "a1", { status: "running", lastActivityAt: at(1) }),
    agent(ANN, "a2", { status: "errored", statusReason: "the API said no", lastActivityAt: at(20), counts }),
    detail(ANN, [
      spentRow(ANN, 2, { day: TODAY, type: "(main)" }),
      spentRow(ANN, 1, { day: TODAY, model: "m-2", project: "shop" }),
      spentRow(ANN, 4, { day: "2026-01-05", project: "old" }),
    ]),
  ]);
  await team.ship(tokens.bob, [
    agentDocument(BOB, BOB, 1, { status: "shutdown", lastActivityAt: at(3_600) }),
    detail(BOB, [
      spentRow(BOB, 3, { day: TODAY }),
      { ...spentRow(BOB, 0, { day: TODAY, model: "own" }), usage: { ...NO_USAGE, calls: 7, costUsd: null } },
    ]),
  ]);
  await team.ship(tokens.cat, [
    agentDocument(CAT, CAT, 1, { status: "running", lastActivityAt: at(30) }),
    detail(CAT, [spentRow(CAT, 10, { day: TODAY, project: "cats" })]),
  ]);
  await team.store.budgets.set({ of: "owner", name: "ann", usd: 6 });
  await team.store.budgets.set({ of: "owner", name: "cat", usd: 100 });
  await team.store.budgets.set({ of: "team", name: "core", usd: 5 });
  await team.store.budgets.set({ of: "team", name: "other", usd: 130 });
  await team.store.budgets.set({ of: "project", name: "shop", usd: 12 });
  await team.store.budgets.set({ of: "project", name: "gone", usd: 1 });
  expect(await team.store.budgets.remove({ of: "project", name: "gone" })).toBe(true);
  expect(await team.store.budgets.remove({ of: "project", name: "gone" })).toBe(false);
});
afterAll(() => team.close());

describe("what runs now", () => {
  it("lists threads with running agents of everybody whom the viewer may see", async () => {
    const { items } = await team.json<{ items: RunningThread[] }>("/api/team/now", tokens.core);
    expect(items).toMatchObject([
      {
        owner: "ann",
        machine: "m1",
        running: 2,
        shippedAt: expect.stringMatching(/^\d{4}-/),
        record: { uri: ANN, project: "shop", model: ["m-1"], usage: { subtree: { costUsd: 1.5 } } },
      },
    ]);
    expect(items[0]?.record.durationMs).toBeGreaterThanOrEqual(90_000);
    const all = await team.json<{ items: RunningThread[] }>("/api/team/now", tokens.admin);
    expect(all.items.map(({ owner }) => owner)).toEqual(["ann", "cat"]);
    const one = await team.json<{ items: RunningThread[] }>("/api/team/now?owner=cat", tokens.admin);
    expect(one.items.map(({ owner }) => owner)).toEqual(["cat"]);
  });
});

interface Costs {
  readonly total: CostLine;
  readonly by: Readonly<Record<string, readonly CostLine[]>>;
  readonly budgets: readonly BudgetUse[];
}

describe("costs", () => {
  const keys = (lines: readonly CostLine[] = []) => lines.map(({ key, costUsd }) => [key, costUsd]);

  it("are summed by person, project, model, type and day", async () => {
    const { total, by } = await team.json<Costs>("/api/team/costs", tokens.core);
    expect(total).toEqual({ key: null, costUsd: 10, unpricedCalls: 7, tokens: 60, calls: 11, threads: 2 });
    expect(keys(by.owner)).toEqual([
      ["ann", 7],
      ["bob", 3],
    ]);
    expect(keys(by.project)).toEqual([
      ["shop", 6],
      ["old", 4],
    ]);
    expect(keys(by.model)).toEqual([
      ["m-1", 9],
      ["m-2", 1],
      ["own", 0],
    ]);
    expect(keys(by.type)).toEqual([
      ["worker", 8],
      ["(main)", 2],
    ]);
    expect(keys(by.day)).toEqual([
      ["2026-01-05", 4],
      [TODAY, 6],
    ]);
    expect(by.project?.[0]?.threads).toBe(2);
  });

  it("can be limited to a time, to groups and to a person", async () => {
    const recent = await team.json<Costs>("/api/team/costs?since=2d&by=owner&by=day", tokens.admin);
    expect(Object.keys(recent.by)).toEqual(["owner", "day"]);
    expect(keys(recent.by.owner)).toEqual([
      ["cat", 10],
      ["ann", 3],
      ["bob", 3],
    ]);
    const bob = await team.json<Costs>("/api/team/costs?owner=bob", tokens.core);
    expect(bob.total.costUsd).toBe(3);
    expect((await team.get("/api/team/costs?by=colour", tokens.core)).status).toBe(400);
    expect((await team.get("/api/team/costs?since=often", tokens.core)).status).toBe(400);
  });

  it("show the budgets of the owners, the teams and the projects that the viewer may see", async () => {
    const seen = async (token: string, query = "") =>
      (await team.json<Costs>(`/api/team/costs${query}`, token)).budgets.map(
        ({ of, name, usd, usedUsd, isPartial }) => `${of} ${name} ${usedUsd}/${usd}${isPartial ? " partial" : ""}`,
      );
    expect(await seen(tokens.core)).toEqual(["team core 6/5", "owner ann 3/6", "project shop 6/12 partial"]);
    expect(await seen(tokens.admin)).toEqual([
      "team core 6/5",
      "owner ann 3/6",
      "project shop 6/12",
      "owner cat 10/100",
      "team other 13/130",
    ]);
    expect(await seen(tokens.bobReads)).toEqual(["project shop 3/12 partial"]);
    expect(await seen(tokens.admin, "?owner=cat")).toEqual(["owner cat 10/100"]);
    expect(await seen(tokens.core, "?owner=cat")).toEqual([]);
  });
});

describe("failures", () => {
  it("are threads with failed or cut off agents or refused spawns, the latest first", async () => {
    const { items } = await team.json<{ items: FailedThread[] }>("/api/team/failures", tokens.core);
    expect(items).toMatchObject([
      { owner: "ann", errored: 1, shutdown: 0, refused: 3, record: { uri: ANN }, agents: [{ uri: `${ANN}/a2` }] },
      { owner: "bob", errored: 0, shutdown: 1, refused: 0, record: { uri: BOB }, agents: [{ uri: BOB }] },
    ]);
    const recent = await team.json<{ items: FailedThread[] }>("/api/team/failures?since=10m", tokens.core);
    expect(recent.items.map(({ owner }) => owner)).toEqual(["ann"]);
    const last = await team.json<{ items: FailedThread[] }>("/api/team/failures?limit=1", tokens.bobReads);
    expect(last.items.map(({ owner }) => owner)).toEqual(["bob"]);
  });

  it("include agents that could not be started, which have no activity", async () => {
    const uri = thread(7);
    const never = { status: "errored", lastActivityAt: null, startedAt: null } as const;
    await team.ship(tokens.cat, [
      agentDocument(uri, uri, 1, { lastActivityAt: at(60) }),
      agent(uri, "a1", { status: "errored", lastActivityAt: at(70) }),
      agent(uri, "a2", { ...never, startedAt: at(65) }),
      agent(uri, "a3", never),
    ]);
    const { items } = await team.json<{ items: FailedThread[] }>(
      "/api/team/failures?since=10m&owner=cat",
      tokens.admin,
    );
    expect(items).toMatchObject([
      { errored: 3, agents: [{ uri: `${uri}/a3` }, { uri: `${uri}/a2` }, { uri: `${uri}/a1` }] },
    ]);
  });
});

describe("people", () => {
  it("are those who ship and whom the viewer may see, with their machines and budgets", async () => {
    const people = async (token: string) =>
      (await team.json<{ items: Person[] }>("/api/team/people", token)).items.map(
        ({ owner, teams, machines, monthUsd, budget }) => [
          owner,
          teams.join(),
          machines.map(({ machine, version }) => `${machine} ${version}`).join(),
          monthUsd,
          budget?.usd ?? null,
        ],
      );
    expect(await people(tokens.core)).toEqual([
      ["ann", "core", "m1 0.1.0", 3, 6],
      ["bob", "core", "m1 0.1.0", 3, null],
    ]);
    expect(await people(tokens.bobReads)).toEqual([["bob", "", "m1 0.1.0", 3, null]]);
    expect(await people(tokens.admin)).toEqual([
      ["ann", "core", "m1 0.1.0", 3, 6],
      ["bob", "core,other", "m1 0.1.0", 3, null],
      ["cat", "other", "m1 0.1.0", 10, 100],
    ]);
  });
});

it("changes of budgets are in the audit log, with the user of the database", async () => {
  const { items } = await team.json<{ items: object[] }>("/api/team/audit", tokens.admin);
  const by = { token: null, owner: "database:retinue" };
  expect(items).toContainEqual(expect.objectContaining({ ...by, action: "budget-set", subject: "owner ann 6" }));
  expect(items).toContainEqual(expect.objectContaining({ ...by, action: "budget-removed", subject: "project gone" }));
});
