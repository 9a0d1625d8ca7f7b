import { displayName } from "../../core/facts/display-name.ts";
import { totalTokens } from "../../core/facts/usage.ts";
import { clock, count, duration, money } from "../../core/tools/format.ts";
import { jsonText } from "../../core/tools/json.ts";
import { codeMarkdown, fencedMarkdown, proseMarkdown } from "../../core/tools/markdown.ts";
import { visible } from "../../core/tools/visible.ts";
import { type Step, type Story, withDepths } from "../../core/views/story.ts";

const DEEPEST_HEADING = 6;
/** Maximum indentation; unlimited indentation would make the size quadratic. Deeper items state their depth. */
const DEEPEST_ITEM = 20;

/**
 * A subtree as one document: the tree, then the events of each agent. Texts are quoted, so that they cannot break the
 * document.
 */
export function markdownDocument(story: Story): string {
  const all = [...withDepths(story)];
  const lines = [`# ${plain(displayName(story.record))}`, "", ...all.map(item), "", ...all.flatMap(section)];
  return `${lines.join("\n").trimEnd()}\n`;
}

interface Placed {
  readonly one: Story;
  readonly depth: number;
}

function item({ one: { record }, depth }: Placed): string {
  const { subtree } = record.usage;
  const facts = [
    `\`${record.status}\``,
    duration(record.durationMs),
    `${count(totalTokens(subtree))} tokens`,
    money(subtree.costUsd),
  ].join(", ");
  const level = depth > DEEPEST_ITEM ? `level ${depth}: ` : "";
  return `${"  ".repeat(Math.min(depth, DEEPEST_ITEM))}- ${level}${plain(displayName(record))} (${facts})`;
}

function section({ one: story, depth }: Placed): string[] {
  const { record, steps } = story;
  const heading = "#".repeat(Math.min(depth + 2, DEEPEST_HEADING));
  const entries = steps.flatMap(entryOf);
  return [
    `${heading} ${plain(displayName(record))}`,
    "",
    ...facts(story),
    "",
    ...(entries.length === 0 ? ["_No records found._", ""] : entries),
  ];
}

function facts({ record }: Story): string[] {
  const { own, subtree } = record.usage;
  const line = (name: string, value: string | null) => (value === null || value === "" ? [] : [`- ${name}: ${value}`]);
  const usage = (of: typeof own) => `${of.calls} calls, ${count(totalTokens(of))} tokens, ${money(of.costUsd)}`;
  return [
    ...line("URI", codeMarkdown(record.uri)),
    ...line("Parent", record.parent === null ? null : codeMarkdown(record.parent)),
    ...line("Status", `\`${record.status}\`${record.statusReason === "" ? "" : `: ${plain(record.statusReason)}`}`),
    ...line("Type", record.type === null ? null : plain(record.type)),
    ...line("Model", plain(record.model.join(", "))),
    ...line("Time", record.startedAt === null ? null : `${record.startedAt}, ${duration(record.durationMs)}`),
    ...line("Usage", usage(own)),
    ...line("Subtree", record.counts.descendants === 0 ? null : usage(subtree)),
    ...record.warnings.flatMap((warning) => line("Warning", plain(warning))),
  ];
}

function entryOf({ event: { kind, text, summary, tool, at } }: Step): string[] {
  const when = at === null ? "" : ` · ${clock(at, "UTC")} UTC`;
  switch (kind) {
    case "user":
    case "assistant":
    case "reasoning":
    case "compaction":
    case "error":
      return [`**${kind}**${when}`, "", ...quote(summary ?? text), ""];
    case "toolCall":
      return [
        `**${plain(tool?.name ?? "tool")}**${when}`,
        "",
        ...fence(tool?.input == null ? null : jsonText(tool.input), "json"),
      ];
    case "toolResult":
      return [
        `**${tool?.isError === true ? "error" : "result"} of ${plain(tool?.name ?? "tool")}**${when}`,
        "",
        ...fence(text, "text"),
      ];
    case "note":
    case "spawn":
    case "status":
      return [];
    default:
      return kind satisfies never;
  }
}

/** On one line, with Markdown syntax escaped. */
const plain = (text: string) =>
  visible(text)
    .replace(/\s+/g, " ")
    .replace(/[\\`*_{}[\]<>|#!~]/g, "\\$&");

/** Lists and emphasis in a response are kept; headings are escaped. */
function quote(text: string | null): string[] {
  if (text === null) return ["_(left out)_"];
  return proseMarkdown(text)
    .split("\n")
    .map((line) => `> ${line.replace(/^(\s*)#/, "$1\\#")}`);
}

const fence = (text: string | null, language: string): string[] =>
  text === null ? [] : [fencedMarkdown(text, language), ""];
