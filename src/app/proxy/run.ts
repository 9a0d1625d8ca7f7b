import type { Limits } from "../../core/guard/limits.ts";
import type { RedactionRules } from "../../core/redaction/redaction.ts";
import { ownUpstream } from "../../providers/proxy/upstreams.ts";
import { startProxy } from "../../transports/proxy.ts";
import { Access, type Clients, loadToken } from "../access.ts";
import { Failure } from "../failure.ts";
import { addToLedger } from "../guard/ledger-file.ts";
import { withGiven } from "../guard/limits-file.ts";
import { noteTrouble } from "../guard/trouble.ts";
import { type Env, recordingsRoot, userHome } from "../home.ts";
import { isLoopback } from "../own-names.ts";
import type { SettingsFile } from "../settings/settings.ts";
import { admission, withToken } from "./admission.ts";
import { Budgets, type ExceededLimit } from "./budgets.ts";
import { type Kept, keepWithin } from "./retention.ts";
import { type StartRecorder, TrafficRecorder } from "./traffic-recorder.ts";

export interface ProxyRun {
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly port: number;
  readonly host: string;
  /** Null: the API's own address. */
  readonly upstream: URL | null;
  readonly via: URL | null;
  readonly silenceMs: number;
  /** Null: only secrets are removed. */
  readonly redaction: RedactionRules | null;
  /** Requires the token from every client, including this user's own processes. */
  readonly requiresToken?: boolean;
  /** Limits of the command line. */
  readonly limits?: Limits | null;
  readonly notify: (text: string) => void;
  /** Replaces the lookup of client processes in the operating system. */
  readonly clients?: Clients;
  /** Replaces the thread that records. */
  readonly recorder?: StartRecorder;
  /** Called when large bodies pass, faster than a model sends them, and when they have passed. */
  readonly onLargeBodies?: (isLarge: boolean) => void;
}

export interface RunningProxy {
  /** Contains the token if one is required. */
  readonly url: string;
  readonly folder: string;
  readonly kept: Kept;
  stop(): Promise<void>;
}

const NAME = "proxy";
const GRACE_MS = 2_000;
const TIDY_MS = 3_600_000;

/** Forwards and records requests until it is stopped. */
export async function runProxy(run: ProxyRun): Promise<RunningProxy> {
  const { env, settings, notify } = run;
  const folder = recordingsRoot(env, NAME);
  const limits = { ageMs: settings.values["retention.age"], bytes: settings.values["retention.bytes"] };
  const tidy = () => keepWithin(folder, limits, Date.now());
  const kept = tidy();
  const budgets = new Budgets({
    budgets: settings.values.budgets,
    limits: withGiven(settings.values.limits, run.limits ?? null),
    prices: settings.values["prices.<model>"],
    home: userHome(env),
    onExceeded: (exceeded) => reportExceeded(env, exceeded, notify),
  });
  const notifyOfTrouble = notifyOnce(notify);
  const access = new Access(loadToken(env, "proxy-token"), run.clients);
  const requiresToken = run.requiresToken === true || settings.values["proxy.token"] || !isLoopback(run.host);
  let port = 0;
  const admissionOptions = { host: run.host, port: () => port, access, requiresToken };
  const recorder = new TrafficRecorder({
    folder,
    redaction: run.redaction,
    window: settings.values.match_window,
    reportsRows: !budgets.isOff,
    onRow: (row) => budgets.count(row),
    onTrouble: notifyOfTrouble,
    ...(run.recorder && { recorder: run.recorder }),
    ...(run.onLargeBodies && { onLargeBodies: run.onLargeBodies }),
  });
  await recorder.start();
  const proxy = await startProxy({
    port: run.port,
    host: run.host,
    via: run.via,
    silenceMs: run.silenceMs,
    admits: (incoming) => admission(incoming, admissionOptions),
    upstreamFor: (method, path, headers) => run.upstream ?? ownUpstream(method, path, headers),
    begin: (head) => recorder.begin(head),
    refuses: (head) => budgets.refuses(head),
    failure: failureBody,
    onTrouble: (error) => notifyOfTrouble(error.message),
  }).catch(async (error: NodeJS.ErrnoException) => {
    await recorder.close();
    throw notListening(run, error);
  });
  port = Number(new URL(proxy.url).port);
  const isOpen = !requiresToken && (await access.identifies(run.host, port));
  const timer = setInterval(() => {
    if (tidy().removedFiles > 0) recorder.reopen();
  }, TIDY_MS);
  timer.unref();
  return {
    url: isOpen ? proxy.url : withToken(proxy.url, access.token),
    folder,
    kept,
    async stop() {
      clearInterval(timer);
      await proxy.stop(GRACE_MS);
      await recorder.close();
    },
  };
}

/** An error of the proxy itself, in the format of the API. */
function failureBody(status: number, text: string): string {
  const type = status === 504 ? "timeout_error" : "api_error";
  return JSON.stringify({ type: "error", error: { type, message: `retinue proxy: ${text}` } });
}

function notListening({ host, port }: ProxyRun, error: NodeJS.ErrnoException): Failure {
  if (error.code !== "EADDRINUSE")
    return new Failure("failed", `cannot listen on ${host}:${port}: ${error.message}`, [], error);
  return new Failure("failed", `port ${port} is in use`, ["next: retinue proxy --port 0, for any free port"], error);
}

/** Reports a request that exceeded a limit, and writes it to the ledger for `retinue guard`. */
function reportExceeded(
  env: Env,
  { product, session, agent, verdict }: ExceededLimit,
  notify: (text: string) => void,
): void {
  if (verdict.exceeded === null) return;
  notify(`${product} ${session}: ${verdict.exceeded.text}`);
  try {
    const call = agent ?? session;
    const { action, exceeded } = verdict;
    addToLedger(
      env,
      { provider: product, thread: session },
      { at: Date.now(), is: "decided", call, via: "proxy", action, exceeded },
    );
  } catch (error) {
    noteTrouble(env, error as Error);
  }
}

/** Reports each problem once. */
function notifyOnce(notify: (text: string) => void): (text: string) => void {
  const seen = new Set<string>();
  return (text) => {
    if (seen.has(text)) return;
    seen.add(text);
    notify(`recording problem (agents are not affected): ${text}`);
  };
}
