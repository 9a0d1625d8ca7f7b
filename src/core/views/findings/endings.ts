import type { StepCore } from "../story.ts";
import { type Finding, lineOf, nameOf, type Proof, proofOf, proofOfAgent, type Subject } from "./finding.ts";

const KINDS = { errored: "failed", shutdown: "interrupted", notFound: "missing" } as const;
const VERBS = { errored: "failed", shutdown: "ended before it was finished", notFound: "left no records" } as const;

/** Agents that failed, were interrupted or left no records, with the deciding record. */
export function endings({ story, parent, stated }: Subject): Finding[] {
  const { record, steps } = story;
  const { status } = record;
  if (status !== "errored" && status !== "shutdown" && status !== "notFound") return [];
  const says = `${nameOf(record)} ${VERBS[status]}: ${lineOf(record.statusReason)}`;
  const evidence = decidingRecords(record.uri, steps, parent?.steps ?? [], stated);
  return [
    {
      kind: KINDS[status],
      agents: [record.uri],
      says,
      evidence: evidence.length > 0 ? evidence : [proofOfAgent(record, lineOf(record.statusReason))],
      durationMs: record.durationMs,
    },
  ];
}

/** The last error in its own records, the report to its parent, another statement, or else its last record. */
function decidingRecords(
  uri: string,
  own: readonly StepCore[],
  above: readonly StepCore[],
  stated: Subject["stated"],
): Proof[] {
  const isRecord = ({ event }: StepCore) => event.kind !== "status" && event.kind !== "spawn";
  const error = own.findLast(({ event }) => event.kind === "error");
  const report = above.findLast((step) => isRecord(step) && step.reports.includes(uri));
  const found = [error, report].filter((step) => step !== undefined);
  if (found.length === 0 && stated !== null)
    return [{ says: lineOf(stated.says), uri, event: null, ref: { path: stated.place, line: 0 }, at: null }];
  const last = own.findLast(isRecord);
  const shown = found.length > 0 || last === undefined ? found : [last];
  return shown.map((step) => proofOf(step, lineOf(step.event.text ?? step.event.tool?.name ?? step.event.kind)));
}
