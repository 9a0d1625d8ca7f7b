/** Known rules of LangSmith's server. A batch that breaks one of them is refused as a whole. */

export interface SentRun {
  readonly id: string;
  readonly trace_id: string;
  readonly parent_run_id?: string;
  readonly dotted_order: string;
  readonly name: string;
  readonly run_type: string;
  readonly start_time: string;
  readonly end_time?: string;
  readonly session_name: string;
}

const SEGMENT = /^(\d{8}T\d{6}\d{6}Z)([0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$/;
const RUN_TYPES = ["tool", "chain", "llm", "retriever", "embedding", "prompt", "parser"];

/** Errors in a run as sentences; empty if the server would accept it. */
export function brokenRules(run: SentRun): string[] {
  const wrong: string[] = [];
  const rule = (holds: boolean, words: string) => {
    if (!holds) wrong.push(`${run.name} ${run.id}: ${words}`);
  };
  const segments = run.dotted_order.split(".").map((segment) => SEGMENT.exec(segment));
  rule(!segments.includes(null), `malformed dotted_order ${run.dotted_order}`);
  const [times, ids] = [segments.map((s) => s?.[1] ?? ""), segments.map((s) => s?.[2] ?? "")];
  rule(ids[0] === run.trace_id, "trace_id is not the first segment's");
  rule(ids.at(-1) === run.id, "id is not the last segment's");
  rule(
    run.parent_run_id === undefined ? ids.length === 1 : ids.length >= 2 && ids.at(-2) === run.parent_run_id,
    "parent_run_id is not the last segment's but one",
  );
  rule(new Set(ids).size === ids.length, "it is below itself");
  for (const [i, time] of times.entries())
    rule(
      i === 0 || time >= (times[i - 1] ?? ""),
      `dotted_order has timestamp ${time} earlier than parent timestamp ${times[i - 1]}`,
    );
  rule(RUN_TYPES.includes(run.run_type), `run_type ${run.run_type}`);
  rule(run.start_time.replace(/[-:.]/g, "") === times.at(-1), "start_time is not the last segment's");
  rule(
    run.end_time === undefined || Date.parse(run.end_time) >= Date.parse(run.start_time),
    "it ends before it begins",
  );
  rule(run.session_name !== "", "no project");
  return wrong;
}
