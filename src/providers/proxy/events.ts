import type { AgentKey, CallKey, RecordKey } from "../../core/facts/ids.ts";
import type { TrafficRow } from "../../core/facts/traffic.ts";
import type { EventDraft } from "../../core/views/event.ts";
import { partOf } from "./blocks.ts";

interface Context {
  readonly at: number;
  readonly speaker: AgentKey;
  readonly response: RecordKey | null;
  key(id: string): CallKey;
}

/** A text that consists of context which clients add. */
const CONTEXT = /^\s*<(system-reminder|environment_context|user_instructions)>[\s\S]*<\/\1>\s*$/;

/** The events of a row. The product's own records may contain the same ones. */
export function eventsIn(row: TrafficRow, { at, speaker, response, key }: Context): readonly EventDraft[] {
  const base = {
    speaker,
    keys: response === null ? [] : [response],
    at,
    tool: null,
    response,
    origin: "proxy" as const,
  };
  switch (row.is) {
    case "asked":
      return row.tail.flatMap(({ texts, results }): EventDraft[] => [
        ...results.map(({ id, isError, text }) => ({
          ...base,
          kind: "toolResult" as const,
          text,
          tool: { name: null, call: key(id), input: null, isError },
        })),
        ...texts
          .filter((text) => text.trim() !== "" && !CONTEXT.test(text))
          .map((text) => ({ ...base, kind: "user" as const, text })),
      ]);
    case "block": {
      const part = partOf(row.block);
      if (part.is === "text" || part.is === "reasoning")
        return part.text.trim() === ""
          ? []
          : [{ ...base, kind: part.is === "text" ? "assistant" : "reasoning", text: part.text }];
      return part.is === "call"
        ? [
            {
              ...base,
              kind: "toolCall",
              text: null,
              tool: { name: part.call.name, call: key(part.call.id), input: part.call.input, isError: false },
            },
          ]
        : [];
    }
    case "ended":
      return row.error === null ? [] : [{ ...base, kind: "error", text: row.error }];
    default:
      return [];
  }
}
