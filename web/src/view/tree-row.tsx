import { For, Show } from "solid-js";
import { displayName, percent, plural } from "../data/format.ts";
import type { ShownColumn } from "../data/layout.ts";
import { oneLine } from "../data/text.ts";
import type { TreeRow } from "../data/tree-rows.ts";
import type { AgentRecord } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo } from "../state/navigation.ts";
import { productOf } from "../state/server.ts";
import type { Thread } from "../state/thread.ts";
import { AgentTip } from "./agent-tip.tsx";
import { StatusBadge } from "./status.tsx";
import { StatusCounts } from "./status-counts.tsx";
import { tooltip } from "./tip.tsx";

export interface RowActions {
  select(uri: string): void;
  toggle(uri: string): void;
  menu(uri: string, near: Element): void;
  why(uri: string): void;
}

interface RowProps {
  readonly row: TreeRow;
  readonly index: number;
  readonly thread: Thread;
  readonly columns: readonly ShownColumn[];
  readonly status: boolean;
  readonly selected: boolean;
  /** Maximum indentation; deeper rows state their depth. */
  readonly indents: number;
  readonly actions: RowActions;
}

export function Row(props: RowProps) {
  return <Show when={props.thread.agent(props.row.uri)}>{(agent) => <Line {...props} agent={agent()} />}</Show>;
}

function Line(props: RowProps & { agent: AgentRecord }) {
  const uri = () => props.row.uri;
  const sums = () => props.thread.sums(uri());
  const value = ({ column, total }: ShownColumn) =>
    total || props.row.folded ? column.total(props.agent, sums(), now()) : column.own(props.agent, now());
  return (
    <div
      class="row"
      classList={{ selected: props.selected, folded: props.row.folded, root: props.row.depth === 0 }}
      id={`row-${props.index}`}
      role="treeitem"
      tabindex="-1"
      aria-level={props.row.depth + 1}
      aria-posinset={props.row.position}
      aria-setsize={props.row.siblings}
      aria-expanded={props.row.children > 0 ? !props.row.folded : undefined}
      aria-selected={props.selected}
      data-uri={uri()}
      onClick={() => props.actions.select(uri())}
      onContextMenu={(event) => {
        event.preventDefault();
        props.actions.select(uri());
        props.actions.menu(uri(), event.currentTarget);
      }}
    >
      <div class="cell name-cell" style={{ "--depth": Math.min(props.row.depth, props.indents) }}>
        <Show when={props.row.depth > props.indents}>
          <span class="deep" title={`Level ${props.row.depth}`}>
            {props.row.depth}
          </span>
        </Show>
        <Show when={props.row.children > 0} fallback={<span class="fold" />}>
          <button
            type="button"
            class="fold"
            tabindex="-1"
            aria-label={props.row.folded ? "Unfold" : "Fold"}
            onClick={(event) => {
              event.stopPropagation();
              props.actions.toggle(uri());
            }}
          >
            {props.row.folded ? "▸" : "▾"}
          </button>
        </Show>
        <Show when={!props.status}>
          <StatusBadge agent={props.agent} compact />
        </Show>
        <a
          class="name"
          dir="auto"
          tabindex="-1"
          href={hrefTo({ page: "agent", uri: uri() })}
          {...tooltip(() => <AgentTip agent={props.agent} />)}
        >
          {oneLine(displayName(props.agent))}
        </a>
        <Show when={props.row.children > 0}>
          <span
            class="badge sub"
            title={`${props.agent.counts.spawned} sub-agents, ${props.agent.counts.descendants} agents below it`}
          >
            {props.row.children}
          </span>
        </Show>
        <Show when={props.row.folded && sums()}>{(sum) => <StatusCounts counts={sum().byStatus} />}</Show>
        <Show when={props.agent.type}>{(type) => <span class="type">{oneLine(type(), 40)}</span>}</Show>
        <Badges agent={props.agent} onWhy={() => props.actions.why(uri())} />
        <span class="task" dir="auto">
          {oneLine(props.agent.activity ?? (props.row.depth === 0 ? null : props.agent.prompt) ?? "", 160)}
        </span>
        <button
          type="button"
          class="quiet menu-button"
          tabindex="-1"
          aria-label={`Menu of ${displayName(props.agent)}`}
          onClick={(event) => {
            event.stopPropagation();
            props.actions.select(uri());
            props.actions.menu(uri(), event.currentTarget);
          }}
        >
          ⋯
        </button>
      </div>
      <Show when={props.status}>
        <div class="cell status-cell">
          <StatusBadge agent={props.agent} />
        </div>
      </Show>
      <For each={props.columns}>
        {(shown) => (
          <div
            class="cell number"
            classList={{
              total: shown.total,
              sum: props.row.folded && !shown.total,
              bad: shown.column.id === "errors" && (value(shown) ?? 0) > 0,
              zero: value(shown) === 0,
            }}
            data-column={shown.key}
            title={exactly(shown, value(shown), props.row.folded)}
          >
            {props.row.folded && !shown.total ? "Σ " : ""}
            {shown.column.format(value(shown))}
          </div>
        )}
      </For>
    </div>
  );
}

const exactly = ({ column, total }: ShownColumn, value: number | null, folded: boolean) =>
  `${column.label}${total || folded ? " of the subtree" : " of the agent"}: ${value === null ? "unknown" : column.exact(value)}`;

const lastReason = ({ refused }: AgentRecord) => refused.at(-1)?.reason ?? "no reason is recorded";

/** Unusual facts about the agent's link. Opens the evidence. */
function Badges(props: { agent: AgentRecord; onWhy: () => void }) {
  const link = () => props.agent.link;
  const why = (event: MouseEvent) => {
    event.stopPropagation();
    props.onWhy();
  };
  return (
    <>
      <Show when={props.agent.background}>
        <span class="badge" title="Runs in the background">
          bg
        </span>
      </Show>
      <Show when={props.agent.kind === "external"}>
        <span class="badge" title={`A thread of ${productOf(props.agent.provider)}, started by a shell command`}>
          {productOf(props.agent.provider)}
        </span>
      </Show>
      <Show when={props.agent.forkedFrom}>
        <span class="badge" title={`Began as a copy of ${props.agent.forkedFrom}`}>
          fork
        </span>
      </Show>
      <Show when={link()?.source === "manual"}>
        <button type="button" class="badge manual" tabindex="-1" title="Manual link" onClick={why}>
          manual
        </button>
      </Show>
      <Show when={link()?.source === "inferred"}>
        <button type="button" class="badge guess" tabindex="-1" title="Its parent is inferred" onClick={why}>
          {percent(link()?.confidence ?? 0)}
        </button>
      </Show>
      <Show when={props.agent.counts.refused > 0}>
        <button
          type="button"
          class="badge guess refused"
          tabindex="-1"
          title={`${plural(props.agent.counts.refused, "spawn call")} refused: ${lastReason(props.agent)}`}
          onClick={why}
        >
          ⊘ {props.agent.counts.refused}
        </button>
      </Show>
      <Show when={props.agent.warnings.length > 0}>
        <span class="badge warn" title={props.agent.warnings.join("\n")}>
          !
        </span>
      </Show>
    </>
  );
}
