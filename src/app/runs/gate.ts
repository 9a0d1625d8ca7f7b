import { createHash, randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { formatUri } from "../../core/facts/uri.ts";
import type { ToolDecision } from "../../core/ports/control.ts";
import type { Gate } from "../../core/ports/gate.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { privateFolder, writePrivate } from "../../transports/private.ts";
import { type Env, retinueHome } from "../home.ts";
import { ownModule } from "../own-files.ts";
import { openPrivateServer } from "../private-server.ts";
import { ANSWER_MS, decide, type InterceptionOptions } from "./interception.ts";

export interface OpenGate {
  readonly command: readonly string[];
  readonly env: Env;
  /** Denies a call that waits, with this text. False if it does not wait. */
  deny(callId: string, text: string): boolean;
  close(): void;
}

interface GatedLaunch {
  readonly command: readonly string[];
  readonly provider: { readonly name: string };
  readonly gate: Gate;
}

/** Makes a product ask this process about its tool calls. Null if the product cannot ask in this environment. */
export async function openGate(
  { command, provider, gate }: GatedLaunch,
  env: Env,
  options: InterceptionOptions,
): Promise<OpenGate | null> {
  const waiting = new Map<string, (decision: ToolDecision) => void>();
  /** The thread of the run makes the first call. */
  let root: string | null = null;
  const decisionOf = async (question: unknown): Promise<ToolDecision> => {
    const asked = gate.callIn(question);
    if (asked === null) return "allow";
    root ??= asked.sessionId;
    // A product may name the session of an agent only.
    const isChild = asked.agentId === null && asked.sessionId !== root;
    const call = isChild ? { ...asked, sessionId: root, agentId: asked.sessionId } : asked;
    const uri = formatUri(provider.name, call.sessionId, call.agentId);
    const denied = Promise.withResolvers<ToolDecision>();
    waiting.set(call.callId, denied.resolve);
    const decision = await Promise.race([decide({ ...call, uri }, options), denied.promise]);
    waiting.delete(call.callId);
    return decision;
  };
  const server = await openPrivateServer(async ({ body }) => {
    return { status: 200, body: gate.answer(await decisionOf(body)) };
  }, MAX_RECORD);
  const { url, token } = server;
  const folder = join(retinueHome(env), "control", randomBytes(6).toString("hex"));
  const fileAt = (name: string) => join(folder, name);
  const client = [process.execPath, ownModule("app/runs/gate-client"), fileAt("gate.json")];
  const { interceptors, answerMs = ANSWER_MS } = options;
  const opened = gate.open(command, env, {
    url,
    token,
    client: client.map((word) => `"${word}"`).join(" "),
    timeout: Math.ceil((answerMs * (interceptors.length + 1)) / 1000),
    fileAt,
    sha256: (text) => createHash("sha256").update(text).digest("hex"),
  });
  const close = () => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  };
  if (opened === null) {
    close();
    return null;
  }
  privateFolder(folder);
  writePrivate(fileAt("gate.json"), JSON.stringify({ url, token }));
  for (const { path, text } of opened.files) writePrivate(path, text);
  return {
    command: opened.command,
    env: { ...env, ...opened.env },
    deny: (callId, text) => {
      const answer = waiting.get(callId);
      answer?.({ deny: text });
      return answer !== undefined;
    },
    close,
  };
}
