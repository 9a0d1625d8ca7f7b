import type { Step } from "../../core/story.ts";
import type { Message } from "./span.ts";

/** What was said to a model or an agent: by people, by the product, by tools. */
export function messagesOf(steps: readonly Step[]): Message[] {
  return steps.flatMap(({ event: { kind, text, tool } }): Message[] => {
    if (kind === "toolResult") return [{ role: "tool", text, ...(tool === null ? {} : { callId: tool.callId }) }];
    return kind === "user" || kind === "note" || kind === "compaction" ? [{ role: "user", text }] : [];
  });
}

/** What a model answered: one message, however many records it is spread over. */
export function outputOf(said: readonly Step[]): Message[] {
  if (said.length === 0) return [];
  const texts = (kind: string) => said.flatMap(({ event }) => (event.kind === kind && event.text !== null ? [event.text] : []));
  const reasoning = texts("reasoning").join("\n");
  const toolCalls = said.flatMap(({ event: { kind, tool } }) =>
    kind === "toolCall" && tool !== null ? [{ id: tool.callId, name: tool.name ?? "tool", input: tool.input }] : [],
  );
  const text = texts("assistant").join("\n");
  return [{ role: "assistant", text: text === "" ? null : text, ...(reasoning === "" ? {} : { reasoning }), ...(toolCalls.length === 0 ? {} : { toolCalls }) }];
}
