import type { Step } from "../../core/views/story.ts";
import type { Message } from "./span.ts";

/** The input of a model call or an agent: from users, the product and tools. */
export function messagesOf(steps: readonly Step[]): Message[] {
  return steps.flatMap(({ event: { kind, text, tool } }): Message[] => {
    if (kind === "toolResult") return [{ role: "tool", text, ...(tool === null ? {} : { callId: tool.callId }) }];
    return kind === "user" || kind === "note" || kind === "compaction" ? [{ role: "user", text }] : [];
  });
}

/** The response of a model as one message, however many records it is spread over. */
export function outputOf(steps: readonly Step[]): Message[] {
  if (steps.length === 0) return [];
  const texts = (kind: string) =>
    steps.flatMap(({ event }) => (event.kind === kind && event.text !== null ? [event.text] : []));
  const reasoning = texts("reasoning").join("\n");
  const toolCalls = steps.flatMap(({ event: { kind, tool } }) =>
    kind === "toolCall" && tool !== null ? [{ id: tool.callId, name: tool.name ?? "tool", input: tool.input }] : [],
  );
  const text = texts("assistant").join("\n");
  return [
    {
      role: "assistant",
      text: text === "" ? null : text,
      ...(reasoning === "" ? {} : { reasoning }),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    },
  ];
}
