import { setTimeout as sleep } from "node:timers/promises";
import { displayName } from "../../core/facts/display-name.ts";
import { type RedactionRules, Redactor } from "../../core/redaction/redaction.ts";
import { folderName } from "../../core/tools/recorded-path.ts";
import type { Alert, AlertRules } from "../../core/views/alerts.ts";
import { showNotice } from "../../transports/desktop.ts";
import { send } from "../../transports/send.ts";
import { noteTrouble } from "../guard/trouble.ts";
import type { Env } from "../home.ts";
import type { SettingsFile } from "../settings/settings.ts";
import { claim } from "./claims.ts";

export const alertRules = ({ values }: SettingsFile): AlertRules => ({
  waitingMinutes: values["alerts.waiting_minutes"],
  silentMinutes: values["alerts.silent_minutes"],
  failed: values["alerts.failed"],
  limitPercent: values["alerts.limit_percent"],
});

/** The body of a request to the webhook. `text` is what Slack and others show; the other fields are for programs. */
export interface AlertMessage {
  readonly text: string;
  readonly schema: "retinue/alert@1";
  readonly kind: Alert["kind"];
  readonly uri: string;
  readonly thread: string;
  readonly project: string | null;
  readonly at: string;
}

const MAX_TEXT = 300;

/** The message contains no secrets. With the redaction level `metadata`, it contains no text of the thread. */
export function messageOf(alert: Alert, redactor: Redactor, leftOut: number): AlertMessage {
  const { kind, uri, thread, cwd, at, type, event, named } = alert;
  const isBare = redactor.level === "metadata";
  const project = folderName(redactor.name(cwd) ?? "");
  const name = isBare ? type : `${type} “${displayName(redactor.named(named))}”`;
  const detail = isBare || alert.detail === null ? "" : ` (${alert.detail})`;
  const place = isBare || project === null ? "" : ` in ${project}`;
  const more = leftOut === 0 ? "" : `; ${leftOut} earlier alerts were left out`;
  const text = redactor.text(`retinue: ${name} ${event}${detail}${place}${more}`).replace(/\s+/g, " ");
  return {
    text: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text,
    schema: "retinue/alert@1",
    kind,
    uri,
    thread,
    project: isBare ? null : project,
    at: new Date(at).toISOString(),
  };
}

export interface AlertOptions {
  readonly env: Env;
  readonly redaction: RedactionRules;
  /** The URL of the webhook; null if there is none. */
  readonly webhook: string | null;
  /** Receives the first failure of the desktop notice and of the webhook. */
  readonly notify: (text: string) => void;
  /** Also shows the text of each alert, for `watch`. */
  readonly show?: (text: string) => void;
  /** Pauses between attempts to reach the webhook. */
  readonly pausesMs?: readonly number[];
}

const TIMEOUT_MS = 5_000;
const PAUSES_MS = [2_000, 10_000];

/** Delivers alerts: each event once, and at most `PER_HOUR`. Runs in the background and never throws. */
export class Alerts {
  readonly #options: AlertOptions;
  readonly #redactor: Redactor;
  /** Events that this process has handled. */
  readonly #seen = new Set<string>();
  readonly #failures = new Set<string>();
  readonly #sending = new Set<Promise<void>>();
  readonly #stop = new AbortController();

  constructor(options: AlertOptions) {
    this.#options = options;
    this.#redactor = new Redactor(options.redaction);
  }

  raise(alerts: readonly Alert[], now: number): void {
    for (const alert of alerts) {
      if (this.#seen.has(alert.key)) continue;
      this.#seen.add(alert.key);
      this.#options.show?.(messageOf(alert, this.#redactor, 0).text);
      const leftOut = this.#claimed(alert, now);
      if (leftOut !== null) this.#send(messageOf(alert, this.#redactor, leftOut));
    }
  }

  /** The number of alerts left out before this one; null if another process reports it, or the limit is reached. */
  #claimed({ key }: Alert, now: number): number | null {
    try {
      const claimed = claim(this.#options.env, key, now);
      return claimed.is === "sent" ? claimed.leftOut : null;
    } catch (error) {
      noteTrouble(this.#options.env, error as Error);
      return null;
    }
  }

  #send(message: AlertMessage): void {
    const { env, webhook } = this.#options;
    const notice = showNotice(message.text, env).then((problem) => this.#report("desktop notices", problem));
    const posted = webhook === null ? Promise.resolve() : this.#post(webhook, message);
    const both = Promise.all([notice, posted]).then(() => {});
    this.#sending.add(both);
    void both.finally(() => this.#sending.delete(both));
  }

  async #post(url: string, message: AlertMessage): Promise<void> {
    const body = new TextEncoder().encode(JSON.stringify(message));
    const headers = { "content-type": "application/json" };
    const { signal } = this.#stop;
    let problem: string | null = null;
    for (const pause of [0, ...(this.#options.pausesMs ?? PAUSES_MS)]) {
      await sleep(pause, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const outcome = await send({ url, headers, body, timeoutMs: TIMEOUT_MS, signal });
      problem = outcome.is === "accepted" || outcome.is === "known" ? null : outcome.reason;
      // Retry only if the webhook was unreachable.
      if (outcome.is !== "unavailable") break;
    }
    this.#report("the webhook of alerts", problem);
  }

  /** Reports each cause once. Does not name the address, which may contain a secret. */
  #report(what: string, problem: string | null): void {
    if (problem === null || this.#failures.has(what)) return;
    this.#failures.add(what);
    this.#options.notify(`${what} cannot be delivered: ${this.#redactor.text(problem)}`);
  }

  /** Waits up to `graceMs` for alerts that are being sent. */
  async stop(graceMs = 1_000): Promise<void> {
    await Promise.race([Promise.all(this.#sending), sleep(graceMs)]);
    this.#stop.abort();
  }
}
