import type { Readable, Writable } from "node:stream";
import { hasLimits, type Limits, limitsSpending, NO_LIMITS } from "../../core/guard/limits.ts";
import { shareRun } from "../control/run-owner.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { live } from "../live/live.ts";
import { openLibrary } from "../open.ts";
import { controlled, startControlled } from "../runs/controlled.ts";
import { type Launch, type Running, start } from "../runs/run.ts";
import { loadSettings } from "../settings/settings.ts";
import { LIMITS_VARIABLE, limitsInForce } from "./limits-file.ts";
import { guardRun } from "./run.ts";
import { feedTrees } from "./tree-feed.ts";
import { noteTrouble } from "./trouble.ts";

export interface GuardedStart {
  readonly env: Env;
  readonly output: Writable | null;
  /** The text for the command; null if stdin is a terminal. */
  readonly stdin: Readable | null;
  /** Other processes of the user may control it, and answer its permission requests. */
  readonly isControlled?: boolean;
  /** Limits of the command line. */
  readonly given: Limits | null;
  readonly notify: (text: string) => void;
}

/**
 * Starts a command with its limits enforced: by its announced calls if the product has them, else by its hooks if they
 * are installed. Without limits, or if the limits cannot be read, the command is started unchanged.
 */
export async function startGuarded(launch: Launch, options: GuardedStart): Promise<Running> {
  const { output, stdin, given, notify, isControlled = false } = options;
  // Hooks of the command inherit it.
  const env = given === null ? options.env : { ...options.env, [LIMITS_VARIABLE]: JSON.stringify(given) };
  const limits = await limitsInForce(env).catch((error: Error) => {
    noteTrouble(env, error);
    notify(`limits are not enforced: ${error.message}`);
    return NO_LIMITS;
  });
  const own = controlled(launch, isControlled);
  if (isControlled && own === null)
    throw new Failure("usage", `this command of ${launch.provider.product} cannot be controlled`, [
      "docs/live-sources.md lists the commands that can",
    ]);
  const shared = async (running: Running) => {
    if (isControlled) await shareRun(env, running);
    return running;
  };
  if (!hasLimits(limits))
    return own !== null && isControlled
      ? shared(await startControlled(own, stdin, { env, output }))
      : start(launch, { env, output });
  const guard = own?.control.interception?.guard;
  if (own === null || guard === undefined) {
    if (given !== null)
      notify(
        `this command of ${launch.provider.product} does not announce its calls: its limits are enforced only by retinue's hooks (retinue hooks install ${launch.provider.name})`,
      );
    return own !== null && isControlled
      ? shared(await startControlled(own, stdin, { env, output }))
      : start(launch, { env, output });
  }
  const provider = launch.provider.name;
  const { interceptor, onLine } = guardRun(env, limits, { provider, guard, warn: notify });
  const interception = { interceptors: [interceptor], onFault: notify };
  const running = await shared(await startControlled(own, stdin, { env, output, interception, onLine }));
  feedWhile(env, limits, running);
  return running;
}

/** Keeps what a command has used up to date while it runs, if a limit depends on it. */
export function feedWhile(env: Env, limits: Limits, running: Pick<Running, "thread" | "ended">): void {
  if (limitsSpending(limits)) void feed(env, running).catch((error: Error) => noteTrouble(env, error));
}

async function feed(env: Env, running: Pick<Running, "thread" | "ended">): Promise<void> {
  const library = await openLibrary({ env, settings: await loadSettings(env), notify: () => {} });
  const over = new AbortController();
  void running.ended.then(() => over.abort());
  try {
    const thread = await running.thread;
    if (thread === null) return;
    for await (const { threads } of live(library, { signal: over.signal }))
      if (threads.has(thread)) feedTrees(env, library, [thread]);
  } finally {
    library.close();
  }
}
