import { singleSpaced } from "../tools/spaces.ts";
import type { EventKind, EventRef } from "./event.ts";

/** A text that contains all words of a search. */
export interface FoundText {
  readonly uri: string;
  readonly kind: EventKind;
  readonly at: string | null;
  /** The words around the first match. */
  readonly snippet: string;
  /** Positions of the words in `snippet`: start and end, in order. */
  readonly marks: readonly (readonly [number, number])[];
  readonly ref: EventRef;
}

/** Longer texts are found by their beginning: what follows is mostly pasted. */
const MAX_TEXT = 20_000;
const MAX_INPUT = 2_000;

/** An event, or a draft of one. */
interface Searched {
  readonly kind: EventKind;
  readonly text: string | null;
  readonly tool: { readonly name: string | null; readonly input: unknown } | null;
}

/** The text to index: messages and the inputs of tools. Tool results, which are most of the bytes, are not indexed. */
export function searchedText({ kind, text, tool }: Searched): string {
  switch (kind) {
    case "user":
    case "assistant":
    case "reasoning":
    case "compaction":
    case "error":
    case "note":
      return (text ?? "").slice(0, MAX_TEXT);
    case "toolCall":
      return `${tool?.name ?? ""} ${stringsIn(tool?.input).join(" ")}`.slice(0, MAX_INPUT);
    case "toolResult":
    case "spawn":
    case "status":
      return "";
    default:
      return kind satisfies never;
  }
}

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

const BEFORE = 60;
const SNIPPET = 200;

/** The text around the first of the words, on one line. */
export function excerpt(text: string, words: readonly string[]): Pick<FoundText, "snippet" | "marks"> {
  const flat = singleSpaced(text);
  const terms = words
    .flatMap((word) => word.match(/[\p{L}\p{N}]+/gu) ?? [])
    .map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (terms.length === 0) return { snippet: flat.slice(0, SNIPPET), marks: [] };
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${terms.join("|")})`, "giu");
  const first = flat.search(pattern);
  const start = Math.max(0, first - BEFORE);
  const snippet = `${start > 0 ? "…" : ""}${flat.slice(start, start + SNIPPET)}${start + SNIPPET < flat.length ? "…" : ""}`;
  return { snippet, marks: [...snippet.matchAll(pattern)].map((m) => [m.index, m.index + m[0].length] as const) };
}
