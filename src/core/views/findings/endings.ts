import type { StepCore } from "../story.ts";
import {
  evidenceOf,
  evidenceOfAgent,
  type Finding,
  type FindingEvidence,
  findingOf,
  lineOf,
  nameOf,
  type Subject,
} from "./finding.ts";

const KINDS = { errored: "failed", shutdown: "interrupted", notFound: "missing" } as const;
const VERBS = { errored: "failed", shutdown: "ended before it was finished", notFound: "left no records" } as const;

/** Agents that failed, were interrupted or left no records, with the deciding record. */
export function endings({ story, parent, stated }: Subject): Finding[] {
  const { record, steps } = story;
  const { status } = record;
  if (status !== "errored" && status !== "shutdown" && status !== "notFound") return [];
  // A copy of a session that was not continued has nothing of its own; agents without a thread have none to miss.
  if (status === "notFound" && (record.forkedFrom !== null || record.kind === "unassigned")) return [];
  const reason = lineOf(record.statusReason).replace(/^it failed: /, "");
  const says = `${nameOf(record)} ${VERBS[status]}: ${reason}`;
  const evidence = decidingRecords(record.uri, steps, parent?.steps ?? [], stated);
  const found = evidence.length > 0 ? evidence : [evidenceOfAgent(record, lineOf(record.statusReason))];
  return [findingOf(KINDS[status], record, says, found, record.durationMs)];
}

/** The last error in its own records, the report to its parent, another statement, or else its last record. */
function decidingRecords(
  uri: string,
  own: readonly StepCore[],
  above: readonly StepCore[],
  stated: Subject["stated"],
): FindingEvidence[] {
  const isRecord = ({ event }: StepCore) => event.kind !== "status" && event.kind !== "spawn";
  const error = own.findLast(({ event }) => event.kind === "error");
  const report = above.findLast((step) => isRecord(step) && step.reports.includes(uri));
  const found = [error, report].filter((step) => step !== undefined);
  if (found.length === 0 && stated !== null)
    return [{ says: lineOf(stated.says), uri, event: null, ref: { path: stated.place, line: 0 }, at: null }];
  if (found.length > 0) return found.map((step) => evidenceOf(step, lineOf(step.event.text ?? step.event.kind)));
  const last = own.findLast(isRecord);
  return last === undefined ? [] : [evidenceOf(last, `its last record: ${contentOf(last)}`)];
}

function contentOf({ event: { kind, text, tool } }: StepCore): string {
  const name = tool?.name ?? "a tool";
  if (kind === "toolCall") return `a call of ${name}`;
  return kind === "toolResult" ? `the result of ${name}` : lineOf(text ?? kind);
}
