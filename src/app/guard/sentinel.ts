import type { AgentKey } from "../../core/facts/ids.ts";
import { hasLimits } from "../../core/guard/limits.ts";
import { alertsOf, hasAlerts } from "../../core/views/alerts.ts";
import { treeOf } from "../../core/views/record.ts";
import { Alerts, alertRules } from "../alerts/alerts.ts";
import type { Env } from "../home.ts";
import type { Library } from "../ingest/library.ts";
import { redactionOf, type SettingsFile } from "../settings/settings.ts";
import { threadUses, tidyLedgers } from "./report.ts";
import { feedTrees } from "./tree-feed.ts";
import { noteTrouble } from "./trouble.ts";

export interface SentinelOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly library: Library;
  readonly notify: (text: string) => void;
  readonly show?: (text: string) => void;
}

/** Minimum intervals of writing trees for hooks, and of checking for alerts. */
const FEED_MS = 1_000;
const ALERT_MS = 5_000;
/** Maximum number of running threads that are checked. */
const RUNNING = 200;
/** Also if the clock was set back. */
const isDue = (now: number, last: number, pause: number) => Math.abs(now - last) >= pause;

/**
 * Watches the threads of a running server or `watch`: writes their usage for the processes that enforce limits, and
 * raises alerts. Does nothing if the settings have neither limits nor alerts.
 */
export class Sentinel {
  readonly #options: SentinelOptions;
  readonly #alerts: Alerts | null;
  readonly #hasLimits: boolean;
  readonly #since: number;
  readonly #changed = new Set<AgentKey>();
  #fedAt = 0;
  #checkedAt = 0;

  constructor(options: SentinelOptions) {
    const { settings, env, library, notify, show } = options;
    this.#options = options;
    this.#hasLimits = hasLimits(settings.values.limits);
    this.#since = library.now();
    if (this.#hasLimits) tidyLedgers(env, this.#since);
    this.#alerts = hasAlerts(alertRules(settings))
      ? new Alerts({
          env,
          redaction: redactionOf(settings),
          webhook: settings.values["alerts.webhook"],
          notify,
          ...(show === undefined ? {} : { show }),
        })
      : null;
  }

  /** Call it after each change and, while something runs, from time to time. Never throws. */
  changed(threads: Iterable<AgentKey>): void {
    if (!this.#hasLimits && this.#alerts === null) return;
    for (const thread of threads) this.#changed.add(thread);
    const now = this.#options.library.now();
    try {
      if (this.#hasLimits && isDue(now, this.#fedAt, FEED_MS)) this.#feed(now);
      if (this.#alerts !== null && isDue(now, this.#checkedAt, ALERT_MS)) this.#checkAlerts(this.#alerts, now);
    } catch (error) {
      noteTrouble(this.#options.env, error as Error);
    }
  }

  #running = () =>
    [...this.#options.library.threadRows({ running: true, limit: RUNNING })].map(({ place }) => place.key);

  #feed(now: number): void {
    this.#fedAt = now;
    const { env, library } = this.#options;
    feedTrees(
      env,
      library,
      this.#running().filter((thread) => this.#changed.has(thread)),
    );
    if (this.#alerts === null) this.#changed.clear();
  }

  #checkAlerts(alerts: Alerts, now: number): void {
    this.#checkedAt = now;
    const { env, library, settings } = this.#options;
    // A thread that has just ended may have failed.
    const threads = new Set([...this.#running(), ...this.#changed]);
    this.#changed.clear();
    for (const thread of threads) {
      const forest = library.forestOf([thread]);
      if (!forest.agents.has(thread)) continue;
      const uses = this.#hasLimits
        ? threadUses(env, settings.values.limits, treeOf(forest, thread, library.price), now)
        : [];
      alerts.raise(alertsOf(forest, thread, alertRules(settings), { uses, since: this.#since }), now);
    }
  }

  async stop(): Promise<void> {
    await this.#alerts?.stop();
  }
}
