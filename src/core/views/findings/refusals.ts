import {
  evidenceOf,
  evidenceOfAgent,
  type Finding,
  findingOf,
  lineOf,
  nameOf,
  type Subject,
  stepOfCall,
} from "./finding.ts";

/** Spawn calls that were refused or denied: the agents never existed. */
export function refusals({ story: { record, steps } }: Subject): Finding[] {
  return record.refused.map(({ toolCallId, at, type, description, reason }) => {
    const [call, result] = [stepOfCall(steps, toolCallId, "toolCall"), stepOfCall(steps, toolCallId, "toolResult")];
    const why = lineOf(reason ?? result?.event.text ?? null);
    const what = lineOf(description ?? type ?? call?.event.tool?.name ?? null);
    const found = [
      ...(call === undefined ? [] : [evidenceOf(call, `call ${toolCallId}`)]),
      ...(result === undefined ? [] : [evidenceOf(result, why)]),
    ];
    const says = `${nameOf(record)} asked for an agent${what === "" ? "" : ` (${what})`} and was refused${why === "" ? "" : `: ${why}`}`;
    return findingOf("refused", record, says, found.length > 0 ? found : [{ ...evidenceOfAgent(record, why), at }]);
  });
}
