import { duration } from "../../tools/format.ts";
import type { StoryCore } from "../story.ts";
import { evidenceOf, evidenceOfAgent, type Finding, findingOf, lineOf, nameOf, type Subject } from "./finding.ts";

/** Clocks of parent and child are those of one machine, but records are written with a delay. */
const SLACK_MS = 2_000;

/** Results that no later request of the parent can contain, because the parent made none after the agent had ended. */
export function unused({ story, parent }: Subject): Finding[] {
  const { record, steps } = story;
  if (parent === null || record.status !== "completed" || record.endedAt === null) return [];
  // It may still make a request, or its last one failed.
  if (parent.record.status !== "completed" && parent.record.status !== "shutdown") return [];
  const last = lastRequest(parent);
  const ended = Date.parse(record.endedAt);
  if (last === null || last > ended - SLACK_MS || hasResponded(parent, record.uri)) return [];
  const answer = steps.findLast(({ event }) => event.kind === "assistant");
  const lastResponse = parent.steps.findLast(({ event }) => event.kind === "assistant");
  const says = `the result of ${nameOf(record)} was not used: its parent made its last request ${duration(ended - last)} before`;
  const evidence = [
    answer === undefined
      ? evidenceOfAgent(record, "the agent ended")
      : evidenceOf(answer, `its result: ${lineOf(answer.event.text)}`),
    ...(lastResponse === undefined
      ? []
      : [evidenceOf(lastResponse, `the last response of its parent: ${lineOf(lastResponse.event.text)}`)]),
  ];
  return [findingOf("unused", record, says, evidence, record.durationMs)];
}

/** Whether the parent responded after a record that contains the result, whatever the times of its records are. */
function hasResponded({ steps }: StoryCore, uri: string): boolean {
  const reported = steps.findIndex(({ event, reports }) => event.kind !== "status" && reports.includes(uri));
  return (
    reported >= 0 &&
    steps.slice(reported + 1).some(({ event }) => event.kind === "assistant" || event.kind === "toolCall")
  );
}

/** When the parent's last request was sent; null if that is not known of all requests. */
function lastRequest({ calls }: StoryCore): number | null {
  const times = calls.filter(({ isInternal }) => !isInternal).map(({ time, at }) => time?.from ?? at);
  return times.length === 0 || times.includes(null) ? null : Math.max(...times.filter((time) => time !== null));
}
