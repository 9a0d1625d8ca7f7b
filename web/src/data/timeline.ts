import type { LoadedEvent } from "./events.ts";

/** One step of an agent's timeline: a message, or a tool call with its result. */
export interface Step {
  readonly id: string;
  readonly event: LoadedEvent;
  /** The tool result; null while the tool runs, and for other steps. */
  readonly result: LoadedEvent | null;
  /** The agents that the call spawned. */
  readonly spawned: readonly LoadedEvent[];
  readonly failed: boolean;
}

/** The steps of an agent: each tool call is joined with its result and the agents it spawned. No event is omitted. */
export function timeline(events: readonly LoadedEvent[]): Step[] {
  const results = new Map<string, LoadedEvent>();
  const spawns = new Map<string, LoadedEvent[]>();
  const calls = new Set<string>();
  for (const event of events) {
    const call = event.tool?.callId ?? event.spawn?.toolCallId ?? null;
    if (call === null) continue;
    if (event.kind === "toolCall") calls.add(call);
    if (event.kind === "toolResult" && !results.has(call)) results.set(call, event);
    if (event.kind === "spawn") spawns.set(call, [...(spawns.get(call) ?? []), event]);
  }
  const shown = new Set<LoadedEvent>();
  const steps: Step[] = [];
  for (const event of events) {
    const call = event.tool?.callId ?? event.spawn?.toolCallId ?? "";
    if (event.kind === "toolCall") {
      const result = results.get(call) ?? null;
      const isFirst = result === null || !shown.has(result);
      if (result !== null) shown.add(result);
      steps.push(step(event, isFirst ? result : null, spawns.get(call) ?? []));
      continue;
    }
    const isPartOfCall =
      calls.has(call) && (event.kind === "spawn" || (event.kind === "toolResult" && results.get(call) === event));
    if (!isPartOfCall) steps.push(step(event, null, []));
  }
  return steps;
}

function step(event: LoadedEvent, result: LoadedEvent | null, spawned: readonly LoadedEvent[]): Step {
  const failed =
    event.kind === "error" ||
    event.tool?.isError === true ||
    result?.tool?.isError === true ||
    event.status?.status === "errored";
  return { id: event.id, event, result, spawned, failed };
}
