import type { KeptEvent } from "./events.ts";

/** One spawn. The call and the child's first prompt are null while they are unknown, and where their agent is hidden. */
export interface Spawn {
  /** The child; another than the event says while that knows it by its call only. */
  readonly child: string;
  readonly event: KeptEvent;
  readonly call: KeptEvent | null;
  readonly prompt: KeptEvent | null;
  /** All events that tell of it. */
  readonly parts: readonly KeptEvent[];
}

/** The call that spawned an agent, as its record says. */
export type CallOf = (uri: string) => { readonly parent: string; readonly toolCallId: string } | null;

export interface Spawns {
  /** The spawn that an event is a part of. */
  readonly of: ReadonlyMap<KeptEvent, Spawn>;
  /** Calls that spawned nobody, with the agents they asked for. */
  readonly refused: ReadonlyMap<KeptEvent, readonly KeptEvent[]>;
  /** The first prompt of each agent. */
  readonly prompts: ReadonlySet<KeptEvent>;
}

/**
 * Puts together the events that tell of the same spawn. Only events of shown agents become parts of one;
 * whether a call was refused, and which prompt is an agent's first, does not depend on who is shown.
 */
export function findSpawns(events: readonly KeptEvent[], isShown: (uri: string) => boolean, callOf: CallOf): Spawns {
  const spawns: KeptEvent[] = [];
  const calls = new Map<string, KeptEvent>();
  const failed = new Set<string>();
  const prompts = new Map<string, KeptEvent>();
  /** Agents with records of their own. */
  const present = new Set<string>();
  /** Agents that have said or done something: what they are told from then on is not their first prompt. */
  const begun = new Set<string>();
  for (const event of events) {
    const { kind, uri, tool } = event;
    if (kind === "spawn") spawns.push(event);
    if (kind === "toolCall" && tool !== null && !calls.has(callKey(uri, tool.callId))) calls.set(callKey(uri, tool.callId), event);
    if (kind === "toolResult" && tool?.isError === true) failed.add(callKey(uri, tool.callId));
    if (kind === "user" && !begun.has(uri)) prompts.set(uri, event);
    if (kind === "user" || kind === "assistant" || kind === "reasoning" || kind === "toolCall") begun.add(uri);
    if (kind !== "status") present.add(uri);
  }

  const of = new Map<KeptEvent, Spawn>();
  const refused = new Map<KeptEvent, readonly KeptEvent[]>();
  const known = new Set(spawns.map(({ spawn }) => spawn?.uri));
  /** Prompts of agents that no event of a spawn names yet, by the call. */
  const early = new Map<string, KeptEvent>();
  for (const [uri, prompt] of prompts) {
    const link = known.has(uri) ? null : callOf(uri);
    if (link !== null) early.set(callKey(link.parent, link.toolCallId), prompt);
  }
  const isPresent = ({ spawn }: KeptEvent) => spawn !== null && present.has(spawn.uri);
  /** Until a child is known by its own id, it is known by that of its call: that is the same agent, not one more. */
  const isStandIn = (event: KeptEvent) => event.spawn !== null && event.spawn.agentId === event.spawn.toolCallId && !isPresent(event);
  const ifShown = (event: KeptEvent | undefined) => (event !== undefined && isShown(event.uri) ? event : null);
  for (const [key, told] of Map.groupBy(spawns, ({ id, uri, spawn }) => (spawn?.toolCallId == null ? id : callKey(uri, spawn.toolCallId)))) {
    if (!told.every(({ uri }) => isShown(uri))) continue;
    const call = calls.get(key) ?? null;
    const children = told.filter((event) => !isStandIn(event));
    const standIns = told.filter(isStandIn);
    if (call !== null && failed.has(key) && !told.some(isPresent)) {
      refused.set(call, told);
      continue;
    }
    for (const [n, event] of (children.length > 0 ? children : standIns).entries()) {
      const uri = event.spawn?.uri ?? "";
      const prompt = ifShown(prompts.get(uri) ?? (isStandIn(event) ? early.get(key) : undefined));
      // A call that spawned several agents is told with the first.
      const [ownCall, others] = n === 0 ? [call, standIns.filter((one) => one !== event)] : [null, []];
      const parts = [event, ownCall, prompt, ...others].filter((part) => part !== null);
      const spawn = { child: prompt?.uri ?? uri, event, call: ownCall, prompt, parts };
      for (const part of parts) of.set(part, spawn);
    }
  }
  return { of, refused, prompts: new Set(prompts.values()) };
}

/** Ids of calls are unique within an agent only. */
const callKey = (uri: string, callId: string) => `${uri} ${callId}`;

/** Longer texts may have been shortened, each to another length. */
const COMPARED = 2_000;
const start = (text: string) => text.trim().slice(0, COMPARED);

/** What the child was asked: by the call and as it received it, but not the same text twice. */
export function promptsOf({ event, prompt }: Spawn): { readonly sent: string | null; readonly received: KeptEvent | null } {
  const sent = event.spawn?.prompt ?? null;
  const isRepeated = sent === null || prompt?.text?.includes(start(sent)) === true;
  return { sent: isRepeated && prompt !== null ? null : sent, received: prompt };
}

/** The input of the call without the prompt, which is shown by itself. */
export function inputWithoutPrompt(input: unknown, { event, prompt }: Spawn): unknown {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  const told = [event.spawn?.prompt, prompt?.text].flatMap((text) => (text == null ? [] : [start(text)]));
  const left = Object.entries(input).filter(([, value]) => typeof value !== "string" || value.trim() === "" || !told.includes(start(value)));
  return left.length === 0 ? null : Object.fromEntries(left);
}
