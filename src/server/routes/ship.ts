import { Hono } from "hono";
import * as v from "valibot";
import { sharing } from "../../app/ship/status.ts";
import { REDACTION_LEVELS } from "../../core/redaction/redaction.ts";
import type { ServerContext } from "../context.ts";
import { checked, describeResponse } from "../describe.ts";
import { count, flag, text, time } from "../schemas.ts";

const Waiting = v.object({
  threads: v.pipe(
    v.record(v.string(), count),
    v.description("threads by why: new, changed, running, removed, refused"),
  ),
  items: v.pipe(
    v.array(
      v.object({
        uri: v.string(),
        why: v.string(),
        reason: v.pipe(text, v.description("why the team server refuses the thread")),
      }),
    ),
    v.description("the first 100, refused ones first"),
  ),
  sentAt: v.pipe(time, v.description("when the team server last acknowledged something")),
  documents: v.pipe(count, v.description("acknowledged so far")),
  bytes: count,
  reason: v.pipe(text, v.description("why the last attempt failed, or why none is made")),
  nextAt: v.pipe(time, v.description("when it is tried again")),
});

const Sharing = v.object({
  team: v.pipe(
    v.nullable(
      v.object({
        url: v.string(),
        level: v.picklist(REDACTION_LEVELS),
        projects: v.pipe(v.array(v.string()), v.description("folders whose threads are shared; empty: all")),
        ignoresCase: v.pipe(v.boolean(), v.description("whether these folders are compared without case")),
        waiting: v.pipe(v.nullable(Waiting), v.description("null unless requested")),
      }),
    ),
    v.description("null if team.url is not set"),
  ),
});

/** What this machine shares with its team. */
export function shipRoutes({ library, env, settings, isDemo }: ServerContext): Hono {
  return new Hono().get(
    "/ship",
    describeResponse("What is shared with the team server and, with waiting=true, what waits to be sent", Sharing, [
      "usage",
    ]),
    checked("query", v.strictObject({ waiting: v.optional(flag) })),
    async (c) => {
      const { waiting } = c.req.valid("query");
      return c.json({ team: isDemo ? null : await sharing(env, library, settings, waiting === true) });
    },
  );
}
