import { Failure } from "../../app/failure.ts";
import { printJson } from "../../core/json.ts";
import { spawnedLine } from "../../core/spawned.ts";
import type { Context } from "../context.ts";

/** `events`: retinue/event@1. `spawned`: a line for each agent that begins, in the shape of `SubAgentSpawned`. */
export const EVENT_FORMATS = ["events", "spawned"] as const;

export interface RunOptions {
  readonly events?: boolean;
  readonly format?: (typeof EVENT_FORMATS)[number];
}

/** Runs an agent's command as if we were not there, and records what it says; with --events what it did is printed instead. */
export async function run(context: Context, command: readonly string[], options: RunOptions): Promise<void> {
  const { env, terminal } = context;
  const { endAs, forwardSignals, launchOf, speaking, start } = await import("../../app/run.ts");
  const isTold = options.events === true || context.json;
  if (options.format !== undefined && !isTold)
    throw new Failure("usage", "--format tells how events are printed, and goes with --events", ["write retinue run --events --format spawned -- <command>"]);
  const launch = isTold ? speaking(launchOf(command)) : launchOf(command);
  // Opened first: what is already known is not to be told, and a broken index is to be told of before anything runs.
  const library = isTold ? await openLibrary(context) : null;
  // Whoever reads us may go; that is for the command to know, not the end of it.
  process.stdout.removeAllListeners("error");
  const running = await start(launch, { env, output: isTold ? null : process.stdout }).catch((error: NodeJS.ErrnoException) => {
    process.exitCode = error.code === "ENOENT" ? NOT_FOUND : NOT_STARTED;
    terminal.talk(`retinue: ${command[0]} cannot be started: ${error.message}`);
    return null;
  });
  if (running === null) return library?.close();
  const stop = forwardSignals(running);
  try {
    if (library !== null) {
      process.stdout.on("error", () => {});
      const { runEvents } = await import("../../app/run-events.ts");
      for await (const event of runEvents(library, running)) {
        const line = options.format === "spawned" ? spawnedLine(event) : event;
        if (line !== null) terminal.out(printJson(line));
      }
    }
    const end = await running.ended;
    library?.close();
    stop();
    endAs(end);
  } finally {
    stop();
  }
}

/** As shells say it. */
const NOT_FOUND = 127;
const NOT_STARTED = 126;

async function openLibrary(context: Context) {
  const { openLibrary } = await import("../../app/open.ts");
  return openLibrary({ env: context.env, settings: await context.settings(), talk: context.terminal.talk });
}
