import { Failure } from "../../app/failure.ts";
import { type Finding, search as find } from "../../app/search.ts";
import { ago } from "../../core/format.ts";
import { printJson } from "../../core/json.ts";
import { visible } from "../../core/visible.ts";
import type { Context } from "../context.ts";
import { wholeNumber } from "../whole-number.ts";

export async function search(context: Context, words: readonly string[], options: { readonly limit: string }): Promise<void> {
  const limit = wholeNumber("--limit", options.limit, "results");
  if (!words.some((word) => /[\p{L}\p{N}]/u.test(word)))
    throw new Failure("usage", "there is no word in this search", ["write retinue search <words>; all of them must occur, the last may be unfinished"]);
  const library = await context.library();
  const found = await find(library, words, limit);
  if (context.json) context.terminal.out(printJson(found, 2));
  if (found.length === 0) throw new Failure("not_found", `nobody said ${words.join(" ")}`, ["what tools answered is not searched; fewer words find more"]);
  if (!context.json) context.terminal.out(found.map((f) => render(f, context.terminal.colors, library.now())).join("\n\n"));
}

function render(finding: Finding, colors: Context["terminal"]["colors"], now: number): string {
  const { snippet, marks } = finding;
  let [text, at] = ["", 0];
  for (const [start, end] of marks) {
    text += visible(snippet.slice(at, start)) + colors.bold(colors.yellow(visible(snippet.slice(start, end))));
    at = end;
  }
  return `${colors.cyan(finding.uri)}  ${colors.dim(`${finding.kind} · ${ago(finding.at, now)}`)}\n  ${text}${visible(snippet.slice(at))}`;
}
