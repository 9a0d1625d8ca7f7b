/**
 * `retinue hook`: keeps what an agent's hook says, wakes the server, and is gone. An entry of its own that loads next to nothing: the agent waits for it.
 * Prints nothing and never fails, whatever happens: it is not the agent's business.
 */
import { readFileSync, realpathSync } from "node:fs";
import type { PayloadField } from "../core/hook-payload.ts";
import { HOOK_PAYLOADS } from "../providers/hook-payloads.ts";
import { readInput } from "../transports/bounded.ts";
import { privateFolder, writePrivate } from "../transports/private.ts";
import { Recorder } from "../transports/recorder.ts";
import { basename, dirname, join, normal, resolve } from "../transports/system/paths.ts";
import { closeHome, type Env, type FollowedPlace, followedRoots, recordingsRoot } from "./home.ts";
import { type Instance, notedInstance } from "./instance-note.ts";

/** Ids and paths stand at the beginning; what makes a payload large, prompts and results, comes later. */
const HEAD = 16 * 1024;
/** Longer than it takes to say a word to a process of this machine, shorter than anybody notices. */
const WAKE_MS = 15;

export async function hook(env: Env, input: () => string | null = readInput): Promise<void> {
  try {
    const payload = input();
    if (payload === null) return;
    closeHome(env);
    const recording = keep(payload, env);
    if (recording === null) return;
    const server = notedInstance(env);
    const traced = server !== null && (await wake(recording, server)) ? server.traces : [];
    if (wantsFlush(payload, env, traced)) await flush(env);
  } catch {
    // Nobody can be told: what an agent's hook prints, the agent takes for its own.
  }
}

/** Appends the payload to the recording of its session; null for what no product of ours says. */
function keep(payload: string, env: Env): string | null {
  const field = fieldsOf(payload);
  const product = HOOK_PAYLOADS.find(({ isHook }) => isHook(field));
  const session = field("session_id");
  if (product === undefined || session === null || !/^[\w-]{1,80}$/.test(session)) return null;
  const recording = join(recordingsRoot(env, product.provider), "hooks", `${session}.jsonl`);
  const recorder = new Recorder(recording);
  recorder.line(payload);
  recorder.close();
  const transcript = pathOf(field("transcript_path"), field("cwd"));
  const root = transcript === null ? null : product.rootOf(transcript);
  if (transcript !== null) follow(root ?? { transcript, session }, product.provider, env);
  return recording;
}

/** A small payload is parsed; of a large one only the beginning is searched. */
function fieldsOf(payload: string): PayloadField {
  if (payload.length > HEAD) return (name) => wordIn(payload.slice(0, HEAD), name);
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

function wordIn(head: string, field: string): string | null {
  const quoted = new RegExp(`"${field}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*")`).exec(head)?.[1];
  return quoted === undefined ? null : (JSON.parse(quoted) as string);
}

/** Without symbolic links, which the reader does not follow. The file itself may not be there yet. */
function pathOf(transcript: string | null, cwd: string | null): string | null {
  if (transcript === null || transcript === "") return null;
  const path = resolve(cwd ?? ".", transcript);
  return normal(real(path) ?? join(real(dirname(path)) ?? dirname(path), basename(path)));
}

function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    // Not there.
    return null;
  }
}

/** A transcript may lie where nobody looks: from now on its root, or the transcript alone, is looked at too. */
function follow(place: FollowedPlace, provider: string, env: Env) {
  const list = followedRoots(env, provider);
  const line = JSON.stringify(place);
  try {
    if (readFileSync(list, "utf8").split("\n").includes(line)) return;
  } catch {
    // Nothing is followed yet.
    privateFolder(recordingsRoot(env, provider));
  }
  writePrivate(list, `${line}\n`, "a");
}

/** Tells the server where to look. False if it is gone. Nobody waits for what it answers. */
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
    const done = (isThere: boolean) => {
      clearTimeout(timer);
      resolve(isThere);
      socket.destroy();
    };
    // One that is too busy to answer sees the file all the same.
    const timer = setTimeout(() => done(true), WAKE_MS);
    socket.on("error", () => done(false));
    socket.on("connect", () => socket.end(`${head.join("\r\n")}\r\n\r\n${body}`, () => done(true)));
  });
}

/** Where nobody else sends on what the user wants traced, it is done when a turn is over. `traced`: what the server sees to; it may have been started without the user's variables. */
const wantsFlush = (payload: string, env: Env, traced: readonly string[]) =>
  Object.entries({ langsmith: env.TRACE_TO_LANGSMITH, otlp: env.TRACE_TO_OTLP }).some(
    ([service, wish]) => wish?.toLowerCase() === "true" && !traced.includes(service),
  ) && /^(Stop|StopFailure|SubagentStop|SessionEnd)$/.test(fieldsOf(payload)("hook_event_name") ?? "");

async function flush(env: Env): Promise<void> {
  const program = process.argv[1];
  if (program === undefined) return;
  const { spawn } = await import("node:child_process");
  const child = spawn(process.execPath, [program, "hook", "--flush", "--stay"], { env: env as NodeJS.ProcessEnv, detached: true, stdio: "ignore" });
  child.on("error", () => {});
  child.unref();
}
