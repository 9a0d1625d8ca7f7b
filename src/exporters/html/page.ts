import { createHash } from "node:crypto";
import { displayName } from "../../core/facts/display-name.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { count, duration, money } from "../../core/tools/format.ts";
import type { Story } from "../../core/views/story.ts";
import { tracesOf } from "../trace/spans.ts";
import { escaped } from "./escape.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";
import { transcriptsHtml } from "./transcript.ts";
import { anchors, treeHtml } from "./tree.ts";

const sha256 = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
/** The page loads and sends nothing. Only its own script and style are allowed, by their hashes. */
const POLICY = `default-src 'none'; script-src ${sha256(SCRIPT)}; style-src ${sha256(STYLE)}; base-uri 'none'; form-action 'none'`;

/** One self-contained file: tree, waterfall, transcripts. Readable without its script. */
export function htmlPage(story: Story): string {
  const { record, product } = story;
  const { subtree } = record.usage;
  const spans = tracesOf(story).flatMap((trace) => trace.spans);
  const anchor = anchors(story);
  const fact = (name: string, value: string) => `<li>${name} <b>${escaped(value)}</b></li>`;
  const title = displayName(record);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
<div class="dim">${escaped(record.uri)}</div>
<ul class="facts">
${[
  fact("status", record.status),
  fact("agents", String(record.counts.descendants + 1)),
  fact("calls", String(subtree.calls)),
  fact("tokens", count(totalTokens(subtree))),
  fact("cost", money(subtree.costUsd)),
  fact("time", duration(record.durationMs)),
  fact("started", record.startedAt ?? "unknown"),
  fact("product", [product, record.productVersion ?? ""].join(" ").trim()),
].join("\n")}
</ul>
</header>
<main>
<h2>Agents</h2>
${treeHtml(story, spans, anchor)}
<h2>Transcripts</h2>
<div class="find" id="find" hidden><input id="words" type="search" placeholder="Find agents by their text or tool calls ( / )" aria-label="Find"><span id="found" class="dim" role="status"></span><button id="all" type="button">Open all</button></div>
${transcriptsHtml(story, anchor)}
</main>
<footer>Made by retinue. Recognised secrets were removed; review the file before you share it.</footer>
<script>${SCRIPT}</script>
</body>
</html>
`;
}
