import { ANONYMOUS } from "../../core/facts/ids.ts";
import {
  type Attach,
  type AttachedAgent,
  type AttachRequest,
  asArgument,
  isBefore,
  nameIn,
  type Resuming,
  type TranscriptRecord,
} from "../../core/ports/attach.ts";
import { asNonBlank, asObject, asText, type JsonObject, parseJson } from "../../core/tools/json.ts";

/** Types of agents that `--agent` does not know. */
const NO_AGENT = new Set(["fork", "workflow-subagent"]);
/** The records that make up a conversation. */
const KEPT = new Set(["user", "assistant", "attachment", "system"]);
const decoder = new TextDecoder();
const REQUEST = '{"type":"api-request';

/**
 * Claude Code resumes any transcript by its path, but finds no conversation in one of a sub-agent, because all its
 * records are marked `isSidechain`. So a copy without that mark is resumed; with `--fork-session` the copy is not
 * written to, and the new session is stored with all others. Tried with 2.0.76 to 2.1.325.
 */
export const attach: Attach = {
  *resume(agent, ask): Resuming {
    const history = yield* historyOf(agent, ask);
    if (history === null) return { unable: "its transcript no longer exists" };
    if (!history.some(({ type }) => type === "user" || type === "assistant"))
      return { unable: "its transcript has no messages" };
    const copy = ask.copyAt(`${ask.id}.jsonl`);
    return {
      command: commandOf(["--resume", copy, "--fork-session"], agent, modelOf(history) ?? agent.model, ask),
      copies: [{ path: copy, records: promoted(history, ask.id).map((record) => JSON.stringify(record)) }],
      limits: history.some((record) => asObject(record.attachment)?.type === "prompt_snapshot")
        ? []
        : ["its own system prompt is not recorded; Claude Code uses that of --agent, else its default"],
    };
  },
  begin: (message, agent, ask) => commandOf([], agent, agent.model, { ...ask, message }),
};

function commandOf(
  resume: readonly string[],
  { type }: AttachedAgent,
  model: string | null,
  { message, isInteractive, args }: AttachRequest,
): readonly string[] {
  const options = [
    ...(isInteractive ? [] : ["-p"]),
    ...resume,
    ...(type === null || NO_AGENT.has(type) ? [] : ["--agent", type]),
    ...(model === null ? [] : ["--model", model]),
    ...args,
  ];
  if (message === null) return ["claude", ...options];
  // Some options take several values, and would include the message.
  return message.startsWith("-") ? ["claude", ...options, ...asArgument(message)] : ["claude", message, ...options];
}

/** The records of the agent, oldest first; null if there is no transcript. */
function* historyOf(
  agent: AttachedAgent,
  ask: AttachRequest,
): Generator<string, readonly JsonObject[] | null, readonly TranscriptRecord[] | null> {
  const wanted = ask.until === null ? agent.files : agent.files.filter(({ path }) => path === ask.until?.path);
  for (const { path } of wanted) {
    const found = yield path;
    if (found === null) continue;
    const records = jsonIn(found.filter((record) => isBefore(ask.until, path, record)));
    const own = agent.agent?.startsWith(ANONYMOUS)
      ? chainFrom(records, agent.agent.slice(ANONYMOUS.length))
      : records.filter((record) => (record.isSidechain === true) === (agent.agent !== null));
    const ref = records.find(({ type }) => type === "fork-context-ref");
    return ref === undefined || agent.agent === null ? own : yield* withParents(own, ref, agent.above);
  }
  return null;
}

function jsonIn(records: readonly TranscriptRecord[]): JsonObject[] {
  return (
    records
      .map(({ bytes }) => decoder.decode(bytes))
      // Most of the bytes since 2.1.300, and never part of the conversation.
      .filter((text) => !text.startsWith(REQUEST))
      .map((text) => asObject(parseJson(text)?.value))
      .filter((json) => json !== null)
  );
}

/** Up to 2.0.24 agents are in the transcript of their thread, as chains of records. */
function chainFrom(records: readonly JsonObject[], first: string): JsonObject[] {
  const chain = new Set<unknown>([first]);
  return records.filter(({ uuid, parentUuid }) => {
    if (uuid !== first && !chain.has(parentUuid)) return false;
    chain.add(uuid);
    return true;
  });
}

/**
 * The transcript of a forked agent only names the last record that it inherited (since 2.1.118): the chain of records
 * that ends there is put first.
 */
function* withParents(
  own: readonly JsonObject[],
  ref: JsonObject,
  above: readonly string[],
): Generator<string, readonly JsonObject[], readonly TranscriptRecord[] | null> {
  const last = asNonBlank(ref.parentLastUuid);
  for (const [i, path] of above.entries()) {
    const records = jsonIn((yield path) ?? []);
    const chain = chainTo(records, last);
    if (chain.length === 0) continue;
    const before = records.find(({ type }) => type === "fork-context-ref");
    const whole = before === undefined ? chain : yield* withParents(chain, before, above.slice(i + 1));
    return [...whole, ...joined(own, last)];
  }
  return own;
}

/** The first record of the chain follows the inherited ones. */
const joined = (own: readonly JsonObject[], last: string | null): JsonObject[] => {
  const first = own.findIndex(({ uuid, parentUuid }) => uuid !== undefined && parentUuid == null);
  return own.map((record, i) => (i === first ? { ...record, parentUuid: last } : record));
};

function chainTo(records: readonly JsonObject[], last: string | null): JsonObject[] {
  const byId = new Map(records.flatMap((record) => (asText(record.uuid) === null ? [] : [[record.uuid, record]])));
  const chain: JsonObject[] = [];
  for (let at = byId.get(last ?? ""); at !== undefined; at = byId.get(at.parentUuid)) {
    chain.push(at);
    // Guards against cycles.
    byId.delete(at.uuid);
  }
  return chain.reverse();
}

/** The conversation as that of a thread: without the marks of a sub-agent, under the new session. */
function promoted(history: readonly JsonObject[], session: string): JsonObject[] {
  // Records that are not kept may be part of the chain (`progress`, 2.1.42 to 2.1.80).
  const parents = new Map(history.map(({ uuid, parentUuid }) => [uuid, parentUuid]));
  const kept = new Set(history.flatMap((record) => (isKept(record) ? [record.uuid] : [])));
  const keptParent = (of: unknown) => {
    let at = of;
    for (let steps = 0; at != null && !kept.has(at) && steps < history.length; steps += 1) at = parents.get(at);
    return at != null && kept.has(at) ? at : null;
  };
  return history.filter(isKept).map(({ agentId: _, ...record }) => ({
    ...record,
    ...("parentUuid" in record ? { parentUuid: keptParent(record.parentUuid) } : {}),
    isSidechain: false,
    sessionId: session,
  }));
}

const isKept = ({ type }: JsonObject) => KEPT.has(asText(type) ?? "");

/** The model of its last request. */
function modelOf(history: readonly JsonObject[]): string | null {
  const responses = history.filter(({ type }) => type === "assistant");
  const models = responses.map((record) =>
    nameIn(asText(record.requestedModel) ?? asText(asObject(record.message)?.model)),
  );
  // Errors of the product have the model `<synthetic>`, which is no name.
  return models.findLast((model) => model !== null) ?? null;
}
