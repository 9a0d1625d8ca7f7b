import { For, Show } from "solid-js";
import type { Sums } from "../data/agent-set.ts";
import { columnOf } from "../data/columns.ts";
import { ago, count, displayName, duration, exact, money, plural } from "../data/format.ts";
import type { Page } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import { type AgentRecord, totalTokens } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo, route } from "../state/navigation.ts";
import { isTeam, productOf } from "../state/server.ts";
import type { Thread } from "../state/thread.ts";
import { SharedWith } from "./shared.tsx";
import { StatusBadge } from "./status.tsx";
import { StatusCounts } from "./status-counts.tsx";

const TABS: readonly (readonly [Page, string])[] = [
  ["tree", "Tree"],
  ["waterfall", "Waterfall"],
  ["graph", "Graph"],
  ["log", "Log"],
  ["explain", "Explain"],
  ["files", "Files"],
];

/** The head of every page about a thread: name, origin, totals and links to the other pages. */
export function ThreadHead(props: { thread: Thread }) {
  const root = () => {
    const uri = props.thread.root();
    return uri === null ? undefined : props.thread.agent(uri);
  };
  return (
    <Show when={root()}>
      {(agent) => (
        <div class="thread-head">
          <div class="thread-name">
            <StatusBadge agent={agent()} compact />
            <h1 dir="auto">{oneLine(displayName(agent()))}</h1>
          </div>
          <p class="meta">
            <Show when={agent().owner}>{(name) => <span class="owner">{name()}</span>}</Show>
            <span class="product">{productOf(agent().provider)}</span>
            <Show when={agent().project}>
              {(project) => <span title={agent().cwd ?? ""}>{oneLine(project(), 40)}</span>}
            </Show>
            <Show when={agent().branch}>{(branch) => <span>{oneLine(branch(), 40)}</span>}</Show>
            <span>{ago(agent().lastActivityAt, now())}</span>
            <SharedWith record={agent()} />
            <Show when={agent().activity}>{(activity) => <span>{oneLine(activity(), 80)}</span>}</Show>
          </p>
          <Totals root={agent()} sums={props.thread.sums(agent().uri)} />
          <nav class="tabs" aria-label="Views of this thread">
            <For each={TABS}>
              {([page, label]) => (
                <a href={hrefTo({ page, uri: agent().uri })} aria-current={route().page === page ? "page" : undefined}>
                  {label}
                </a>
              )}
            </For>
            <a href={hrefTo({ page: "agent", uri: agent().uri })}>Main agent</a>
            <Show when={!isTeam}>
              <a href={hrefTo({ page: "compare", params: { left: agent().uri } })}>Compare</a>
            </Show>
          </nav>
        </div>
      )}
    </Show>
  );
}

/** Totals of the thread with all its agents. */
function Totals(props: { root: AgentRecord; sums: Sums | undefined }) {
  return (
    <dl class="totals">
      <div data-total="agents">
        <dt>{plural(props.sums?.agents ?? 1, "agent")}</dt>
        <dd>
          <StatusCounts counts={props.sums?.byStatus ?? {}} showLabels />
        </dd>
      </div>
      <div data-total="cost">
        <dt>Total cost</dt>
        <dd>{money(props.root.usage.subtree.costUsd)}</dd>
      </div>
      <div data-total="tokens">
        <dt>Tokens</dt>
        <dd>{count(totalTokens(props.root.usage.subtree))}</dd>
      </div>
      <div data-total="time">
        <dt>Time</dt>
        <dd>{duration(columnOf("time")?.total(props.root, props.sums, now()) ?? null)}</dd>
      </div>
      <div data-total="errors">
        <dt>Failed calls</dt>
        <dd classList={{ bad: (props.sums?.toolErrors ?? 0) > 0 }}>{exact(props.sums?.toolErrors ?? 0)}</dd>
      </div>
    </dl>
  );
}
