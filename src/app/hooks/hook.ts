/**
 * `retinue hook`: records a hook's payload, notifies the server, and refuses a spawn that exceeds a limit. A separate
 * entry point that loads few modules, because the agent waits for it. Prints nothing but a refusal or warning, and never
 * fails, so that it cannot disturb the agent.
 */

import { realpathSync } from "node:fs";
import { type PayloadField, specificFirst } from "../../core/ports/manifest.ts";
import { refusalNote } from "../../core/ports/refusal-note.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import * as products from "../../providers/index.ts";
import { readInput } from "../../transports/bounded.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { Recorder } from "../../transports/recorder.ts";
import { readText } from "../../transports/regular.ts";
import { basename, dirname, join, normal, resolve } from "../../transports/system/paths.ts";
import { DESTINATIONS } from "../export/destinations/index.ts";
import type { HookDecision } from "../guard/hook.ts";
import { limitsInForce } from "../guard/limits-file.ts";
import { noteTrouble } from "../guard/trouble.ts";
import { closeHome, type Env, type FollowedPlace, followedRoots, recordingsRoot } from "../home.ts";
import { type Instance, notedInstance } from "../instance-note.ts";

/** Ids and paths are at the beginning; prompts and results, which make payloads large, come later. */
const HEAD = 16 * 1024;
/** Long enough for a local connection, too short to notice. */
const WAKE_MS = 15;

const PAYLOADS = specificFirst(
  Object.values(products).flatMap(({ name, hookPayload }) =>
    hookPayload === undefined ? [] : [{ provider: name, ...hookPayload }],
  ),
);

export async function hook(
  env: Env,
  input: () => string | null = readInput,
  print: (text: string) => void = (text) => process.stdout.write(text),
): Promise<void> {
  try {
    const payload = input();
    if (payload === null) return;
    closeHome(env);
    const found = sessionIn(payload);
    if (found === null) return;
    const decision = await decided(payload, found, env);
    if (decision !== null) print(decision.output);
    const recording = record(payload, found, decision, env);
    const server = notedInstance(env);
    const traced = server !== null && (await wake(recording, server)) ? server.traces : [];
    if (wantsFlush(payload, env, traced)) await flush(env);
  } catch {
    // Errors cannot be reported: the agent would interpret the output.
  }
}

interface Session {
  readonly product: (typeof PAYLOADS)[number];
  readonly session: string;
  readonly field: PayloadField;
}

/** The product and its session; null if the payload is not a known product's. */
function sessionIn(payload: string): Session | null {
  const field = fieldsOf(payload);
  const product = PAYLOADS.find(({ isHook }) => isHook(field));
  const session = field("session_id");
  return product === undefined || session === null || !/^[\w-]{1,80}$/.test(session)
    ? null
    : { product, session, field };
}

/**
 * Null if the product's hooks cannot refuse, or the call is within its limits. The modules that decide are loaded only
 * if there are limits. If the limits cannot be read, this is noted for `retinue doctor`.
 */
async function decided(payload: string, { product, session }: Session, env: Env): Promise<HookDecision | null> {
  const { guard, provider } = product;
  if (guard === undefined) return null;
  try {
    const limits = await limitsInForce(env);
    if (Object.keys(limits).length === 0) return null;
    const { guardHook } = await import("../guard/hook.ts");
    return guardHook(payload, { provider, session, guard }, limits, env);
  } catch (error) {
    noteTrouble(env, error as Error);
    return null;
  }
}

/** Appends the payload to the recording of its session. A refusal precedes the call, so that no agent is shown for it. */
function record(
  payload: string,
  { product, session, field }: Session,
  decision: HookDecision | null,
  env: Env,
): string {
  const recording = join(recordingsRoot(env, product.provider), "hooks", `${session}.jsonl`);
  const recorder = new Recorder(recording);
  if (decision?.action === "deny") recorder.note(refusalNote({ session, ...decision }));
  recorder.line(payload);
  recorder.close();
  const transcript = pathOf(field("transcript_path"), field("cwd"));
  const root = transcript === null ? null : product.rootOf(transcript);
  if (transcript !== null) follow(root ?? { transcript, session }, product.provider, env);
  return recording;
}

/** Parses a small payload; searches only the beginning of a large one. */
function fieldsOf(payload: string): PayloadField {
  if (payload.length > HEAD) return (name) => stringField(payload.slice(0, HEAD), name);
  let parsed: unknown;
  try {
    parsed = JSON.parse(payload);
  } catch {
    // Not JSON, so it has no fields.
    parsed = null;
  }
  return (name) => {
    const value = typeof parsed === "object" && parsed !== null ? (parsed as Record<string, unknown>)[name] : null;
    return typeof value === "string" ? value : null;
  };
}

function stringField(head: string, field: string): string | null {
  const quoted = new RegExp(`"${field}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(head)?.[1];
  return quoted === undefined ? null : (JSON.parse(quoted) as string);
}

/** Resolves symbolic links, which the reader does not follow. The file itself may not exist yet. */
function pathOf(transcript: string | null, cwd: string | null): string | null {
  if (transcript === null || transcript === "") return null;
  const path = resolve(cwd ?? ".", transcript);
  return normal(real(path) ?? join(real(dirname(path)) ?? dirname(path), basename(path)));
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // The file does not exist.
    return null;
  }
}

/** Remembers a transcript, or its root, outside of the known folders. */
function follow(place: FollowedPlace, provider: string, env: Env) {
  const list = followedRoots(env, provider);
  const line = JSON.stringify(place);
  try {
    if (readText(list, MAX_RECORD).split("\n").includes(line)) return;
  } catch (error) {
    // Not a file, or too large: the payload is recorded, and the server can still be notified.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return;
    // First entry: the folder does not exist yet.
    privateFolder(recordingsRoot(env, provider));
  }
  writePrivate(list, `${line}\n`, "a");
}

/** Notifies the server without waiting for the response. Returns false if the server no longer runs. */
async function wake(recording: string, server: Instance): Promise<boolean> {
  const { connect } = await import("node:net");
  const body = JSON.stringify({ path: recording });
  const { host, port } = server;
  const head = [
    "POST /api/hooks HTTP/1.1",
    `Host: ${new URL(server.url).host}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(server.token === null ? [] : [`Authorization: Bearer ${server.token}`]),
    "Connection: close",
  ];
  return new Promise((resolve) => {
    const socket = connect({ host: host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host, port });
    const done = (isRunning: boolean) => {
      clearTimeout(timer);
      resolve(isRunning);
      socket.destroy();
    };
    // A busy server is notified by its file watcher.
    const timer = setTimeout(() => done(true), WAKE_MS);
    socket.on("error", () => done(false));
    socket.on("connect", () => socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => done(true)));
  });
}

/**
 * Whether to send traces at the end of a turn: tracing is on, and the server, which may have another environment, does
 * not send them.
 */
const wantsFlush = (payload: string, env: Env, traced: readonly string[]) =>
  DESTINATIONS.some((kind) => kind.isTracing(env) && !traced.includes(kind.format)) &&
  /^(Stop|StopFailure|SubagentStop|SessionEnd)$/.test(fieldsOf(payload)("hook_event_name") ?? "");

async function flush(env: Env): Promise<void> {
  const program = process.argv[1];
  if (program === undefined) return;
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, [program, "hook", "--flush", "--stay"], {
    env: env as NodeJS.ProcessEnv,
    detached: true,
    stdio: "ignore",
  });
  child.on("error", () => {});
  child.unref();
}
