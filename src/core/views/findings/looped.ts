import { printJson } from "../../tools/json.ts";
import { changeOf } from "../file-change.ts";
import type { StepCore } from "../story.ts";
import { evidenceOf, type Finding, findingOf, lineOf, nameOf, type Subject } from "./finding.ts";

/** From this number on, repetition is reported. */
const TIMES = 3;

/** The same call with the same arguments and result, or the same error, several times. */
export function looped({ story: { record, steps }, spans }: Subject): Finding[] {
  // Waiting for agents is repeated until they end.
  const waited = new Set(spans.flatMap(({ kind, callId }) => (kind === "wait" && callId !== null ? [callId] : [])));
  const results = new Map(
    steps.flatMap((step) =>
      step.event.kind === "toolResult" && step.event.tool !== null ? [[step.event.tool.callId, step] as const] : [],
    ),
  );
  const calls = steps.filter(
    ({ event: { kind, tool } }) =>
      kind === "toolCall" && tool !== null && results.has(tool.callId) && !waited.has(tool.callId),
  );
  const changes = changesBefore(steps);
  const same = Map.groupBy(calls, (step) => {
    const { tool } = step.event;
    return printJson([tool?.name, tool?.input, results.get(tool?.callId ?? "")?.event.text, changes.get(step)]);
  });
  const errors = steps.filter(({ event }) => event.kind === "error" && lineOf(event.text) !== "");
  const sameError = Map.groupBy(errors, ({ event }) => lineOf(event.text));
  const finding = (list: readonly StepCore[], what: string): Finding => {
    const evidence = list.map((step) => evidenceOf(step, lineOf(step.event.text ?? inputOf(step))));
    return findingOf("looped", record, `${nameOf(record)} ${what} ${list.length} times`, evidence);
  };
  return [
    ...[...same.values()]
      .filter((list) => list.length >= TIMES)
      .map((list) => {
        const [first] = list;
        const isError = results.get(first?.event.tool?.callId ?? "")?.event.tool?.isError === true;
        const name = first?.event.tool?.name ?? "a tool";
        return finding(list, `called ${name} with the same arguments and got the same ${isError ? "error" : "result"}`);
      }),
    ...[...sameError]
      .filter(([, list]) => list.length >= TIMES)
      .map(([text, list]) => finding(list, `got the same error (${text})`)),
  ];
}

const inputOf = ({ event: { tool } }: StepCore) => (tool?.input == null ? null : printJson(tool.input));

/** How many changes of files were made before each call. Repeating a call after a change, such as a build, is no loop. */
function changesBefore(steps: readonly StepCore[]): ReadonlyMap<StepCore, number> {
  const before = new Map<StepCore, number>();
  let made = 0;
  for (const step of steps) {
    const { kind, tool } = step.event;
    const isChange = kind === "toolCall" && changeOf(tool?.input) !== null;
    if (isChange) made += 1;
    before.set(step, isChange ? 0 : made);
  }
  return before;
}
