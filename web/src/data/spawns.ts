import type { KeptEvent } from "./events.ts";

/** One spawn. The call and the first prompt are null while unknown, or if their agent is hidden. */
export interface Spawn {
  /** The child. Differs from the event's while that names it by its call only. */
  readonly child: string;
  readonly event: KeptEvent;
  readonly call: KeptEvent | null;
  readonly prompt: KeptEvent | null;
  /** All its events. */
  readonly parts: readonly KeptEvent[];
}

/** The spawn call of an agent, from its record. */
export type CallOf = (uri: string) => { readonly parent: string; readonly toolCallId: string } | null;

export interface Spawns {
  /** The spawn that an event belongs to. */
  readonly of: ReadonlyMap<KeptEvent, Spawn>;
  /** Calls that spawned no agent, with their spawn events. */
  readonly refused: ReadonlyMap<KeptEvent, readonly KeptEvent[]>;
  /** The first prompt of each agent. */
  readonly prompts: ReadonlySet<KeptEvent>;
}

/**
 * Groups the events of the same spawn. Only events of shown agents are grouped; refused calls and first prompts do not
 * depend on what is shown.
 */
export function findSpawns(events: readonly KeptEvent[], isShown: (uri: string) => boolean, callOf: CallOf): Spawns {
  const spawns: KeptEvent[] = [];
  const calls = new Map<string, KeptEvent>();
  const failed = new Set<string>();
  const prompts = new Map<string, KeptEvent>();
  /** Agents with their own events. */
  const present = new Set<string>();
  /** Agents that have been active: later prompts are not their first. */
  const begun = new Set<string>();
  for (const event of events) {
    const { kind, uri, tool } = event;
    if (kind === "spawn") spawns.push(event);
    if (kind === "toolCall" && tool !== null && !calls.has(callKey(uri, tool.callId)))
      calls.set(callKey(uri, tool.callId), event);
    if (kind === "toolResult" && tool?.isError === true) failed.add(callKey(uri, tool.callId));
    if (kind === "user" && !begun.has(uri)) prompts.set(uri, event);
    if (kind === "user" || kind === "assistant" || kind === "reasoning" || kind === "toolCall") begun.add(uri);
    if (kind !== "status") present.add(uri);
  }

  const of = new Map<KeptEvent, Spawn>();
  const refused = new Map<KeptEvent, readonly KeptEvent[]>();
  const known = new Set(spawns.map(({ spawn }) => spawn?.uri));
  /** Prompts of agents that no spawn event names yet, by call. */
  const early = new Map<string, KeptEvent>();
  for (const [uri, prompt] of prompts) {
    const link = known.has(uri) ? null : callOf(uri);
    if (link !== null) early.set(callKey(link.parent, link.toolCallId), prompt);
  }
  const isPresent = ({ spawn }: KeptEvent) => spawn !== null && present.has(spawn.uri);
  /** Until a child's own id is known, it has the id of its call; both are the same agent. */
  const isPlaceholder = (event: KeptEvent) =>
    event.spawn !== null && event.spawn.agentId === event.spawn.toolCallId && !isPresent(event);
  const ifShown = (event: KeptEvent | undefined) => (event !== undefined && isShown(event.uri) ? event : null);
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

/** Longer texts may have been truncated at different lengths. */
const COMPARED = 2_000;
const start = (text: string) => text.trim().slice(0, COMPARED);

/** The prompt in the call and as received; only one if they are equal. */
export function promptsOf({ event, prompt }: Spawn): {
  readonly sent: string | null;
  readonly received: KeptEvent | null;
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
