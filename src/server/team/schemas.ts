/** Schemas of the team server's own routes. */
import * as v from "valibot";
import { COST_GROUPS } from "../../core/ports/team.ts";
import { BUDGET_KINDS } from "../../core/views/budget.ts";
import { Agent, count, text, time, wholeNumber } from "../schemas.ts";

const limit = (otherwise: string) => v.optional(wholeNumber(1, 1_000), otherwise);

export const Session = v.object({ owner: v.string(), scope: v.string(), owners: v.array(v.string()) });
export const Receipt = v.object({
  owner: v.pipe(v.string(), v.description("whose threads the shipment was added to: the owner of the token")),
  accepted: v.number(),
  ignored: v.number(),
  shipments: v.number(),
  newest: v.number(),
  again: v.pipe(v.array(v.string()), v.description("threads that the machine has to send as a whole")),
});

export const Audit = v.object({
  items: v.array(
    v.object({
      at: v.string(),
      token: text,
      owner: v.pipe(text, v.description("who did it")),
      action: v.string(),
      subject: v.pipe(text, v.description("the URI of a thread, the words of a search, or what was changed")),
      threadOwner: v.pipe(text, v.description("whose thread it is")),
    }),
  ),
  next: v.pipe(text, v.description("`cursor` of the next page; null on the last")),
});
export const AuditQuery = v.strictObject({ limit: limit("200"), cursor: v.optional(v.string()) });

const machine = v.pipe(text, v.description("the machine that sent the thread"));

export const Running = v.object({
  items: v.array(
    v.object({
      owner: v.string(),
      machine,
      shippedAt: v.pipe(time, v.description("when that machine last sent something")),
      running: v.pipe(count, v.description("running agents of the tree")),
      record: v.pipe(Agent, v.description("the top-level agent; usage.subtree is the usage so far")),
    }),
  ),
  next: v.null(),
});
export const RunningQuery = v.strictObject({ limit: limit("200") });

const CostLine = v.pipe(
  v.object({
    key: text,
    costUsd: v.pipe(v.number(), v.description("the known part of the cost")),
    unpricedCalls: v.pipe(count, v.description("model calls without a known price")),
    tokens: count,
    calls: count,
    threads: count,
  }),
  v.metadata({ ref: "CostLine" }),
);
const Budget = v.pipe(
  v.object({
    of: v.picklist(BUDGET_KINDS),
    name: v.string(),
    usd: v.pipe(v.number(), v.description("a month")),
    usedUsd: v.pipe(v.number(), v.description("this month, by the owners that you may see")),
    isPartial: v.pipe(v.boolean(), v.description("owners that you may not see can have spent more")),
  }),
  v.metadata({ ref: "Budget" }),
);
const month = v.pipe(v.string(), v.description("the month of the budgets, UTC, such as 2026-11"));
export const Costs = v.object({
  total: CostLine,
  by: v.record(v.picklist(COST_GROUPS), v.array(CostLine)),
  month,
  budgets: v.pipe(v.array(Budget), v.description("the most used first")),
});
const group = v.picklist(COST_GROUPS);
export const CostsQuery = v.strictObject({
  since: v.optional(v.string()),
  by: v.optional(v.union([group, v.array(group)])),
});

export const Failures = v.object({
  items: v.array(
    v.object({
      owner: v.string(),
      machine,
      at: v.pipe(time, v.description("last activity of one of these agents")),
      errored: count,
      shutdown: count,
      refused: v.pipe(count, v.description("spawn calls that were refused, for example by a limit")),
      agents: v.pipe(
        v.array(Agent),
        v.description("agents that failed, were cut off, or made the refused calls; the latest first, at most 20"),
      ),
      record: v.pipe(
        v.nullable(Agent),
        v.description("the top-level agent of the thread; null if it has not arrived yet"),
      ),
    }),
  ),
  next: v.null(),
});
export const FailuresQuery = v.strictObject({ since: v.optional(v.string()), limit: limit("100") });

export const People = v.object({
  month,
  items: v.array(
    v.object({
      owner: v.string(),
      teams: v.pipe(v.array(v.string()), v.description("that their threads are shared with, and that you may read")),
      machines: v.array(v.object({ machine: v.string(), version: v.string(), shippedAt: time })),
      monthUsd: v.pipe(v.number(), v.description("spent this month")),
      budget: v.nullable(Budget),
    }),
  ),
  next: v.null(),
});
