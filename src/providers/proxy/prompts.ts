import type { RequestRow } from "../../core/facts/traffic.ts";
import { asList, asNonBlank, asObject, type JsonObject } from "../../core/tools/json.ts";

/** Tags around a prompt; text entirely inside other tags is context. */
const PROMPT_TAGS = new Set([
  "user_query",
  "user_message",
  "user_request",
  "user_prompt",
  "user",
  "query",
  "task",
  "prompt",
  "request",
  "question",
  "objective",
]);
/** Context that clients add before or after a prompt in the same text. */
const CONTEXT = new Set([
  "system-reminder",
  "environment_details",
  "environment_context",
  "user_info",
  "user_instructions",
  "context",
]);

/** The prompt in these texts, without the context that clients add. */
export function promptIn(texts: readonly string[]): string | null {
  const prompt = texts.map(withoutContext).findLast((text) => text !== "");
  return asNonBlank(prompt ?? texts.at(-1));
}

function withoutContext(text: string): string {
  let rest = text.trim();
  const prompts: string[] = [];
  for (;;) {
    const block = leadingBlock(rest);
    if (block === null) break;
    if (PROMPT_TAGS.has(block.tag)) prompts.push(block.inside);
    // Text in other tags may be the whole prompt, or part of it.
    else if (!CONTEXT.has(block.tag) && block.behind !== "" && leadingBlock(block.behind) === null) break;
    rest = block.behind;
  }
  const cut = rest.search(/\s*<(?:system-reminder|environment_details|environment_context)>/);
  return [...prompts, cut < 0 ? rest : rest.slice(0, cut)].join("\n").trim();
}

function leadingBlock(text: string): { readonly tag: string; readonly inside: string; readonly behind: string } | null {
  const [open, tag] = /^<([A-Za-z][\w-]*)>/.exec(text) ?? [];
  if (open === undefined || tag === undefined) return null;
  const end = text.indexOf(`</${tag}>`, open.length);
  return end < 0
    ? null
    : { tag, inside: text.slice(open.length, end).trim(), behind: text.slice(end + tag.length + 3).trim() };
}

/** Shorter prompts occur in many texts by chance. */
const MIN_FRAMED = 8;

/** How a text contains a prompt: entirely, or framed: on its own lines, after a colon, or in tags or quotes. */
export function containment(text: string, prompt: string): "all" | "framed" | null {
  if (text.trim() === prompt) return "all";
  if (prompt.length < MIN_FRAMED) return null;
  for (let at = text.indexOf(prompt); at >= 0; at = text.indexOf(prompt, at + 1)) {
    const [before, behind] = [
      text
        .slice(0, at)
        .replace(/[ \t]+$/, "")
        .at(-1) ?? "\n",
      text.slice(at + prompt.length).replace(/^[ \t]+/, "")[0] ?? "\n",
    ];
    if ('\n:>"'.includes(before) && '\n<"'.includes(behind)) return "framed";
  }
  return null;
}

/** Parameter names of prompts in spawn tools. */
const PROMPTS = ["prompt", "message", "task", "instruction", "instructions", "input", "query"] as const;

const promptParameter = (input: JsonObject): string | null =>
  PROMPTS.map((field) => asNonBlank(input[field])).find((text) => text !== null) ?? null;

/** The prompts of the agents that this call spawns: one, or one per list item. */
export function promptsIn(input: JsonObject): readonly string[] {
  const template = asNonBlank(input.prompt_template);
  if (template !== null)
    return asList(input.items).flatMap((item) =>
      typeof item === "string" ? [template.replaceAll("{{item}}", item)] : [],
    );
  const one = promptParameter(input);
  if (one !== null) return [one];
  const lists = Object.values(input).map((value) =>
    asList(value).flatMap((item) => promptParameter(asObject(item) ?? {}) ?? []),
  );
  return lists.find((list) => list.length > 0) ?? [];
}

const DIRECTORY =
  /(?:working (?:directory|in the directory)|workspace(?: root)?(?: folder| path| directory)|current directory|\bcwd)(?: is)?:[ \t]*/gi;

/** The working directory that a client states in its prompts. */
export function cwdIn(texts: readonly string[]): string | null {
  for (const text of texts) {
    const tagged = /<cwd>([^<\n]+)<\/cwd>/.exec(text)?.[1];
    if (tagged !== undefined) return tagged.trim();
    for (const { index, 0: label } of text.matchAll(DIRECTORY)) {
      const [line = ""] = text.slice(index + label.length, index + label.length + 1_000).split(/[\n<]/, 1);
      const quoted = /^(["'`])(.+?)\1/.exec(line)?.[2];
      const path = (quoted ?? line).trim();
      if (/^(\/|[A-Za-z]:[\\/])/.test(path)) return path;
    }
  }
  return null;
}

/**
 * Recognises internal requests that are not marked as such: they offer no choice of tools, and their system prompt asks
 * for a title, a summary or the like.
 */
export function asideIn({ opening, offered, rest }: RequestRow): "title" | "auxiliary" | null {
  const isForced = offered === 1 && asObject(rest.tool_choice) !== null;
  if (offered > 0 && !isForced) return null;
  const beginning = opening.slice(0, 300);
  if (/\b(title|titles|label|headline)\b/i.test(beginning)) return "title";
  return /^\W*(you are (a|an|tasked with)|generate|create|write|summari[sz]e)\b[^.\n]*\b(summar\w*|summari[sz]\w*|commit message|topic|suggestion\w*|classif\w*)\b/i.test(
    beginning,
  )
    ? "auxiliary"
    : null;
}
