import { duration } from "../../tools/format.ts";
import { evidenceOf, evidenceOfAgent, type Finding, findingOf, nameOf, type Subject } from "./finding.ts";

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
  const evidence = last === undefined ? evidenceOfAgent(record, says) : evidenceOf(last, says);
  const silent = `${nameOf(record)} is running and has written nothing for ${duration(ms)}`;
  return [findingOf("silent", record, silent, [evidence], ms)];
}
