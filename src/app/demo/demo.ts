import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { PROVIDERS } from "../../providers/loaded.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import { ownFile } from "../own-files.ts";
import { readSettings, type SettingsFile } from "../settings/settings.ts";
import { type Recording, recordingIn, replay } from "./replay.ts";

/** Recordings in the package: one folder per product, laid out as in a home. */
const EXAMPLES = ownFile("examples");
/** Duration of one replay: long enough to watch, short enough to see the end. */
const LASTS_MS = 40_000;
const PAUSE_MS = 8_000;
/** How long ago the first, finished replay started. */
const EARLIER_MS = 6 * 60_000;
/** How far the running replay is when the demo opens, so that nested agents are visible. */
const AHEAD_MS = 10_000;
/** Number of replays; a forgotten demo becomes idle. */
const REPLAYS = 12;

export interface Demo {
  readonly env: Env;
  readonly settings: SettingsFile;
  /** Stops the replay and removes the temporary home. */
  readonly close: () => Promise<void>;
}

/** A temporary home in which recordings are replayed in real time, several times. */
export function openDemo(env: Env, examples = EXAMPLES, lasts = LASTS_MS): Demo {
  const products = PROVIDERS.map((provider) => provider.name).filter((name) => existsSync(join(examples, name)));
  const found = products.flatMap((name) =>
    readdirSync(join(examples, name)).length === 0 ? [] : [{ name, recording: recordingIn(join(examples, name)) }],
  );
  if (found.length === 0)
    throw new Failure("failed", "the recordings are missing from this installation", ["reinstall retinue"]);
  const home = mkdtempSync(join(tmpdir(), "retinue-demo-"));
  const stop = new AbortController();
  const remove = () => rmSync(home, { recursive: true, force: true, maxRetries: 3 });
  // Also on process.exit().
  process.once("exit", remove);
  const running = Promise.all(
    found.map(({ name, recording }, i) =>
      replayRepeatedly(recording, join(home, name), stop.signal, lasts, i * REPLAYS),
    ),
  );
  const { values, set } = readSettings(null, home);
  const roots = new Map(PROVIDERS.map((provider) => [provider.name, [join(home, provider.name)]]));
  return {
    env: { PATH: env.PATH, HOME: home, RETINUE_HOME: join(home, "retinue") },
    settings: { path: join(home, "config.yaml"), exists: false, values: { ...values, "roots.<provider>": roots }, set },
    close: async () => {
      stop.abort();
      await running;
      remove();
      process.off("exit", remove);
    },
  };
}

/** Writes one finished replay, then replays one after the other in real time. */
async function replayRepeatedly(
  recording: Recording,
  to: string,
  signal: AbortSignal,
  lasts: number,
  firstNumber: number,
): Promise<void> {
  await replay(recording, { to, begins: Date.now() - EARLIER_MS, lasts, seed: firstNumber, signal });
  for (let number = 1; number < REPLAYS && !signal.aborted; number += 1) {
    const begins = Date.now() - (number === 1 ? Math.min(AHEAD_MS, lasts / 2) : 0);
    await replay(recording, { to, begins, lasts, seed: firstNumber + number, signal });
    await wait(PAUSE_MS, undefined, { signal }).catch(() => {});
  }
}
