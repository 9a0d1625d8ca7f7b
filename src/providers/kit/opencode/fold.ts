import { asCount, asList, asNonBlank, asNumber, asObject, asText, type JsonObject } from "../../../core/tools/json.ts";
import { NAMES_PRODUCT } from "../launch/products.ts";
import { commandIn } from "../launch/shell-calls.ts";
import { planIn } from "../plan.ts";
import { SHELL } from "./message.ts";
import { isDone, type Message, messageOf, partOf, toolOf } from "./shapes.ts";
import { isSpawn } from "./task.ts";

/** A message with the parts that are known so far. */
export interface FoldedMessage {
  readonly session: string;
  /** The line that first mentioned it. */
  readonly order: number;
  info: JsonObject | null;
  readonly parts: Map<string, JsonObject>;
}

/** Maximum number of messages in memory. A later change to an older message is read without the rest of it. */
const MAX_MESSAGES = 12;
/** Maximum number of remembered ids, of finished and of removed messages. */
const MAX_IDS = 2_000;

/**
 * Merges frames and responses about a session's messages. Both report the state at the time of writing, and both may
 * arrive late, twice or not at all. Of two states of the same object the more advanced one wins, so order does not
 * matter.
 */
export class Fold {
  readonly #messages = new Map<string, FoldedMessage>();
  readonly #finished = new Set<string>();
  readonly #removed = new Set<string>();

  constructor(saved?: unknown) {
    const json = asObject(saved);
    for (const item of asList(json?.messages)) {
      const one = asObject(item);
      const [id, session] = [asNonBlank(one?.id), asNonBlank(one?.session)];
      if (one === null || id === null || session === null) continue;
      const parts = asList(one.parts)
        .map(asObject)
        .filter((part) => part !== null);
      this.#messages.set(id, {
        session,
        order: asCount(one.order),
        info: asObject(one.info),
        parts: new Map(parts.map((part) => [asText(part.id) ?? "", part])),
      });
    }
    for (const id of asList(json?.finished)) this.#finished.add(String(id));
    for (const id of asList(json?.removed)) this.#removed.add(String(id));
  }

  save(): unknown {
    const messages = [...this.#messages].map(([id, { session, order, info, parts }]) => ({
      id,
      session,
      order,
      info,
      parts: [...parts.values()],
    }));
    return { messages, finished: [...this.#finished], removed: [...this.#removed] };
  }

  get(id: string): FoldedMessage | undefined {
    return this.#messages.get(id);
  }

  /** Adds the state of a message. Null if it is finished and no longer in memory, or was removed. */
  info(id: string, session: string, info: JsonObject, order: number): FoldedMessage | null {
    if (this.#finished.has(id) || this.#removed.has(id)) return null;
    const message = this.#messageOf(id, session, order);
    const needed = neededInfo(info);
    if (message.info === null || infoRank(needed) >= infoRank(message.info)) message.info = needed;
    return message;
  }

  /** Adds the state of a part; null as above. */
  part(id: string, session: string, partId: string, part: JsonObject, order: number): FoldedMessage | null {
    if (this.#finished.has(id) || this.#removed.has(id) || this.#removed.has(partId)) return null;
    const message = this.#messageOf(id, session, order);
    const known = message.parts.get(partId);
    if (known === undefined || partRank(part) >= partRank(known))
      message.parts.set(partId, neededPart({ ...part, id: partId }));
    return message;
  }

  /** Adds a message with all its parts. */
  whole(
    id: string,
    session: string,
    info: JsonObject,
    parts: readonly JsonObject[],
    order: number,
  ): FoldedMessage | null {
    this.#finished.delete(id);
    const message = this.info(id, session, info, order);
    if (message !== null) for (const part of parts) this.part(id, session, asText(part.id) ?? "", part, order);
    return message;
  }

  remove(id: string): void {
    remember(this.#removed, id);
    this.#messages.delete(id);
    for (const { parts } of this.#messages.values()) parts.delete(id);
  }

  /** Whether this message was never mentioned before. */
  isNew(id: string): boolean {
    return !this.#messages.has(id) && !this.#finished.has(id) && !this.#removed.has(id);
  }

  /** The newest known message of a session. */
  newest(session: string): { readonly id: string; readonly info: JsonObject } | null {
    let newest: { readonly id: string; readonly info: JsonObject } | null = null;
    for (const [id, { session: of, info }] of this.#messages)
      if (of === session && info !== null && (newest === null || createdIn(info) >= createdIn(newest.info)))
        newest = { id, info };
    return newest;
  }

  /** The latest time in the known messages of a session; 0 if there are none. */
  lastTime(session: string): number {
    const own = [...this.#messages.values()].filter((message) => message.session === session);
    const times = own.flatMap(({ info, parts }) => [info, ...parts.values()].flatMap(timesIn));
    return Math.max(0, ...times);
  }

  /** Whether the session has unfinished work: an incomplete response, or a prompt without one. */
  isOpen(session: string): boolean {
    const own = [...this.#messages.values()].filter((message) => message.session === session && message.info !== null);
    const last = this.newest(session);
    return last === null || last.info.role === "user" || own.some((message) => !isFinished(message));
  }

  #messageOf(id: string, session: string, order: number): FoldedMessage {
    const known = this.#messages.get(id);
    if (known !== undefined) return known;
    const message: FoldedMessage = { session, order, info: null, parts: new Map() };
    this.#messages.set(id, message);
    this.#evict();
    return message;
  }

  /** Evicts the oldest messages that can no longer change. */
  #evict() {
    for (const [id, message] of this.#messages) {
      if (this.#messages.size <= MAX_MESSAGES) return;
      if (!isFinished(message)) continue;
      this.#messages.delete(id);
      remember(this.#finished, id);
    }
  }
}

const createdIn = (info: JsonObject) => asNumber(asObject(info.time)?.created) ?? 0;
const timesIn = (json: JsonObject | null) =>
  [asObject(json?.time), asObject(asObject(json?.state)?.time)].flatMap((time) =>
    Object.values(time ?? {}).flatMap((value) => asNumber(value) ?? []),
  );

function remember(ids: Set<string>, id: string) {
  ids.add(id);
  for (const oldest of ids) {
    if (ids.size <= MAX_IDS) return;
    ids.delete(oldest);
  }
}

/** The message; null while only parts of it are known. */
export function asMessage(id: string, { session, info, parts }: FoldedMessage): Message | null {
  return info === null ? null : messageOf(info, [...parts.values()], { id, session });
}

function isFinished({ info, parts }: FoldedMessage): boolean {
  if (info === null || (info.role !== "user" && infoRank(info) < 3)) return false;
  return [...parts.values()].every((part) => part.type !== "tool" || partRank(part) >= 3);
}

/**
 * How advanced the state of a message is. A response is finished when its end time and its finish reason are known;
 * frames may contain one before the other.
 */
function infoRank(info: JsonObject): number {
  const completed = asNumber(asObject(info.time)?.completed) !== null;
  return (completed ? 2 : 0) + (info.finish != null || info.error != null ? 1 : 0);
}

/** How advanced the state of a part is. */
function partRank(json: JsonObject): number {
  const part = partOf(json);
  const tool = part === null ? null : toolOf(part);
  if (tool === null) return part?.end == null ? 0 : 3;
  if (isDone(tool)) return 3;
  return tool.status !== "running" ? 0 : tool.metadata === null ? 1 : 2;
}

const INFO = [
  "id",
  "sessionID",
  "role",
  "path",
  "time",
  "agent",
  "mode",
  "modelID",
  "providerID",
  "model",
  "tokens",
  "cost",
  "finish",
  "error",
  "tools",
] as const;

/** The fields that are needed later. Others may be large: user messages contain all changes of the project. */
function neededInfo(info: JsonObject): JsonObject {
  const picked = Object.fromEntries(INFO.flatMap((name) => (info[name] === undefined ? [] : [[name, info[name]]])));
  return info.summary === true ? { ...picked, summary: true } : picked;
}

/** A shell command that may start an agent. */
const namesProduct = (input: unknown) => NAMES_PRODUCT.test(commandIn(input, "command") ?? "");

/** Drops tool inputs and outputs, which are most of the bytes, unless they spawn agents or contain plans. */
function neededPart(json: JsonObject): JsonObject {
  const part = partOf(json);
  const tool = part === null ? null : toolOf(part);
  if (part === null) return json;
  if (part.type === "file") return { id: part.id, type: part.type };
  if (tool === null || isSpawn(tool) || (tool.tool === SHELL && namesProduct(tool.input))) return json;
  const state = asObject(json.state);
  const needed = {
    status: tool.status,
    ...(state?.time === undefined ? {} : { time: state.time }),
    ...(tool.metadata === null ? {} : { metadata: {} }),
  };
  const plan = planIn(tool.input) === null ? {} : { input: tool.input };
  return { id: part.id, type: part.type, tool: tool.tool, callID: tool.callId, state: { ...needed, ...plan } };
}
