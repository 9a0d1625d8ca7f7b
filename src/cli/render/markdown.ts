import type { explain } from "../../app/query/why.ts";
import { reportedOnly, totalTokens } from "../../core/facts/usage.ts";
import { count, duration, money } from "../../core/tools/format.ts";
import { codeMarkdown, fencedMarkdown, proseMarkdown } from "../../core/tools/markdown.ts";
import type { AgentTree } from "../../core/views/agent.ts";
import type { AgentEvent } from "../../core/views/event.ts";
import { oneLine } from "./printable.ts";
import { clip } from "./table.ts";

const EXCERPT = 10;

/** A whole thread, oldest event first. */
export function threadMarkdown(tree: AgentTree, events: readonly AgentEvent[], full: boolean): string {
  const copied =
    tree.forkedFrom === null
      ? []
      : [`_Begins as a copy of ${lineMarkdown(tree.forkedFrom)}; the copied part is shown there._`, ""];
  const entries = entriesOf(events, full);
  return [
    "# Thread",
    "",
    ...summary(tree),
    "",
    "## Timeline",
    "",
    ...copied,
    entries.join("\n\n") || "_No messages._",
  ].join("\n");
}

/** One agent: what its parent's records state about it, and its own messages. */
export function agentMarkdown(
  tree: AgentTree,
  events: readonly AgentEvent[],
  why: ReturnType<typeof explain>,
  full: boolean,
): string {
  const entries = entriesOf(events, full);
  const shown = full ? entries : entries.slice(-EXCERPT);
  const cut = entries.length - shown.length;
  return [
    "# Subagent Thread",
    "",
    "## Agent Status Summary",
    "",
    ...summary(tree),
    "",
    "## Lifecycle (Parent Thread)",
    "",
    ...lifecycle(tree, why),
    "",
    "## Thread Excerpt (Child Thread)",
    "",
    ...(cut > 0 ? [`_The last ${shown.length} of ${entries.length}; --full shows all._`, ""] : []),
    shown.join("\n\n") || "_No records found._",
  ].join("\n");
}

/** The branch of a thread that ends at one of its entries. */
export function entryMarkdown(entries: number, events: readonly AgentEvent[], full: boolean): string {
  const lines = entriesOf(events, full);
  return [
    "# Thread Entry",
    "",
    `_The branch that ends here: ${entries} entries._`,
    "",
    lines.join("\n\n") || "_No messages._",
  ].join("\n");
}

/** Maximum number of files listed: some products keep every message in its own file. */
const SHOWN_RECORDS = 5;

function summary(tree: AgentTree): string[] {
  const { own, subtree } = tree.usage;
  const reported = reportedOnly(tree.usage);
  const line = (name: string, value: string | null) =>
    value === null || value === "" ? [] : [`- ${name}: ${lineMarkdown(value)}`];
  const used = (u: typeof own) =>
    `${u.calls} calls, ${count(totalTokens(u))} tokens (${u.inputTokens} in, ${u.outputTokens} out, ${u.cacheReadTokens} cache read, ${u.cacheWriteTokens} cache write), ${u.costUsd === null ? "cost unknown" : money(u.costUsd)}`;
  return [
    ...line("Status", `\`${tree.status}\` (\`${tree.statusSource}\`): ${tree.statusReason}`),
    ...line("Activity", tree.activity),
    ...line("Task", tree.description),
    ...line("Name", tree.name),
    ...line("Type", tree.type),
    ...line("Model", tree.model.join(", ")),
    ...line("Parent", tree.parent),
    ...(tree.link === null
      ? []
      : tree.link.evidence.map((e, i) => `- ${i === 0 ? "Evidence" : "Also"}: ${lineMarkdown(e)}`)),
    ...line("Began", tree.startedAt),
    ...line("Took", tree.durationMs === null ? null : duration(tree.durationMs)),
    ...line("Own", used(own)),
    ...line("Reported by the product, not in the sums", reported === null ? null : `${count(reported)} tokens`),
    ...(tree.counts.descendants > 0 ? line(`With ${tree.counts.descendants} agents below`, used(subtree)) : []),
    ...(tree.agentId === null ? [] : line("Result", tree.result === null ? null : clip(oneLine(tree.result), 200))),
    ...tree.warnings.map((w) => `- Warning: ${lineMarkdown(w)}`),
    ...tree.records.slice(0, SHOWN_RECORDS).map((r) => `- Transcript: ${codeMarkdown(r.path)}`),
    ...(tree.records.length > SHOWN_RECORDS ? [`- and ${tree.records.length - SHOWN_RECORDS} more files`] : []),
  ];
}

const lineMarkdown = (text: string) => proseMarkdown(oneLine(text));

function lifecycle(tree: AgentTree, why: ReturnType<typeof explain>): string[] {
  const spawned =
    tree.link?.toolCallId == null
      ? []
      : [`- \`${tree.startedAt ?? "no time"}\` spawned by call ${codeMarkdown(tree.link.toolCallId)}`];
  const lines = why.statusEvidence
    .filter((e) => e.source !== "child_rollout")
    .map((e) => `- \`${e.at ?? "no time"}\` ${lineMarkdown(e.says)}`);
  const all = [...spawned, ...lines];
  return all.length > 0 ? all : ["_The parent's records do not mention it._"];
}

const TITLES: Readonly<Partial<Record<AgentEvent["kind"], string>>> = {
  user: "User",
  assistant: "Assistant",
  reasoning: "Reasoning",
  toolCall: "Tool",
  toolResult: "Tool Result",
  spawn: "Spawned",
  compaction: "Compaction",
  error: "Error",
  note: "Note",
};
/** Shown only with --full. */
const DETAILS: ReadonlySet<AgentEvent["kind"]> = new Set(["reasoning", "note", "status"]);

function entriesOf(events: readonly AgentEvent[], full: boolean): string[] {
  const shown = events.filter(
    (e) =>
      e.kind !== "status" && (full || (!DETAILS.has(e.kind) && (e.kind !== "toolResult" || e.tool?.isError === true))),
  );
  return shown.map(
    (event, i) =>
      `### ${i + 1}. ${TITLES[event.kind] ?? event.kind}${event.at === null ? "" : ` · ${event.at}`}\n\n${bodyOf(event, full)}`,
  );
}

function bodyOf(event: AgentEvent, full: boolean): string {
  const cut = (text: string) => (full ? text : clip(oneLine(text), 400));
  switch (event.kind) {
    case "toolCall":
      return `${codeMarkdown(event.tool?.name ?? "tool")} ${codeMarkdown(cut(JSON.stringify(event.tool?.input ?? null)))}`;
    case "toolResult":
      return `${event.tool?.isError ? "**failed** " : ""}${lineMarkdown(event.tool?.name ?? "")}\n\n${fencedMarkdown(cut(event.text ?? ""))}`;
    case "spawn":
      return `${lineMarkdown(event.spawn?.uri ?? "")}${event.text === null ? "" : `: ${lineMarkdown(event.text)}`}`;
    default:
      if (event.summary === null) return proseMarkdown(event.text ?? "");
      return full
        ? `${proseMarkdown(event.summary)}\n\n${fencedMarkdown(event.text ?? "")}`
        : proseMarkdown(event.summary);
  }
}
