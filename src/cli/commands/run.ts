import { Failure } from "../../app/failure.ts";
import type { Launch } from "../../app/runs/run.ts";
import { printJson } from "../../core/tools/json.ts";
import { spawnedLine } from "../../core/views/spawned.ts";
import type { Context } from "../context.ts";
import { limitsGiven } from "../limit-option.ts";

/** `events`: retinue/event@1. `spawned`: one line per spawned agent, in the shape of `SubAgentSpawned`. */
export const EVENT_FORMATS = ["events", "spawned"] as const;

export interface RunOptions {
  readonly events?: boolean;
  readonly format?: (typeof EVENT_FORMATS)[number];
  readonly limit?: readonly string[];
  readonly control?: boolean;
}

/**
 * Runs an agent's command with its output unchanged, and records the output. --events prints events instead of the
 * output.
 */
export async function run(context: Context, command: readonly string[], options: RunOptions): Promise<void> {
  const { env, terminal } = context;
  const limits = limitsGiven(options.limit);
  const { endAs, forwardSignals, launchOf, withJsonOutput } = await import("../../app/runs/run.ts");
  const { startGuarded } = await import("../../app/guard/start.ts");
  const printsEvents = options.events === true || context.json;
  if (options.format !== undefined && !printsEvents)
    throw new Failure("usage", "--format needs --events", ["write retinue run --events --format spawned -- <command>"]);
  const launch = printsEvents ? withJsonOutput(launchOf(command)) : launchOf(command);
  const note = noteOn(launch, printsEvents);
  if (note !== null) terminal.notify(`retinue: ${note}`);
  // Opened before the command starts: known events are not printed again, and a damaged index is reported first.
  const library = printsEvents ? await openLibrary(context) : null;
  // If the reader of stdout goes away, the command gets the error, as it would without retinue.
  process.stdout.removeAllListeners("error");
  const running = await startGuarded(launch, {
    env,
    output: printsEvents ? null : process.stdout,
    stdin: process.stdin.isTTY ? null : process.stdin,
    given: limits,
    isControlled: options.control === true,
    notify: terminal.notify,
  }).catch((error: NodeJS.ErrnoException) => {
    if (error instanceof Failure) throw error;
    process.exitCode = error.code === "ENOENT" ? NOT_FOUND : NOT_STARTED;
    terminal.notify(`retinue: ${command[0]} cannot be started: ${error.message}`);
    return null;
  });
  if (running === null) return library?.close();
  const stop = forwardSignals(running);
  try {
    if (library !== null) {
      process.stdout.on("error", () => {});
      const { runEvents } = await import("../../app/runs/run-events.ts");
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

/** What cannot be seen in the output of the command. */
function noteOn({ provider, wrapping }: Launch, printsEvents: boolean): string | null {
  if (wrapping?.namesThread === "never")
    return `the output of ${provider.product} does not name its session, so its agents are read from its files`;
  return wrapping?.namesThread === "last" && printsEvents
    ? `${provider.product} names its session in the last line of its output, so events are printed when it ends`
    : null;
}

/** The exit codes that shells use. */
const NOT_FOUND = 127;
const NOT_STARTED = 126;

async function openLibrary(context: Context) {
  const { openLibrary } = await import("../../app/open.ts");
  return openLibrary({ env: context.env, settings: await context.settings(), notify: context.terminal.notify });
}
