import type { LoadedEvent } from "./events.ts";

/** One spawn. The call and the first prompt are null while unknown, or if their agent is hidden. */
export interface Spawn {
  /** URI of the child. The event may name the child by its spawn call, until the child's own id is known. */
  readonly child: string;
  readonly event: LoadedEvent;
  readonly call: LoadedEvent | null;
  readonly prompt: LoadedEvent | null;
  /** All events of the spawn. */
  readonly parts: readonly LoadedEvent[];
}

/** The spawn call of an agent, from its record. */
export type CallOf = (uri: string) => { readonly parent: string; readonly toolCallId: string } | null;

export interface Spawns {
  /** The spawn that an event belongs to. */
  readonly of: ReadonlyMap<LoadedEvent, Spawn>;
  /** Calls that spawned no agent, with their spawn events. */
  readonly refused: ReadonlyMap<LoadedEvent, readonly LoadedEvent[]>;
  /** The first prompt of each agent. */
  readonly prompts: ReadonlySet<LoadedEvent>;
}

/** The events that matter for spawns. Calls are keyed by `callKey`, prompts by agent. */
interface SpawnIndex {
  readonly spawns: readonly LoadedEvent[];
  readonly calls: ReadonlyMap<string, LoadedEvent>;
  /** Calls whose result is an error. */
  readonly failed: ReadonlySet<string>;
  /** The first prompt of each agent. */
  readonly prompts: ReadonlyMap<string, LoadedEvent>;
  /** Agents that have events of their own. */
  readonly present: ReadonlySet<string>;
}

function indexSpawns(events: readonly LoadedEvent[]): SpawnIndex {
  const spawns: LoadedEvent[] = [];
  const calls = new Map<string, LoadedEvent>();
  const failed = new Set<string>();
  const prompts = new Map<string, LoadedEvent>();
  const present = new Set<string>();
  /** Agents that have been active: a later user message is not their first prompt. */
  const active = new Set<string>();
  for (const event of events) {
    const { kind, uri, tool } = event;
    if (kind === "spawn") spawns.push(event);
    if (kind === "toolCall" && tool !== null && !calls.has(callKey(uri, tool.callId)))
      calls.set(callKey(uri, tool.callId), event);
    if (kind === "toolResult" && tool?.isError === true) failed.add(callKey(uri, tool.callId));
    if (kind === "user" && !active.has(uri)) prompts.set(uri, event);
    if (kind === "user" || kind === "assistant" || kind === "reasoning" || kind === "toolCall") active.add(uri);
    if (kind !== "status") present.add(uri);
  }
  return { spawns, calls, failed, prompts, present };
}

/** First prompts of agents that no spawn event names yet, by the key of their spawn call. */
function promptsByCall({ spawns, prompts }: SpawnIndex, callOf: CallOf): ReadonlyMap<string, LoadedEvent> {
  const named = new Set(spawns.map(({ spawn }) => spawn?.uri));
  const found = new Map<string, LoadedEvent>();
  for (const [uri, prompt] of prompts) {
    const call = named.has(uri) ? null : callOf(uri);
    if (call !== null) found.set(callKey(call.parent, call.toolCallId), prompt);
  }
  return found;
}

/**
 * Groups the events of the same spawn. Only events of shown agents are grouped; refused calls and first prompts do not
 * depend on what is shown.
 */
export function findSpawns(events: readonly LoadedEvent[], isShown: (uri: string) => boolean, callOf: CallOf): Spawns {
  const index = indexSpawns(events);
  const { spawns, calls, failed, prompts, present } = index;
  const early = promptsByCall(index, callOf);
  const of = new Map<LoadedEvent, Spawn>();
  const refused = new Map<LoadedEvent, readonly LoadedEvent[]>();
  const isPresent = ({ spawn }: LoadedEvent) => spawn !== null && present.has(spawn.uri);
  /** The child has the id of its spawn call until its own id is known. */
  const isPlaceholder = (event: LoadedEvent) =>
    event.spawn !== null && event.spawn.agentId === event.spawn.toolCallId && !isPresent(event);
  const ifShown = (event: LoadedEvent | undefined) => (event !== undefined && isShown(event.uri) ? event : null);
  for (const [key, events] of Map.groupBy(spawns, ({ id, uri, spawn }) =>
    spawn?.toolCallId == null ? id : callKey(uri, spawn.toolCallId),
  )) {
    if (!events.every(({ uri }) => isShown(uri))) continue;
    const call = calls.get(key) ?? null;
    const children = events.filter((event) => !isPlaceholder(event));
    const placeholders = events.filter(isPlaceholder);
    if (call !== null && failed.has(key) && !events.some(isPresent)) {
      refused.set(call, events);
      continue;
    }
    for (const [n, event] of (children.length > 0 ? children : placeholders).entries()) {
      const uri = event.spawn?.uri ?? "";
      const prompt = ifShown(prompts.get(uri) ?? (isPlaceholder(event) ? early.get(key) : undefined));
      // A call that spawned several agents is shown with the first.
      const [ownCall, others] = n === 0 ? [call, placeholders.filter((one) => one !== event)] : [null, []];
      const parts = [event, ownCall, prompt, ...others].filter((part) => part !== null);
      const spawn = { child: prompt?.uri ?? uri, event, call: ownCall, prompt, parts };
      for (const part of parts) of.set(part, spawn);
    }
  }
  return { of, refused, prompts: new Set(prompts.values()) };
}

/** Call ids are unique only within an agent. */
const callKey = (uri: string, callId: string) => `${uri} ${callId}`;

/** Only the beginnings of texts are compared: longer ones may be truncated at different lengths. */
const COMPARED_CHARS = 2_000;
const start = (text: string) => text.trim().slice(0, COMPARED_CHARS);

/** The prompt in the call and the prompt as received. `sent` is null if the received prompt contains it. */
export function promptsOf({ event, prompt }: Spawn): {
  readonly sent: string | null;
  readonly received: LoadedEvent | null;
} {
  const sent = event.spawn?.prompt ?? null;
  const isRepeated = sent === null || prompt?.text?.includes(start(sent)) === true;
  return { sent: isRepeated && prompt !== null ? null : sent, received: prompt };
}

/** The input of the call without the prompt, which is shown separately. */
export function inputWithoutPrompt(input: unknown, { event, prompt }: Spawn): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const prompts = [event.spawn?.prompt, prompt?.text].flatMap((text) => (text == null ? [] : [start(text)]));
  const left = Object.entries(input).filter(
    ([, value]) => typeof value !== "string" || value.trim() === "" || !prompts.includes(start(value)),
  );
  return left.length === 0 ? null : Object.fromEntries(left);
}
