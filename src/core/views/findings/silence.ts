import { duration } from "../../tools/format.ts";
import { evidenceOf, evidenceOfAgent, type Finding, nameOf, type Subject } from "./finding.ts";

const LEAST_MS = 5 * 60_000;

/** Running agents that have written nothing for a long time, and do not wait for agents that do. */
export function silence({ story }: Subject, now: number): Finding[] {
  const { record, steps, children } = story;
  if (record.status !== "running" || record.lastActivityAt === null) return [];
  if (children.some((child) => child.record.status === "running")) return [];
  const ms = now - Date.parse(record.lastActivityAt);
  if (ms < LEAST_MS) return [];
  const last = steps.findLast(({ event }) => event.kind !== "status" && event.kind !== "spawn");
  const says = record.activity ?? "its last record";
  return [
    {
      kind: "silent",
      agents: [record.uri],
      says: `${nameOf(record)} is running and has written nothing for ${duration(ms)}`,
      evidence: [last === undefined ? evidenceOfAgent(record, says) : evidenceOf(last, says)],
      durationMs: ms,
    },
  ];
}
