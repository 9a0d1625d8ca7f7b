import { Show } from "solid-js";
import { ago, STATUS_MARKS } from "../data/format.ts";
import type { AgentRecord, Status } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { tooltip } from "./tip.tsx";

const SOURCE_LABELS: Readonly<Record<string, string>> = {
  protocol: "stated by the product",
  parent_rollout: "from the parent's records",
  child_rollout: "from the agent's own records",
  inferred: "inferred",
  manual: "set by a person",
};

export const sourceLabel = (source: string) => SOURCE_LABELS[source] ?? source;

/** The status as a symbol. */
export function StatusMark(props: { status: Status }) {
  return (
    <span class={`mark ${props.status}`} aria-hidden="true">
      {STATUS_MARKS[props.status]}
    </span>
  );
}

/** The agent's status; source and reason in a tooltip. */
export function StatusBadge(props: { agent: AgentRecord; compact?: boolean }) {
  return (
    <span
      class="status"
      classList={{ compact: props.compact === true }}
      data-status={props.agent.status}
      {...tooltip(() => <StatusTip agent={props.agent} />)}
    >
      <StatusMark status={props.agent.status} />
      <span class={props.compact === true ? "sr" : ""}>{props.agent.status}</span>
    </span>
  );
}

function StatusTip(props: { agent: AgentRecord }) {
  return (
    <>
      <div class="tip-title">
        <StatusMark status={props.agent.status} /> {props.agent.status}
        <Show when={props.agent.activity}>{(activity) => <span class="muted"> · {activity()}</span>}</Show>
      </div>
      <p>{props.agent.statusReason}</p>
      <p class="muted">
        {sourceLabel(props.agent.statusSource)}
        <Show when={props.agent.lastActivityAt}>{(at) => ` · last activity ${ago(at(), now())}`}</Show>
      </p>
    </>
  );
}
