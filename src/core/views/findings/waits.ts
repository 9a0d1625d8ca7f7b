import { duration } from "../../tools/format.ts";
import { AGENTS } from "../span.ts";
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
  stepOfCall,
} from "./finding.ts";

/** Shorter waits are not reported. */
const LEAST_MS = 1_000;

/** Agents that waited for a person, or for an API that refused their requests. Waiting for agents is not a finding. */
export function waits(subject: Subject, now: number): Finding[] {
  const { story, spans } = subject;
  const { record, steps } = story;
  const held = spans.filter(({ kind, name }) => kind === "wait" && name !== AGENTS);
  const byName = Map.groupBy(held, ({ name }) => name ?? "an answer");
  const forPersons = [...byName].flatMap(([name, list]) => {
    const ms = list.reduce((sum, { from, to }) => sum + Math.max(0, (to ?? now) - from), 0);
    const evidence = list.map(({ callId, from }): FindingEvidence => {
      const call = stepOfCall(steps, callId, "toolCall");
      return call === undefined
        ? { ...evidenceOfAgent(record, name), at: new Date(from).toISOString() }
        : evidenceOf(call, `waited for ${name}: ${call.event.tool?.name ?? "a tool"}`);
    });
    return ms < LEAST_MS ? [] : [finding(subject, name, ms, evidence)];
  });
  const { ms, errors } = retriesIn(steps);
  const evidence = errors.map((step) => evidenceOf(step, lineOf(step.event.text)));
  return [
    ...forPersons,
    ...(ms < LEAST_MS ? [] : [finding(subject, "an API that refused its requests", ms, evidence)]),
  ];
}

const finding = ({ story: { record } }: Subject, what: string, ms: number, evidence: Finding["evidence"]): Finding =>
  findingOf("waited", record, `${nameOf(record)} waited ${duration(ms)} for ${what}`, evidence, ms);

const LIMITED = /rate.?limit|\b429\b|\b529\b|overloaded|too many requests|\bretry(?:ing)?\b/i;

/** Errors of an API after which the agent went on, and the time from the first one of each series until then. */
function retriesIn(steps: readonly StepCore[]): { readonly ms: number; readonly errors: readonly StepCore[] } {
  const errors: StepCore[] = [];
  let ms = 0;
  let series: StepCore[] = [];
  const timeOf = (step: StepCore | undefined) => (step?.event.at == null ? Number.NaN : Date.parse(step.event.at));
  const end = (last: StepCore | undefined) => {
    const waited = timeOf(last) - timeOf(series[0]);
    if (waited > 0) {
      ms += waited;
      errors.push(...series);
    }
    series = [];
  };
  for (const step of steps) {
    const { kind, text } = step.event;
    if (kind === "error" && LIMITED.test(text ?? "")) series.push(step);
    else if (kind === "assistant" || kind === "toolCall") end(step);
    // After the last error it waited for a person.
    else if (kind === "user") end(series.at(-1));
  }
  return { ms, errors };
}
