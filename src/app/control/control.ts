import { asObject, parseJson } from "../../core/tools/json.ts";
import { MAX_RECORD } from "../../core/tools/limits.ts";
import { readBody } from "../../transports/bounded.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { Permission, PermissionAnswer } from "../runs/permissions.ts";
import { type OwnerNote, ownerNotes } from "./notes.ts";
import type { OwnerState, Steered, SteerRequest } from "./owner.ts";

/** What can be controlled on this machine: the agents of runs that retinue started, and of servers that it follows. */
export interface Controllable {
  readonly threads: readonly Steered[];
  /** Oldest first. Ids are unique on this machine. */
  readonly permissions: readonly Permission[];
}

/** An owner that does not respond is left out: it has just ended, or hangs. */
export async function controllable(env: Env): Promise<Controllable> {
  const states = await Promise.all(
    [...ownerNotes(env)].map(async ([name, note]) => ({ name, state: await stateOf(note) })),
  );
  return {
    threads: states.flatMap(({ state }) => state?.threads ?? []),
    permissions: states
      .flatMap(({ name, state }) => (state?.permissions ?? []).map((one) => ({ ...one, id: `${name}.${one.id}` })))
      .sort((a, b) => a.askedAt.localeCompare(b.askedAt)),
  };
}

export async function answerPermission(env: Env, id: string, answer: PermissionAnswer): Promise<void> {
  const [, name = "", own = ""] = /^([a-f\d]+)\.(.+)$/.exec(id) ?? [];
  const note = ownerNotes(env).get(name);
  const response = note === undefined ? null : await post(note, "answer", { ...answer, id: own });
  if (response?.done !== true)
    throw new Failure("not_found", `no open permission request ${JSON.stringify(id)}`, [
      "it was answered or withdrawn; nothing was changed",
    ]);
}

/** The request is passed to the owner of its thread. */
export async function steer(env: Env, request: SteerRequest): Promise<void> {
  for (const note of ownerNotes(env).values()) {
    const state = await stateOf(note);
    const thread = state?.threads.find(({ uri }) => request.uri === uri || request.uri.startsWith(`${uri}/`));
    if (thread === undefined) continue;
    if (!thread.actions.includes(request.action))
      throw new Failure("failed", `this run does not support ${request.action}`, [
        `supported: ${thread.actions.join(", ")}`,
      ]);
    await post(note, "steer", request);
    return;
  }
  throw new Failure("not_found", `retinue does not control ${request.uri}`, [
    "only runs started with retinue run --control, or with run() of the library and `isShared`, can be steered",
  ]);
}

const TIMEOUT_MS = 10_000;

async function stateOf(note: OwnerNote): Promise<OwnerState | null> {
  try {
    return (await request(note, "", { method: "GET" })) as unknown as OwnerState;
  } catch {
    // It has ended since its note was read.
    return null;
  }
}

const post = (note: OwnerNote, path: string, body: object) =>
  request(note, path, { method: "POST", body: JSON.stringify(body) });

async function request({ url, token }: OwnerNote, path: string, init: RequestInit) {
  const response = await fetch(new URL(path, url), {
    ...init,
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const { bytes } = await readBody(response.body, MAX_RECORD);
  const body = asObject(parseJson(bytes.toString("utf8"))?.value) ?? {};
  if (response.status !== 200) throw new Failure("failed", String(body.message ?? `status ${response.status}`), []);
  return body;
}
