import { Hono } from "hono";
import { type AttachOptions, planAttach } from "../../app/attach/attach.ts";
import { resolve } from "../../app/query/resolve.ts";
import { agentOf } from "../../core/link/forest.ts";
import { shellCommand } from "../../core/tools/shell.ts";
import { attachCommand } from "../../core/views/attach-command.ts";
import type { ServerContext } from "../context.ts";
import { cutTo } from "../cut.ts";
import { describeResponse } from "../describe.ts";
import { Attach } from "../schemas.ts";

/** The client gets a command to run in a terminal. */
const INTERACTIVE: AttachOptions = { message: null, at: null, folder: null, isInteractive: true, args: [] };
/** A message with an agent's history may be long. */
const MAX_COMMAND = 1_000;

/** Only the machine that has the files can continue an agent. */
export function attachRoutes({ library, env }: ServerContext): Hono {
  return new Hono().get(
    "/agents/:uri/attach",
    describeResponse("How to continue an agent as a session of its own; changes nothing", Attach, [
      "usage",
      "not_found",
      "failed",
    ]),
    async (c) => {
      const { key } = resolve(library, c.req.param("uri"));
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
  );
}
