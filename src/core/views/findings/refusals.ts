import { type Finding, lineOf, nameOf, proofOf, type Subject, stepOfCall } from "./finding.ts";

/** Spawn calls that were refused or denied: the agents never existed. */
export function refusals({ story: { record, steps }, refused }: Subject): Finding[] {
  return refused.map(({ callId, tool, type, prompt }) => {
    const [call, result] = [stepOfCall(steps, callId, "toolCall"), stepOfCall(steps, callId, "toolResult")];
    const why = lineOf(result?.event.text ?? null);
    const what = type ?? lineOf(prompt);
    return {
      kind: "refused",
      agents: [record.uri],
      says: `${nameOf(record)} asked for an agent (${what === "" ? tool : what}) and was refused${why === "" ? "" : `: ${why}`}`,
      evidence: [
        ...(call === undefined ? [] : [proofOf(call, `call ${callId} of ${tool}`)]),
        ...(result === undefined ? [] : [proofOf(result, why)]),
      ],
      durationMs: null,
    };
  });
}
