import { Show } from "solid-js";
import { ago, STATUS_MARKS } from "../data/format.ts";
import type { AgentRecord, Status } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { tipped } from "./tip.tsx";

const SOURCES: Readonly<Record<string, string>> = {
  protocol: "the product states it",
  parent_rollout: "told by the parent's records",
  child_rollout: "read off the agent's own records",
  inferred: "inferred",
};

export const sourceInWords = (source: string) => SOURCES[source] ?? source;

/** The mark alone, for tight places. */
export function StatusMark(props: { status: Status }) {
  return (
    <span class={`mark ${props.status}`} aria-hidden="true">
      {STATUS_MARKS[props.status]}
    </span>
  );
}

/** Where the agent stands; who says so, and why, when one points at it. */
export function StatusBadge(props: { agent: AgentRecord; compact?: boolean }) {
  return (
    <span class="status" classList={{ compact: props.compact === true }} data-status={props.agent.status} {...tipped(() => <StatusTip agent={props.agent} />)}>
      <StatusMark status={props.agent.status} />
      <span class={props.compact === true ? "sr" : ""}>{props.agent.status}</span>
    </span>
  );
}

export function StatusTip(props: { agent: AgentRecord }) {
  return (
    <>
      <div class="tip-title">
        <StatusMark status={props.agent.status} /> {props.agent.status}
        <Show when={props.agent.activity}>{(activity) => <span class="muted"> · {activity()}</span>}</Show>
      </div>
      <p>{props.agent.statusReason}</p>
      <p class="muted">
        {sourceInWords(props.agent.statusSource)}
        <Show when={props.agent.lastActivityAt}>{(at) => ` · last sign of life ${ago(at(), now())}`}</Show>
      </p>
    </>
  );
}
