import type { KeptEvent } from "./events.ts";

/** One step of an agent's timeline: something said, or a call with what came back. */
export interface Step {
  readonly id: string;
  readonly event: KeptEvent;
  /** What a tool answered; null while it works, and for everything that is no call. */
  readonly result: KeptEvent | null;
  /** The agents a call brought to life. */
  readonly spawned: readonly KeptEvent[];
  readonly failed: boolean;
}

/** Puts calls and their results together; nothing is left out. */
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
  const told = new Set<KeptEvent>();
  const steps: Step[] = [];
  for (const event of events) {
    const call = event.tool?.callId ?? event.spawn?.toolCallId ?? "";
    if (event.kind === "toolCall") {
      const result = results.get(call) ?? null;
      const isFirst = result === null || !told.has(result);
      if (result !== null) told.add(result);
      steps.push(step(event, isFirst ? result : null, spawns.get(call) ?? []));
    } else if (event.kind === "toolResult" && calls.has(call) && results.get(call) === event) {
      // Stands with its call.
    } else if (event.kind === "spawn" && calls.has(call)) {
      // Likewise.
    } else steps.push(step(event, null, []));
  }
  return steps;
}

function step(event: KeptEvent, result: KeptEvent | null, spawned: readonly KeptEvent[]): Step {
  const failed = event.kind === "error" || event.tool?.isError === true || result?.tool?.isError === true || event.status?.status === "errored";
  return { id: event.id, event, result, spawned, failed };
}
