import { Hono } from "hono";
import { describeRoute } from "hono-openapi";
import { type AttachOptions, planAttach } from "../../app/attach/attach.ts";
import { explainAgent, filesOfAgent } from "../../app/explain/explain.ts";
import { Failure } from "../../app/failure.ts";
import type { ThreadFilter, ThreadPlace } from "../../app/ingest/library.ts";
import { resolve } from "../../app/query/resolve.ts";
import { sinceOf } from "../../app/query/since.ts";
import { explain } from "../../app/query/why.ts";
import type { AgentKey } from "../../core/facts/ids.ts";
import { agentOf } from "../../core/link/forest.ts";
import { printJson } from "../../core/tools/json.ts";
import { shellCommand } from "../../core/tools/shell.ts";
import { attachCommand } from "../../core/views/attach-command.ts";
import type { FileChange } from "../../core/views/file-change.ts";
import type { UsedFile } from "../../core/views/files.ts";
import { messagesIn } from "../../core/views/messages.ts";
import type { ServerContext } from "../context.ts";
import { shortened, whole } from "../cut.ts";
import { checked, describeResponse } from "../describe.ts";
import { Explanation, Files } from "../explain-schemas.ts";
import { refusal } from "../failures.ts";
import {
  AgentTree,
  Attach,
  Event,
  Events,
  EventsQuery,
  Messages,
  Spans,
  SpansQuery,
  Threads,
  ThreadsQuery,
  Why,
} from "../schemas.ts";

/** The position from which the live stream continues this response. */
export const LIVE_HEADER = "Retinue-Live";

export function agentRoutes({ library, hub, env }: ServerContext): Hono {
  const { journal } = hub;
  const keyOf = (uri: string) => resolve(library, uri).key;
  return new Hono()
    .get(
      "/threads",
      describeResponse("Records of top-level threads, newest activity first", Threads, ["usage"]),
      checked("query", ThreadsQuery),
      (c) => {
        const { limit, cursor, since, ...rest } = c.req.valid("query");
        hub.followThreads();
        c.header(LIVE_HEADER, journal.idOf(journal.position));
        const filter: ThreadFilter = {
          ...defined(rest),
          ...(since === undefined ? {} : { since: sinceOf(since, library.now(), "since") }),
          ...(cursor === undefined ? {} : { after: placeIn(cursor) }),
          limit: limit + 1,
        };
        const rows = [...library.threadRows(filter)];
        const shown = rows.slice(0, limit);
        const last = shown.at(-1);
        return c.json({
          items: shown.map(({ record }) => record),
          next: rows.length > limit && last !== undefined ? cursorOf(last.place) : null,
        });
      },
    )
    .get(
      "/agents/:uri",
      describeResponse("The record of an agent with its subtree", AgentTree, ["usage", "not_found"]),
      (c) => {
        const key = keyOf(c.req.param("uri"));
        c.header(LIVE_HEADER, journal.idOf(journal.position));
        // JSON.stringify overflows the stack on deep trees.
        return c.body(printJson(hub.tree(key)), 200, { "Content-Type": "application/json" });
      },
    )
    .get(
      "/agents/:uri/events",
      describeResponse("Events: history by time, then in order of arrival", Events, ["usage", "not_found", "expired"]),
      checked("query", EventsQuery),
      async (c) => {
        const { after, from, limit, subtree } = c.req.valid("query");
        if (after !== undefined && from !== undefined)
          throw new Failure("usage", "after and from cannot be used together");
        const { log, length, position } = await hub.log(keyOf(c.req.param("uri")), subtree === true);
        const first = after === undefined ? clamp(from ?? 0, length) : positionIn(after, log.serial, length);
        if (first === null) return refusal(c, "expired", "the cursor has expired", "start again without after");
        const items = (await log.page(first, Math.min(limit, length - first))).map((event) => shortened(event));
        c.header(LIVE_HEADER, journal.idOf(position));
        return c.json({ items, next: `${log.serial}-${first + items.length}`, first, total: length });
      },
    )
    .get(
      "/agents/:uri/events/:id",
      describeResponse("One event, with all of its text", Event, ["usage", "not_found"]),
      async (c) => {
        const event = await hub.event(keyOf(c.req.param("uri")), c.req.param("id"));
        if (event === null) throw new Failure("not_found", "no such event", ["next: list the agent's events"]);
        return c.json(whole(event));
      },
    )
    .get(
      "/agents/:uri/spans",
      describeResponse("Spans of an agent and its subtree: model calls, tool calls and waiting", Spans, [
        "usage",
        "not_found",
      ]),
      checked("query", SpansQuery),
      (c) => {
        const key = keyOf(c.req.param("uri"));
        const spans = hub.spansSince(key, c.req.valid("query").after);
        c.header(LIVE_HEADER, journal.idOf(journal.position));
        return c.json(spans);
      },
    )
    .get(
      "/agents/:uri/messages",
      describeResponse("Messages between agents of this tree, oldest first", Messages, ["usage", "not_found"]),
      (c) => {
        const key = keyOf(c.req.param("uri"));
        return c.json({ items: messagesIn(library.forestOf([key]), key), next: null });
      },
    )
    .get(
      "/agents/:uri/why",
      describeResponse("All evidence for an agent's parent and status", Why, ["usage", "not_found"]),
      (c) => {
        const key = keyOf(c.req.param("uri"));
        const forest = library.forestOf([key]);
        return c.json(explain(forest, agentOf(forest, key)));
      },
    )
    .get(
      "/agents/:uri/explain",
      describeResponse("What went wrong or was wasted in an agent's subtree", Explanation, ["usage", "not_found"]),
      async (c) => {
        const key = keyOf(c.req.param("uri"));
        return c.json(await explainAgent(library, library.forestOf([key]), key));
      },
    )
    .get(
      "/agents/:uri/files",
      describeResponse("Files that the agents of a subtree read and changed", Files, ["usage", "not_found"]),
      async (c) => {
        const key = keyOf(c.req.param("uri"));
        const items = await filesOfAgent(library, library.forestOf([key]), key);
        return c.json({ items: items.map(withShortChanges), next: null });
      },
    )
    .get(
      "/agents/:uri/attach",
      describeResponse("How to continue an agent as a session of its own; changes nothing", Attach, [
        "usage",
        "not_found",
        "failed",
      ]),
      async (c) => {
        const key = keyOf(c.req.param("uri"));
        const forest = library.forestOf([key]);
        const plan = await planAttach(env, library, forest, agentOf(forest, key), INTERACTIVE);
        return c.json({
          uri: plan.uri,
          command: attachCommand(plan.uri),
          product: plan.product,
          begins: plan.begins,
          runs: cutTo(shellCommand(plan.command), MAX_COMMAND),
          // The server's working directory is unrelated to the user's terminal.
          folder: plan.isHere ? null : plan.cwd,
          notes: plan.notes,
        });
      },
    )
    .get("/agents", describeRoute({ hide: true }), () => {
      throw new Failure("usage", "missing agent URI", [
        "write /api/agents/{uri}, percent-encoded; /api/threads lists threads",
      ]);
    });
}

/** Characters of a change that a list contains. */
const MAX_CHANGE = 4_000;

const withShortChanges = (file: UsedFile): UsedFile => ({
  ...file,
  uses: file.uses.map((use) => ({ ...use, change: use.change === null ? null : shortChange(use.change) })),
});

const shortChange = (change: FileChange): FileChange =>
  change.is === "patch"
    ? { ...change, patch: cutTo(change.patch, MAX_CHANGE) }
    : {
        ...change,
        edits: change.edits.map(({ path, before, after }) => ({
          path,
          before: cutTo(before, MAX_CHANGE),
          after: cutTo(after, MAX_CHANGE),
        })),
      };

/** The client gets a command to run in a terminal. */
const INTERACTIVE: AttachOptions = { message: null, at: null, folder: null, isInteractive: true, args: [] };
/** A message with an agent's history may be long. */
const MAX_COMMAND = 1_000;
const cutTo = (text: string, length: number) => (text.length <= length ? text : `${text.slice(0, length)}…`);

const clamp = (from: number, length: number) => Math.min(length, from < 0 ? Math.max(0, length + from) : from);

function positionIn(cursor: string, serial: string, length: number): number | null {
  const [of, digits = ""] = cursor.split("-");
  return of === serial && /^\d{1,9}$/.test(digits) && Number(digits) <= length ? Number(digits) : null;
}

const cursorOf = ({ lastActivity, key }: ThreadPlace) =>
  Buffer.from(JSON.stringify([lastActivity, key])).toString("base64url");

function placeIn(cursor: string): ThreadPlace {
  try {
    const [lastActivity, key] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as unknown[];
    if (typeof lastActivity === "number" && typeof key === "string") return { lastActivity, key: key as AgentKey };
  } catch {
    // Not JSON, so not a valid cursor.
  }
  throw new Failure("usage", "invalid cursor", ["use `next` of the previous page"]);
}

/** Removes properties that are undefined. */
function defined<T extends object>(options: T): { [K in keyof T]-?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as never;
}
