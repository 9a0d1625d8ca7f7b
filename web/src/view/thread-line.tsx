import { For, Show } from "solid-js";
import { ownTime } from "../data/columns.ts";
import { ago, clock, count, displayName, duration, money } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import { type AgentRecord, totalTokens } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo } from "../state/navigation.ts";
import { productOf } from "../state/server.ts";
import { SharedMark } from "./shared.tsx";
import { StatusBadge } from "./status.tsx";
import { StatusCounts } from "./status-counts.tsx";

/** The URL of a thread. It names the owner, because several owners may have the same thread. */
export const threadAddress = ({ uri, owner }: AgentRecord) => hrefTo({ page: "tree", uri, params: { owner } });

interface ThreadLineProps {
  readonly record: AgentRecord;
  readonly selected: boolean;
  readonly index: number;
  /** In the list of running threads by owner: shows the activity and the duration instead of the owner and the last activity. */
  readonly isNow?: boolean;
  /** Limits of `RUNAWAY` that the thread exceeds. */
  readonly runaway?: readonly string[];
}

/** One thread in a list. */
export function ThreadLine(props: ThreadLineProps) {
  const record = () => props.record;
  return (
    <a
      class="thread"
      classList={{ selected: props.selected }}
      id={`row-${props.index}`}
      href={threadAddress(record())}
      data-uri={record().uri}
      tabindex="-1"
    >
      <span class="thread-status">
        <StatusBadge agent={record()} compact />
      </span>
      <span class="thread-title">
        <span class="name" dir="auto">
          {oneLine(displayName(record()))}
        </span>
        <span class="meta">
          <Show when={props.isNow !== true && record().owner}>{(owner) => <span class="owner">{owner()}</span>}</Show>
          <For each={props.runaway ?? []}>{(reason) => <span class="chip bad">{reason}</span>}</For>
          <span class="product">{productOf(record().provider)}</span>
          <Show when={record().project}>{(project) => <span>{oneLine(project(), 40)}</span>}</Show>
          <SharedMark record={record()} />
          <Show when={record().branch}>{(branch) => <span class="wide">{oneLine(branch(), 40)}</span>}</Show>
          <span class="wide model">{record().model.join(", ")}</span>
          <Show when={props.isNow === true && record().activity}>
            {(activity) => <span class="activity">{oneLine(activity(), 80)}</span>}
          </Show>
          <span class="narrow" classList={{ sr: props.isNow === true }}>
            {ago(record().lastActivityAt, now())}
          </span>
        </span>
      </span>
      <span class="thread-agents" title="Agents below this thread">
        <Show when={record().counts.descendants > 0} fallback={<span class="muted">–</span>}>
          <StatusCounts counts={record().counts.byStatus} />
        </Show>
      </span>
      <span class="number wide" title="Tokens of the subtree">
        {count(totalTokens(record().usage.subtree))}
      </span>
      <span class="number" title="Cost of the subtree">
        {money(record().usage.subtree.costUsd)}
      </span>
      <span class="number when wide" title={record().lastActivityAt ?? ""}>
        <Show
          when={props.isNow === true}
          fallback={
            <>
              {ago(record().lastActivityAt, now())}
              <span class="muted"> {clock(record().lastActivityAt).slice(0, 5)}</span>
            </>
          }
        >
          {duration(ownTime(record(), now()))}
        </Show>
      </span>
    </a>
  );
}
