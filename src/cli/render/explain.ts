import { totalTokens, type Usage } from "../../core/facts/usage.ts";
import { count, duration, money, moneyKnown, percent, plural } from "../../core/tools/format.ts";
import type { AgentRecord } from "../../core/views/agent.ts";
import type { EventRef } from "../../core/views/event.ts";
import type { Explanation } from "../../core/views/explain.ts";
import { shareOf } from "../../core/views/explain-share.ts";
import { type LostLine, SUMMED, type Summary } from "../../core/views/explain-summary.ts";
import { FINDING_LABELS, type Finding, type FindingKind } from "../../core/views/findings/finding.ts";
import type { Terminal } from "../terminal.ts";
import { oneLine } from "./printable.ts";
import { table } from "./table.ts";
import { labelOf } from "./tree.ts";

type Look = Pick<Terminal, "colors" | "width">;
type Records = ReadonlyMap<string, AgentRecord>;

const MARKS: Readonly<Partial<Record<FindingKind, string>>> = {
  failed: "✖",
  refused: "✖",
  interrupted: "■",
  missing: "?",
  repeated: "=",
  contended: "=",
  looped: "↻",
};

/** Pieces of evidence shown for one finding. */
const SHOWN = 3;
/** Findings of one kind and lines of a table that are shown without `--all`. */
const MOST = 20;

export function renderExplanation(found: Explanation, records: Records, all: boolean, look: Look): string {
  const { findings, agents, lost } = found;
  const clean = `${found.uri}: nothing to report; ${plural(agents, "agent")}, ${spent(found.cost.total)}`;
  if (findings.length === 0 && !all) return clean;
  const head =
    findings.length === 0
      ? clean
      : `${look.colors.bold(found.uri)}\n${plural(findings.length, "finding")} · ${plural(agents, "agent")} · ${spent(found.cost.total)}${lost.calls === 0 ? "" : ` · spent without a result: ${spent(lost)}`}`;
  return [
    head,
    ...[...Map.groupBy(findings, ({ kind }) => kind)].flatMap(([kind, list]) => {
      const shown = all ? list : list.slice(0, MOST);
      const rest = moreOf(list.length - shown.length, `: ${FINDING_LABELS[kind]}`, look);
      return [...shown.map((finding) => renderFinding(finding, look)), ...rest];
    }),
    timeOf(found, records, all, look),
    costOf(found, records, all, look),
  ].join("\n\n");
}

const moreOf = (count: number, what: string, { colors }: Look) =>
  count > 0 ? [colors.dim(`and ${count} more${what} (--all prints them)`)] : [];

const spent = (usage: Usage) => `${count(totalTokens(usage))} tokens, ${money(usage.costUsd)}`;

function renderFinding({ kind, says, evidence, agents }: Finding, { colors }: Look): string {
  const paint = kind === "failed" || kind === "refused" ? colors.red : colors.yellow;
  const more = evidence.length - SHOWN;
  return [
    `${paint(`${MARKS[kind] ?? "!"} ${FINDING_LABELS[kind]}`)}  ${oneLine(says)}`,
    ...evidence.slice(0, SHOWN).flatMap(({ says: words, uri, ref, at }) => {
      const place = [uri === agents[0] ? null : uri, at, placeOf(ref)].filter((part) => part !== null);
      return [`    ${oneLine(words)}`, ...(place.length === 0 ? [] : [colors.dim(`    ${place.join(" · ")}`)])];
    }),
    ...(more > 0 ? [colors.dim(`    and ${more} more`)] : []),
    colors.dim(`    ${agents.slice(0, SHOWN).join(", ")}${agents.length > SHOWN ? ", …" : ""}`),
  ].join("\n");
}

const placeOf = (ref: EventRef | null) =>
  ref === null ? null : "line" in ref ? `${ref.path}${ref.line === 0 ? "" : `:${ref.line}`}` : `${ref.path}:${ref.row}`;

function timeOf({ time }: Explanation, records: Records, all: boolean, look: Look): string {
  const rows = time.path
    .slice(0, all ? undefined : MOST)
    .map(({ uri, ms, share, waitedMs }) => [
      { text: nameIn(records, uri) },
      { text: duration(ms) },
      { text: percent(share) },
      { text: duration(waitedMs) },
    ]);
  const columns = [
    { title: "CRITICAL PATH", flex: true as const },
    { title: "AT MOST SAVED", align: "right" as const },
    { title: "SHARE", align: "right" as const },
    { title: "WAITED FOR AGENTS", align: "right" as const, drop: 1 },
  ];
  const more = moreOf(time.path.length - rows.length, "", look);
  const lines = table(columns, rows, look.width, look.colors.dim);
  return [...lines, ...more, `${duration(time.criticalMs)} in total`].join("\n");
}

function costOf({ cost }: Explanation, records: Records, all: boolean, look: Look): string {
  const rows = cost.branches
    .slice(0, all ? undefined : MOST)
    .map(({ uri, isOwn, usage }) => [
      { text: isOwn ? `${nameIn(records, uri)} (itself)` : nameIn(records, uri) },
      { text: count(totalTokens(usage)) },
      { text: money(usage.costUsd) },
      { text: percent(shareOf(usage, cost.total)) },
    ]);
  const columns = [
    { title: "COST BY BRANCH", flex: true as const },
    { title: "TOKENS", align: "right" as const },
    { title: "COST", align: "right" as const },
    { title: "SHARE", align: "right" as const },
  ];
  const more = moreOf(cost.branches.length - rows.length, "", look);
  return [...table(columns, rows, look.width, look.colors.dim), ...more, `${spent(cost.total)} in total`].join("\n");
}

function nameIn(records: Records, uri: string): string {
  const record = records.get(uri);
  return record === undefined ? uri : labelOf(record);
}

/** Lines of each table. */
const LINES = 10;

export function renderSummary(summary: Summary, since: string, look: Look): string {
  const { agents, failed, interrupted, threads, lost, knownLostUsd } = summary;
  if (failed + interrupted === 0)
    return `nothing to report since ${since}: ${plural(agents, "agent")}, none failed or was interrupted`;
  const head = `since ${since}: ${failed} of ${plural(agents, "agent")} failed, ${interrupted} were interrupted, in ${plural(threads.length, "thread")}; spent without a result: ${count(totalTokens(lost))} tokens, ${moneyKnown(lost.costUsd, knownLostUsd)}`;
  return [head, ...SUMMED.map((by) => linesOf(by, summary.by[by], look))].join("\n\n");
}

function linesOf(by: string, lines: readonly LostLine[], { colors, width }: Look): string {
  const rows = lines
    .slice(0, LINES)
    .map((line) => [
      { text: line.key ?? "unknown" },
      { text: String(line.agents) },
      { text: String(line.failed) },
      { text: String(line.interrupted) },
      { text: count(totalTokens(line.lost)) },
      { text: moneyKnown(line.lost.costUsd, line.knownLostUsd) },
      { text: line.threads.map(({ uri }) => uri).join(" ") },
    ]);
  const columns = [
    { title: `LOST BY ${by.toUpperCase()}` },
    { title: "AGENTS", align: "right" as const, drop: 2 },
    { title: "FAILED", align: "right" as const },
    { title: "INTERRUPTED", align: "right" as const },
    { title: "TOKENS", align: "right" as const, drop: 1 },
    { title: "COST", align: "right" as const },
    { title: "THREADS", flex: true as const },
  ];
  return table(columns, rows, width, colors.dim).join("\n");
}
