import { type Context, Hono } from "hono";
import { Failure } from "../../app/failure.ts";
import { sinceOf } from "../../app/query/since.ts";
import type { TeamStore } from "../../app/team/store.ts";
import { COST_GROUPS, type Person } from "../../core/ports/team.ts";
import { type BudgetUse, budgetUses, type MonthlyCost } from "../../core/views/budget.ts";
import { withDuration } from "../../core/views/shared-tree.ts";
import { type CursorPlace, decodeCursor, encodeCursor } from "../cursor.ts";
import { checked, describeResponse } from "../describe.ts";
import { LIVE_HEADER } from "../routes/agents.ts";
import { type TeamEnv, type Viewer, viewerOf } from "./access.ts";
import type { Feed } from "./feed.ts";
import { formatPosition } from "./position.ts";
import * as schemas from "./schemas.ts";
import { noteOwners, type Seen } from "./visits.ts";

/** What a team looks at together. Every number is of the owners that the viewer may see. */
export function teamPages(store: TeamStore, feed: Feed): Hono<TeamEnv> {
  const { overview, reader, tokens } = store;
  return new Hono<TeamEnv>()
    .use(async (c, next) => {
      // Before anything is read: changes after this position may not be in the response.
      const live = formatPosition(await feed.heads(viewerOf(c).owners));
      await next();
      c.header(LIVE_HEADER, live);
    })
    .get(
      "/now",
      describeResponse("Threads with running agents, of everybody", schemas.Running, ["usage"]),
      checked("query", schemas.RunningQuery),
      async (c) => {
        const now = Date.now();
        const items = await overview.running(viewerOf(c).owners, c.req.valid("query").limit);
        noteOwners(items, noteOf(c));
        return c.json({ items: items.map((one) => ({ ...one, record: withDuration(one.record, now) })), next: null });
      },
    )
    .get(
      "/costs",
      describeResponse("Cost by person, project, model, agent type and day, with budgets", schemas.Costs, ["usage"]),
      checked("query", schemas.CostsQuery),
      async (c) => {
        const { since, by } = c.req.valid("query");
        const viewer = viewerOf(c);
        const costs = await overview.costs(viewer.owners, sinceTime(since)?.slice(0, 10) ?? null);
        const month = thisMonth();
        const budgets = await budgetsOf(store, viewer, () => overview.monthlyCosts(viewer.owners, `${month}-01`));
        const groups = by === undefined ? COST_GROUPS : [by].flat();
        return c.json({
          total: costs.total,
          by: Object.fromEntries(groups.map((group) => [group, costs.by[group]])),
          month,
          budgets,
        });
      },
    )
    .get(
      "/failures",
      describeResponse("Threads with failed or cut off agents or refused spawns, latest first", schemas.Failures, [
        "usage",
      ]),
      checked("query", schemas.FailuresQuery),
      async (c) => {
        const { since, limit } = c.req.valid("query");
        const failed = await overview.failures(viewerOf(c).owners, sinceTime(since), limit);
        const threads = failed.map(({ thread }) => thread);
        const found = await reader.threadRecords(noteOwners(failed, noteOf(c)), threads);
        const records = new Map(found.map(({ owner, ...record }) => [`${owner} ${record.uri}`, record]));
        return c.json({
          items: failed.map(({ thread, ...one }) => ({
            ...one,
            record: records.get(`${one.owner} ${thread}`) ?? null,
          })),
          next: null,
        });
      },
    )
    .get("/people", describeResponse("Who shares, from which machines, and since when", schemas.People), async (c) =>
      c.json({ month: thisMonth(), items: await peopleOf(store, viewerOf(c)), next: null }),
    )
    .get(
      "/audit",
      describeResponse("Who looked at what and who changed what, the newest first", schemas.Audit, ["usage"]),
      checked("query", schemas.AuditQuery),
      async (c) => {
        const { limit, cursor } = c.req.valid("query");
        const { items, next } = await tokens.audited(limit, cursor === undefined ? null : placeIn(cursor));
        return c.json({ items, next: next === null ? null : encodeCursor(next) });
      },
    );
}

/** Notes for the audit log what the response shows. */
const noteOf = (c: Context<TeamEnv>) => (seen: Seen) => void c.get("seen").push(seen);

/** The place in the audit log that a cursor names. */
function placeIn(cursor: string): CursorPlace {
  const [at, id] = decodeCursor(cursor);
  if (Number.isSafeInteger(at) && !id.includes("\0")) return [at, id];
  throw new Failure("usage", "invalid cursor", ["use `next` of the previous page"]);
}

async function peopleOf(store: TeamStore, viewer: Viewer): Promise<Person[]> {
  const shippers = await store.tokens.shippers();
  const owners = viewer.owners.filter((owner) => shippers.has(owner));
  const [machines, teams, costs] = await Promise.all([
    store.overview.machines(owners),
    store.tokens.teamsOf(owners),
    store.overview.monthlyCosts(owners, `${thisMonth()}-01`),
  ]);
  const budgets = await budgetsOf(store, viewer, async () => costs);
  const sees = (team: string) => viewer.grant.scope === "admin" || viewer.grant.teams.includes(team);
  return owners.map((owner) => ({
    owner,
    teams: teams.filter((one) => one.owner === owner && sees(one.team)).map(({ team }) => team),
    machines: machines.get(owner) ?? [],
    monthUsd: costs.filter((one) => one.owner === owner).reduce((sum, { costUsd }) => sum + costUsd, 0),
    budget: budgets.find(({ of, name }) => of === "owner" && name === owner) ?? null,
  }));
}

/** The budgets that a viewer may see: of these owners, of the viewer's teams, and of projects. */
async function budgetsOf(
  { budgets, tokens }: TeamStore,
  { grant, owners, isNarrowed }: Viewer,
  costs: () => Promise<readonly MonthlyCost[]>,
): Promise<BudgetUse[]> {
  const isAdmin = grant.scope === "admin";
  const visible = (await budgets.list()).filter(({ of, name }) => {
    if (of === "owner") return owners.includes(name);
    // Of one person alone, the sum of a team or of a project means nothing.
    if (isNarrowed) return false;
    return of === "project" || isAdmin || grant.teams.includes(name);
  });
  if (visible.length === 0) return [];
  const shares = Map.groupBy(await tokens.teamsOf(owners), ({ team }) => team);
  const ownersOf = (team: string) => new Set((shares.get(team) ?? []).map(({ owner }) => owner));
  return budgetUses(visible, await costs(), ownersOf, isAdmin);
}

/** ISO 8601; null if nothing is given. */
const sinceTime = (since: string | undefined) =>
  since === undefined ? null : new Date(sinceOf(since, Date.now(), "since")).toISOString();

const thisMonth = () => new Date().toISOString().slice(0, 7);
