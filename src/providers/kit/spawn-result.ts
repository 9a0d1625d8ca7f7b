import type { AgentKey, CallKey } from "../../core/facts/ids.ts";
import type { FindingsOf } from "../../core/ports/findings.ts";

/** The result of a call that spawned an agent, as the parent's records have it. */
export interface SpawnResult {
  readonly call: CallKey;
  /** The call's id in the record. */
  readonly id: string;
  /** The agent and its id, if the result names it. */
  readonly child: { readonly key: AgentKey; readonly id: string } | null;
  /** The field that names the agent. */
  readonly rule: string;
  /** The call returned while the agent works in the background. */
  readonly isLaunched: boolean;
  /** The first line of the error message, if the call failed. */
  readonly failure: string | null;
  readonly result: string | null;
}

/** States what a result shows about the agent of its call. The agent's own records take precedence. */
export function addSpawnResult(
  out: FindingsOf,
  { call, id, child, rule, isLaunched, failure, result }: SpawnResult,
): void {
  if (child !== null) {
    out.add({ type: "agent-described", agent: child.key, background: isLaunched });
    out.add({
      type: "call-spawned",
      call,
      child: child.key,
      rule,
      source: "parent_rollout",
      says: `the result of call ${id} names session ${child.id}`,
    });
  }
  const of = { call };
  const source = "parent_rollout";
  if (isLaunched) {
    const says = "its call launched it in the background";
    out.add({ type: "lifecycle", of, state: "launched", source, says, result: null });
  } else if (failure !== null) {
    const says = `its call failed: ${failure}`;
    out.add({ type: "lifecycle", of, state: "errored", source, says, result: null, yields: true });
  } else {
    const says = "its call has returned";
    out.add({ type: "lifecycle", of, state: "completed", source, says, result, yields: true });
  }
}
