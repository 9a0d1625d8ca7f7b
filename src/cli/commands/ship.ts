import { Failure } from "../../app/failure.ts";
import { live } from "../../app/live/live.ts";
import { isLoopback } from "../../app/own-names.ts";
import { Connection, shipOnce } from "../../app/ship/connection.ts";
import { headOf, withRevision } from "../../app/ship/post.ts";
import { LiveShipping } from "../../app/ship/ship-live.ts";
import { readShipped } from "../../app/ship/shipped-file.ts";
import { Shipper } from "../../app/ship/shipper.ts";
import { type ShipStatus, shipStatus } from "../../app/ship/status.ts";
import { type ShipTarget, targetOf } from "../../app/ship/target.ts";
import { ago, bytes, duration, plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { visible } from "../../core/tools/visible.ts";
import type { Context } from "../context.ts";
import { stopSignal } from "../output.ts";

export interface ShipOptions {
  readonly to?: string;
  readonly once?: boolean;
  readonly status?: boolean;
  readonly dryRun?: boolean;
}

/** How long `--once` waits for a server that is unreachable. */
const PATIENCE_MS = 30_000;

/** `retinue ship`: sends this machine's records and events to a team server. */
export async function ship(context: Context, options: ShipOptions): Promise<void> {
  const { env, terminal } = context;
  const modes = [options.once, options.status, options.dryRun].filter((mode) => mode === true);
  if (modes.length > 1)
    throw new Failure("usage", "--once, --status and --dry-run cannot be used together", ["use one of them"]);
  const target = targetOf(env, await context.settings(), options.to);
  if (target === null)
    throw new Failure("usage", "no team server", [
      "write retinue ship --to https://host, or set team.url in the settings",
    ]);
  const { protocol, hostname } = new URL(target.url);
  if (protocol === "http:" && !isLoopback(hostname))
    terminal.notify(`${target.url} is not encrypted: others on the network can read what is sent, and the token`);
  if (options.status === true) return status(context, target);
  if (options.dryRun === true) return dryRun(context, target);
  return options.once === true ? once(context, target) : follow(context, target);
}

async function once(context: Context, target: ShipTarget): Promise<void> {
  const { env, terminal } = context;
  // Never aborted: a signal may kill the process at any moment, because acknowledged documents are already recorded.
  const { signal } = new AbortController();
  const settings = await context.settings();
  const library = await context.library();
  try {
    const connection = await Connection.open({ env, settings, target, library, notify: terminal.notify, signal });
    try {
      const left = await shipOnce(connection, PATIENCE_MS, signal);
      const { threads, documents, bytes: sent } = connection.shipper.work;
      const { refused } = connection;
      if (left === null && refused.length > 0)
        throw new Failure(
          "failed",
          `${target.url} refuses ${plural(refused.length, "thread")}; everything else was acknowledged`,
          refused.slice(0, SHOWN).map(({ uri, reason }) => visible(`${uri}: ${reason}`)),
        );
      if (left !== null)
        throw new Failure("failed", `not everything was acknowledged by ${target.url}: ${left}`, [
          ...(connection.advice === null ? [] : [connection.advice]),
          connection.isRefused
            ? "nothing is lost; retinue ship --status lists what is waiting"
            : "nothing is lost: run the command again later; retinue ship --status lists what is waiting",
        ]);
      terminal.out(
        context.json
          ? printJson({ url: target.url, threads, documents, bytes: sent })
          : documents === 0
            ? `${target.url} has everything`
            : `${target.url} has everything: ${plural(documents, "document")} of ${plural(threads, "thread")} sent, ${bytes(sent)}`,
      );
    } finally {
      connection.close();
    }
  } finally {
    library.close();
  }
}

/** Prints the documents as they would be sent, one per line. */
async function dryRun(context: Context, target: ShipTarget): Promise<void> {
  const { terminal, env } = context;
  const library = await context.library();
  const shipped = await readShipped(env, terminal.notify);
  try {
    let revision = Date.now() * 1_000;
    const send = async (lines: readonly string[]) => {
      for (const line of lines) {
        terminal.out(withRevision(line, revision));
        revision += 1;
      }
      return 0;
    };
    terminal.out(JSON.stringify(headOf(target)));
    const { signal } = new AbortController();
    await new Shipper({ library, target, shipped, send, signal, records: false }).shipAll();
  } finally {
    shipped.close();
    library.close();
  }
}

async function status(context: Context, target: ShipTarget): Promise<void> {
  const { terminal, env } = context;
  const library = await context.library();
  try {
    const state = await shipStatus(env, library, await context.settings(), target, terminal.notify);
    if (context.json) return terminal.out(printJson(withTimes(state), 2));
    const { waiting, totals, reason, nextAt, level, projects } = state;
    const now = Date.now();
    const each = (why: string, text: string) => {
      const count = waiting.filter((one) => one.why === why).length;
      return count === 0 ? [] : [`${count} ${text}`];
    };
    const counts = [
      ...each("new", "new"),
      ...each("changed", "changed"),
      ...each("running", "running"),
      ...each("removed", "removed"),
      ...each("refused", "refused by the server"),
    ];
    terminal.out(
      [
        target.url,
        `  shares     ${projects.length === 0 ? "all projects" : visible(projects.join(", "))}, level ${level}`,
        `  delivered  ${plural(totals.documents, "document")} in ${plural(totals.shipments, "shipment")}, ${bytes(totals.bytes)}${totals.at === null ? "" : `, last ${ago(new Date(totals.at).toISOString(), now)}`}`,
        `  waiting    ${waiting.length === 0 ? "nothing" : `${plural(waiting.length, "thread")}: ${counts.join(", ")}`}`,
        ...(reason === null
          ? []
          : [`  because    ${reason}${nextAt > now ? `; next try in ${duration(nextAt - now)}` : ""}`]),
        ...waiting
          .slice(0, SHOWN)
          .map(({ uri, why, reason: refusal }) =>
            visible(`    ${why.padEnd(8)} ${uri}${refusal === null ? "" : `: ${refusal}`}`),
          ),
        ...(waiting.length > SHOWN ? [`    and ${waiting.length - SHOWN} more; --json lists all`] : []),
      ].join("\n"),
    );
  } finally {
    library.close();
  }
}

/** With times as in all other output: ISO 8601, null if there is none. */
const withTimes = ({ totals, nextAt, ...state }: ShipStatus) => ({
  ...state,
  totals: { ...totals, at: totals.at === null ? null : new Date(totals.at).toISOString() },
  nextAt: nextAt === 0 ? null : new Date(nextAt).toISOString(),
});

const SHOWN = 10;

/** Ships changes until the command is interrupted. */
async function follow(context: Context, target: ShipTarget): Promise<void> {
  const { env, terminal } = context;
  const { notify, colors } = terminal;
  const settings = await context.settings();
  const library = await context.library();
  try {
    const stop = new AbortController();
    const connection = await Connection.open({ env, settings, target, library, notify, signal: stop.signal });
    const shipping = new LiveShipping(library, connection, stop, notify);
    notify(colors.dim(`shipping to ${target.url}; press Ctrl-C to stop`));
    try {
      shipping.changed(new Set());
      for await (const { threads } of live(library, { signal: stopSignal(), notify })) shipping.changed(threads);
    } finally {
      await shipping.stop();
    }
  } finally {
    library.close();
  }
}
