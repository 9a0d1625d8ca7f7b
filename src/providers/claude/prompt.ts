import { between, inside } from "./tags.ts";

/** Extracts prompts from the text that Claude Code wraps around them. */

/** Commands that run inside the CLI without calling the model. */
const LOCAL = /^\s*<(local-command-\w+|bash-(input|stdout|stderr)|user-memory-input)[ >]/;
const COMMAND = /<command-name>\s*(\/?[^<\s]+)\s*<\/command-name>/;
const BUILT_IN = new Set(
  "add-dir agents bashes bug clear compact config context cost doctor effort exit export fast feedback help hooks ide login logout mcp memory mode model permissions plugin quit release-notes rename resume rewind skills stats status statusline tasks terminal-setup theme todos upgrade usage vim".split(
    " ",
  ),
);

export type UserText =
  | { readonly is: "prompt"; readonly text: string }
  /** Part of the transcript, but not sent to the model. */
  | { readonly is: "local" }
  | { readonly is: "interrupt" };

export function readUserText(text: string): UserText {
  if (text.startsWith("[Request interrupted by user")) return { is: "interrupt" };
  if (LOCAL.test(text)) return { is: "local" };
  const command = COMMAND.exec(text)?.[1];
  if (command !== undefined && text.trimStart().startsWith("<command-")) {
    const name = command.replace(/^\//, "");
    if (BUILT_IN.has(name)) return { is: "local" };
    const args = between(text, "<command-args>", "</command-args>")?.trim() ?? "";
    return { is: "prompt", text: `/${name} ${args}`.trim() };
  }
  return { is: "prompt", text: unframe(text) };
}

/** The whole prompt of internal agents that fill the prompt cache. */
export const isWarmUp = (prompt: UserText) => prompt.is === "prompt" && prompt.text.trim() === "Warmup";

/** Context that editors and the CLI put before the prompt. */
const CONTEXT = /^\s*<(system-reminder|ide_selection|ide_opened_file|ide_diagnostics)>[\s\S]*?<\/\1>/;

function unframe(framed: string): string {
  let text = framed;
  for (let rest = text.replace(CONTEXT, ""); rest !== text; rest = text.replace(CONTEXT, "")) text = rest;
  if (text.trim() === "") return framed;
  const mate = inside(text, /^<teammate-message\b[^>]*>/, "</teammate-message>");
  if (mate !== null) return mate;
  if (text.startsWith("[Workflow harness")) {
    const start = text.indexOf("\n");
    // The harness indents every line of the task by two spaces.
    if (start >= 0) return text.slice(start + 1).replace(/^ {2}/gm, "");
  }
  return text;
}
