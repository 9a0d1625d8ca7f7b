import { Failure } from "../../app/failure.ts";
import { redactionOf } from "../../app/settings/settings.ts";
import { withoutSecrets } from "../../core/redaction/secrets.ts";
import { parseDuration } from "../../core/tools/duration.ts";
import { bytes } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { limitsGiven } from "../limit-option.ts";
import { untilStopSignal } from "../output.ts";
import { portOf } from "./serve.ts";

export interface ProxyOptions {
  readonly port?: string;
  readonly host?: string;
  readonly upstream?: string;
  readonly via?: string;
  readonly timeout: string;
  readonly redact?: boolean;
  readonly token?: boolean;
  readonly limit?: readonly string[];
}

const PORT = 4748;
const LOCAL = "127.0.0.1";

/** Starts the proxy, prints its address on its own line, and runs until it is interrupted. */
export async function proxy(context: Context, options: ProxyOptions): Promise<void> {
  const { terminal, env, json } = context;
  const upstream = options.upstream === undefined ? null : urlOf("--upstream", options.upstream, ["http:", "https:"]);
  const via = options.via === undefined ? null : urlOf("--via", options.via, ["http:"]);
  const silenceMs = parseDuration(options.timeout);
  if (silenceMs === null)
    throw new Failure("usage", `--timeout ${options.timeout}: not a duration`, [
      "write a number with a unit, such as 30s or 10m",
    ]);
  const settings = await context.settings();
  // Imported on demand: only this command needs them.
  const { runProxy } = await import("../../app/proxy/run.ts");
  const { setHeapGrowth } = await import("../../app/proxy/heap.ts");
  setHeapGrowth(false);
  const running = await runProxy({
    env,
    settings,
    port: portOf(options.port) ?? PORT,
    host: options.host ?? LOCAL,
    upstream,
    via,
    silenceMs,
    redaction: options.redact === true ? redactionOf(settings) : null,
    requiresToken: options.token === true,
    limits: limitsGiven(options.limit),
    notify: terminal.notify,
    onLargeBodies: setHeapGrowth,
  });
  const { url, folder, kept } = running;
  const shown = upstream === null ? null : `${upstream.origin}${upstream.pathname}`;
  terminal.out(json ? printJson({ url, upstream: shown, folder, kept, pid: process.pid }) : url);
  const removed =
    kept.removedFiles === 0
      ? ""
      : `; removed ${kept.removedFiles} (${bytes(kept.removedBytes)}) by the retention settings`;
  terminal.notify(
    `Forwards requests to ${shown ?? "the API's own address"} and records them in ${folder}: ${kept.files} files, ${bytes(kept.bytes)} so far${removed}.`,
  );
  terminal.notify(
    terminal.colors.dim(
      "Point your agent at it with ANTHROPIC_BASE_URL, or with base_url in its settings. Press Ctrl-C to stop.",
    ),
  );
  await untilStopSignal();
  await running.stop();
}

function urlOf(option: string, given: string, protocols: readonly string[]): URL {
  const url = URL.canParse(given) ? new URL(given) : null;
  if (url === null || !protocols.includes(url.protocol))
    throw new Failure("usage", `${option} ${withoutSecrets(given)}: not a URL`, [
      `write a URL that begins with ${protocols.map((p) => `${p}//`).join(" or ")}`,
    ]);
  return url;
}
