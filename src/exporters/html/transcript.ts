import { displayName } from "../../core/facts/display-name.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { clock, count, money } from "../../core/tools/format.ts";
import { jsonText } from "../../core/tools/json.ts";
import { everyone, type Step, type Story } from "../../core/views/story.ts";
import { escaped } from "./escape.ts";
import { type Anchor, typeHtml } from "./tree.ts";

/** Longer texts are folded. */
const LONG = 1_500;

/** The events of each agent, collapsed. */
export function transcriptsHtml(story: Story, anchor: Anchor): string {
  return [...everyone(story)].map((one, i) => agentHtml(one, anchor, i === 0)).join("\n");
}

function agentHtml(story: Story, anchor: Anchor, isOpen: boolean): string {
  const { record, steps } = story;
  const { own } = record.usage;
  const used = `${own.calls} calls, ${count(totalTokens(own))} tokens, ${money(own.costUsd)}`;
  const about = [record.model.join(", "), used, record.uri]
    .filter((part) => part !== "")
    .map((part) => `<span>${escaped(part)}</span>`);
  const results = new Map(
    steps.flatMap((step) =>
      step.event.kind === "toolResult" && step.event.tool !== null ? [[step.event.tool.callId, step] as const] : [],
    ),
  );
  const body = steps.map((step) => stepHtml(step, results)).join("");
  const warnings = record.warnings.map((warning) => `<p class="dim">${escaped(warning)}</p>`).join("");
  return [
    `<details class="agent" id="${anchor(story)}"${isOpen ? " open" : ""}>`,
    `<summary><b>${escaped(displayName(record))}</b>${typeHtml(record)} <span class="status ${record.status}">${record.status}</span></summary>`,
    `<div id="${anchor(story)}-log"><p class="facts">${about.join("")}</p>`,
    `<p class="dim">${escaped(record.statusReason)}</p>${warnings}`,
    body === "" ? '<p class="none">No records found.</p>' : body,
    "</div></details>",
  ].join("");
}

function stepHtml({ event }: Step, results: ReadonlyMap<string, Step>): string {
  const { kind, tool, at } = event;
  const when = at === null ? "" : ` · ${clock(at, "UTC")} UTC`;
  const entry = (name: string, by: string, body: string) =>
    `<div class="step ${name}"><div class="by">${escaped(by)}${when}</div>${body}</div>`;
  switch (kind) {
    case "user":
    case "assistant":
    case "reasoning":
    case "compaction":
    case "error":
      return entry(kind, kind, messageHtml(event));
    case "toolCall": {
      const result = tool === null ? undefined : results.get(tool.callId)?.event;
      const input = tool?.input == null ? null : jsonText(tool.input);
      const response =
        result === undefined
          ? '<p class="none">no result was recorded</p>'
          : `<div class="by">${result.tool?.isError === true ? "error" : "result"}</div>${textHtml(result.text, "")}`;
      return entry(
        result?.tool?.isError === true ? "toolCall failed" : kind,
        tool?.name ?? "tool",
        `${textHtml(input, "")}${response}`,
      );
    }
    case "toolResult":
    case "note":
    case "spawn":
    case "status":
      return "";
    default:
      return kind satisfies never;
  }
}

/** Markup as a readable sentence, with the original below. */
function messageHtml({ text, summary }: Step["event"]): string {
  if (summary === null) return textHtml(text, "message");
  return `${textHtml(summary, "message")}<details class="long"><summary>raw</summary>${textHtml(text, "")}</details>`;
}

function textHtml(text: string | null, name: string): string {
  if (text === null) return '<p class="none">left out</p>';
  const pre = (content: string) => `<pre${name === "" ? "" : ` class="${name}"`}>${escaped(content)}</pre>`;
  if (text.length <= LONG) return pre(text);
  return `${pre(`${text.slice(0, LONG)}…`)}<details class="long"><summary>all ${text.length} characters</summary>${pre(text)}</details>`;
}
