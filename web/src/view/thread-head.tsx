import { Show } from "solid-js";
import { columnOf } from "../data/columns.ts";
import { ago, count, displayName, duration, money, plural } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import { totalTokens } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo, route } from "../state/navigation.ts";
import { isTeam, productOf } from "../state/server.ts";
import type { Thread } from "../state/thread.ts";
import { SharedWith } from "./shared.tsx";
import { StatusBadge } from "./status.tsx";
import { StatusCounts } from "./status-counts.tsx";

/** The head of a thread: number of agents by status, and total cost. */
export function ThreadHead(props: { thread: Thread }) {
  const root = () => {
    const uri = props.thread.root();
    return uri === null ? undefined : props.thread.agent(uri);
  };
  const sums = () => props.thread.sums(props.thread.root() ?? "");
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
          <dl class="totals">
            <div data-total="agents">
              <dt>{plural(sums()?.agents ?? 1, "agent")}</dt>
              <dd>
                <StatusCounts counts={sums()?.byStatus ?? {}} showLabels />
              </dd>
            </div>
            <div data-total="cost">
              <dt>Total cost</dt>
              <dd>{money(agent().usage.subtree.costUsd)}</dd>
            </div>
            <div data-total="tokens">
              <dt>Tokens</dt>
              <dd>{count(totalTokens(agent().usage.subtree))}</dd>
            </div>
            <div data-total="time">
              <dt>Time</dt>
              <dd>{duration(columnOf("time")?.total(agent(), sums(), now()) ?? null)}</dd>
            </div>
            <div data-total="errors">
              <dt>Failed calls</dt>
              <dd classList={{ bad: (sums()?.toolErrors ?? 0) > 0 }}>{sums()?.toolErrors ?? 0}</dd>
            </div>
          </dl>
          <nav class="tabs" aria-label="Views of this thread">
            <a
              href={hrefTo({ page: "tree", uri: agent().uri })}
              aria-current={route().page === "tree" ? "page" : undefined}
            >
              Tree
            </a>
            <a
              href={hrefTo({ page: "waterfall", uri: agent().uri })}
              aria-current={route().page === "waterfall" ? "page" : undefined}
            >
              Waterfall
            </a>
            <a
              href={hrefTo({ page: "graph", uri: agent().uri })}
              aria-current={route().page === "graph" ? "page" : undefined}
            >
              Graph
            </a>
            <a
              href={hrefTo({ page: "log", uri: agent().uri })}
              aria-current={route().page === "log" ? "page" : undefined}
            >
              Log
            </a>
            <a
              href={hrefTo({ page: "explain", uri: agent().uri })}
              aria-current={route().page === "explain" ? "page" : undefined}
            >
              Explain
            </a>
            <a
              href={hrefTo({ page: "files", uri: agent().uri })}
              aria-current={route().page === "files" ? "page" : undefined}
            >
              Files
            </a>
            <a href={hrefTo({ page: "agent", uri: agent().uri })}>Main agent</a>
            <Show when={!isTeam()}>
              <a href={hrefTo({ page: "compare", params: { left: agent().uri } })}>Compare</a>
            </Show>
          </nav>
        </div>
      )}
    </Show>
  );
}
