import { Failure } from "../../app/failure.ts";
import { search as find, SOME_TEXT, unsearched } from "../../app/query/search.ts";
import { ago, bytes, plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import { visible } from "../../core/tools/visible.ts";
import type { FoundText } from "../../core/views/found-text.ts";
import type { Context } from "../context.ts";
import { wholeNumber } from "../whole-number.ts";

export interface SearchOptions {
  readonly limit: string;
  readonly wait?: boolean;
}

/** The threads whose files are always read before the search. */
const NEWEST = { limit: 50 } as const;

export async function search(context: Context, words: readonly string[], options: SearchOptions): Promise<void> {
  const limit = wholeNumber("--limit", options.limit, "results");
  if (!words.some((word) => /[\p{L}\p{N}]/u.test(word)))
    throw new Failure("usage", "the query contains no word", [
      "write retinue search <words>; all words must occur, and the last one may be a prefix",
    ]);
  const library = await context.library(options.wait === true ? undefined : NEWEST);
  const found = await find(library, words, limit, options.wait === true ? Number.POSITIVE_INFINITY : SOME_TEXT);
  const left = unsearched(library);
  if (left !== null) {
    const reaches = ago(new Date(left.reachesMs).toISOString(), library.now());
    context.terminal.notify(
      `not searched yet: ${plural(left.files, "file")}, ${bytes(left.bytes)}, last modified ${reaches} or earlier; use --wait to search everything`,
    );
  }
  if (context.json) context.terminal.out(printJson(found, 2));
  if (found.length === 0)
    throw new Failure("not_found", `no match for ${words.join(" ")}`, [
      "tool results are not searched; try fewer words",
    ]);
  if (!context.json)
    context.terminal.out(found.map((f) => render(f, context.terminal.colors, library.now())).join("\n\n"));
}

function render(finding: FoundText, colors: Context["terminal"]["colors"], now: number): string {
  const { snippet, marks } = finding;
  let [text, at] = ["", 0];
  for (const [start, end] of marks) {
    text += visible(snippet.slice(at, start)) + colors.bold(colors.yellow(visible(snippet.slice(start, end))));
    at = end;
  }
  return `${colors.cyan(finding.uri)}  ${colors.dim(`${finding.kind} · ${ago(finding.at, now)}`)}\n  ${text}${visible(snippet.slice(at))}`;
}
