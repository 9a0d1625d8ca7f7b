import { resolve as fullPath } from "node:path";
import { type AttachOptions, type AttachPlan, planAttach } from "../../app/attach/attach.ts";
import { endAs, perform } from "../../app/attach/perform.ts";
import { Failure } from "../../app/failure.ts";
import type { Library } from "../../app/ingest/library.ts";
import { resolve } from "../../app/query/resolve.ts";
import { agentOf } from "../../core/link/forest.ts";
import { plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { shellCommand } from "../../core/tools/shell.ts";
import type { Context } from "../context.ts";
import { oneLine } from "../render/printable.ts";

export interface AttachFlags {
  readonly printCommand?: boolean;
  readonly with?: string;
  readonly at?: string;
  readonly in?: string;
}

/** Continues one agent as a session of its own. */
export async function attach(
  context: Context,
  uri: string,
  args: readonly string[],
  flags: AttachFlags,
): Promise<void> {
  const isTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (!isTerminal && flags.with === undefined && flags.printCommand !== true)
    throw new Failure("usage", "attach needs a terminal, or a message", [
      `write retinue attach ${uri} --with "<message>"; the product then prints its response and ends`,
    ]);
  if (flags.with?.trim() === "") throw new Failure("usage", "--with needs a message", []);
  const { library, forest, agents } = await context.find(uri);
  const options: AttachOptions = {
    message: flags.with ?? null,
    at: flags.at ?? null,
    folder: flags.in === undefined ? null : fullPath(flags.in),
    // The output of --print-command is often captured, and the command is run in the terminal.
    isInteractive:
      isTerminal || (flags.printCommand === true && (process.stdin.isTTY === true || flags.with === undefined)),
    args,
  };
  const plan = await planAttach(context.env, library, forest, agents[0], options).finally(() => library.close());
  if (flags.printCommand === true || context.json) return print(context, plan);
  for (const note of notesOf(plan)) context.terminal.notify(oneLine(note));
  endAs(await perform(plan, context.env));
}

function print({ terminal, json }: Context, plan: AttachPlan): void {
  const { copies, ...rest } = plan;
  const writes = copies.map(({ path, records }) => ({ path, records: records.length }));
  if (json) {
    terminal.out(printJson({ ...rest, writes }, 2));
    return;
  }
  for (const note of notesOf(plan)) terminal.notify(oneLine(note));
  for (const { path } of copies)
    terminal.notify(oneLine(`not written yet: ${path}; retinue attach ${plan.uri} writes it`));
  terminal.out(`cd ${shellCommand([plan.cwd])} && ${shellCommand(plan.command)}`);
}

/** How the agent is continued, and what differs from its original session. */
function notesOf({ uri, begins, copies, cwd, notes }: AttachPlan): readonly string[] {
  const [copy] = copies;
  const how =
    begins === "text"
      ? "as a new session, with its history as text"
      : copy === undefined
        ? "with its own session"
        : `as a new session from a copy of ${plural(copy.records.length, "record")}`;
  return [`continues ${uri} ${how}, in ${cwd}`, ...notes];
}

/** Continues an agent, and returns when the product has ended. */
export async function continueInTerminal(context: Context, library: Library, uri: string): Promise<void> {
  const { key } = resolve(library, uri);
  const plan = await library.query(() => {
    const forest = library.forestOf([key]);
    const options: AttachOptions = { message: null, at: null, folder: null, isInteractive: true, args: [] };
    return planAttach(context.env, library, forest, agentOf(forest, key), options);
  });
  for (const note of notesOf(plan)) context.terminal.notify(oneLine(note));
  await perform(plan, context.env);
}
