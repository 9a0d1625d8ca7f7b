import { Failure } from "../../app/failure.ts";
import type { Settings } from "../../app/settings/settings-table.ts";
import { printJson } from "../../core/tools/json.ts";
import type { TrustedProxy } from "../../server/team/proxy-identity.ts";
import { openBrowser } from "../browser.ts";
import type { Context } from "../context.ts";
import { onStopSignal } from "../output.ts";

export interface ServeOptions {
  readonly port?: string;
  readonly host?: string;
  readonly open?: boolean;
  /** The URL of a PostgreSQL database: starts a team server. */
  readonly store?: string;
}

/** Starts the server or finds the running one, prints its address on its own line, and opens the dashboard. */
export async function serve(context: Context, options: ServeOptions): Promise<void> {
  if (options.store !== undefined) return serveTeam(context, { ...options, store: options.store });
  const { terminal, env } = context;
  // Imported on demand: only this command needs it.
  const server = await import("../../server/serve.ts");
  const settings = await context.settings();
  const served = await server.serve({
    env,
    settings,
    notify: terminal.notify,
    port: portOf(options.port),
    host: options.host ?? null,
  });
  await present(context, served, options);
}

/** Starts a team server, prints its address, and runs until interrupted. Its log is JSON, one line per event. */
async function serveTeam(context: Context, options: ServeOptions & { readonly store: string }): Promise<void> {
  const { terminal, json } = context;
  const { values } = await context.settings();
  const server = await import("../../server/team/serve.ts");
  const log = (event: string, fields: Readonly<Record<string, unknown>>) =>
    terminal.notify(JSON.stringify({ at: new Date().toISOString(), event, ...fields }));
  const served = await server.serveTeam({
    store: options.store,
    replicas: values["store.replicas"],
    retentionMs: values["store.retention"],
    proxy: proxyOf(values),
    hosts: values["team.hosts"],
    port: portOf(options.port),
    host: options.host ?? null,
    log,
  });
  const { url, instance } = served;
  terminal.out(json ? printJson({ address: url, url, pid: process.pid, instance, isOwn: true }) : url);
  await untilStopped(served);
}

/** The trusted reverse proxy of the settings; null if none is set. Addresses without a header, or the reverse, are an error. */
function proxyOf(values: Settings): TrustedProxy | null {
  const addresses = values["team.proxy.addresses"];
  const header = values["team.proxy.header"];
  if (addresses.length === 0 && header === null) return null;
  if (addresses.length === 0 || header === null)
    throw new Failure("usage", "team.proxy.addresses and team.proxy.header must be set together", [
      "set both, or neither",
    ]);
  return {
    addresses,
    header,
    domain: values["team.proxy.domain"],
    teamsHeader: values["team.proxy.teams_header"],
    admins: values["team.proxy.admins"],
  };
}

/** Prints the address. If this process started the server, runs until interrupted. */
export async function present(
  context: Context,
  served: Awaited<ReturnType<typeof import("../../server/serve.ts").serve>>,
  options: ServeOptions,
): Promise<void> {
  const { terminal, json, host } = context;
  const { address, url, pid, instance, isOwn } = served;
  terminal.out(json ? printJson({ address, url, pid, instance, isOwn }) : address);
  if (options.open !== false && host.stdout.isTTY) openBrowser(address, terminal.notify);
  if (!isOwn) return terminal.notify(`Already running as process ${pid}.`);
  terminal.notify(terminal.colors.dim("Press Ctrl-C to stop."));
  await untilStopped(served);
}

async function untilStopped(served: { stop(): Promise<void>; readonly stopped: Promise<void> }): Promise<void> {
  onStopSignal(() => void served.stop());
  await served.stopped;
}

export function portOf(given: string | undefined): number | null {
  if (given === undefined) return null;
  const port = Number(given);
  if (!/^\d+$/.test(given) || port > 65_535)
    throw new Failure("usage", `--port ${given}: not a port`, ["write a number up to 65535, or 0 for any free port"]);
  return port;
}
