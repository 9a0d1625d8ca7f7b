import type { KeptEvent } from "./events.ts";

/** One step of an agent's timeline: a message, or a tool call with its result. */
export interface Step {
  readonly id: string;
  readonly event: KeptEvent;
  /** The tool result; null while the tool runs, and for other steps. */
  readonly result: KeptEvent | null;
  /** The agents that the call spawned. */
  readonly spawned: readonly KeptEvent[];
  readonly failed: boolean;
}

/** Joins calls and their results; omits nothing. */
export function timeline(events: readonly KeptEvent[]): Step[] {
  const results = new Map<string, KeptEvent>();
  const spawns = new Map<string, KeptEvent[]>();
  const calls = new Set<string>();
  for (const event of events) {
    const call = event.tool?.callId ?? event.spawn?.toolCallId ?? null;
    if (call === null) continue;
    if (event.kind === "toolCall") calls.add(call);
    if (event.kind === "toolResult" && !results.has(call)) results.set(call, event);
    if (event.kind === "spawn") spawns.set(call, [...(spawns.get(call) ?? []), event]);
  }
  const shown = new Set<KeptEvent>();
  const steps: Step[] = [];
  for (const event of events) {
    const call = event.tool?.callId ?? event.spawn?.toolCallId ?? "";
    if (event.kind === "toolCall") {
      const result = results.get(call) ?? null;
      const isFirst = result === null || !shown.has(result);
      if (result !== null) shown.add(result);
      steps.push(step(event, isFirst ? result : null, spawns.get(call) ?? []));
    } else if (event.kind === "toolResult" && calls.has(call) && results.get(call) === event) {
      // Part of its call's step.
    } else if (event.kind === "spawn" && calls.has(call)) {
      // The same.
    } else steps.push(step(event, null, []));
  }
  return steps;
}

function step(event: KeptEvent, result: KeptEvent | null, spawned: readonly KeptEvent[]): Step {
  const failed =
    event.kind === "error" ||
    event.tool?.isError === true ||
    result?.tool?.isError === true ||
    event.status?.status === "errored";
  return { id: event.id, event, result, spawned, failed };
}
