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

/** A row of the tree: name, status and numbers of an agent. */
function Line(props: RowProps & { agent: AgentRecord }) {
  const uri = () => props.row.uri;
  const openMenu = (near: Element) => {
    props.actions.select(uri());
    props.actions.menu(uri(), near);
  };
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
        openMenu(event.currentTarget);
      }}
    >
      <NameCell {...props} onMenu={openMenu} />
      <Show when={props.status}>
        <div class="cell status-cell">
          <StatusBadge agent={props.agent} />
        </div>
      </Show>
      <For each={props.columns}>{(shown) => <NumberCell {...props} shown={shown} />}</For>
    </div>
  );
}

function NameCell(props: RowProps & { agent: AgentRecord; onMenu: (near: Element) => void }) {
  return (
    <div class="cell name-cell" style={{ "--depth": Math.min(props.row.depth, props.indents) }}>
      <Show when={props.row.depth > props.indents}>
        <span class="deep" title={`Level ${props.row.depth}`}>
          {props.row.depth}
        </span>
      </Show>
      <FoldButton row={props.row} onToggle={() => props.actions.toggle(props.row.uri)} />
      <Show when={!props.status}>
        <StatusBadge agent={props.agent} compact />
      </Show>
      <a
        class="name"
        dir="auto"
        tabindex="-1"
        href={hrefTo({ page: "agent", uri: props.row.uri })}
        {...tooltip(() => <AgentTip agent={props.agent} />)}
      >
        {oneLine(displayName(props.agent))}
      </a>
      <Show when={props.row.children > 0}>
        <span
          class="badge sub"
          title={`${plural(props.agent.counts.spawned, "sub-agent")}, ${plural(props.agent.counts.descendants, "agent")} at all levels below`}
        >
          {props.row.children}
        </span>
      </Show>
      <Show when={props.row.folded && props.thread.sums(props.row.uri)}>
        {(sum) => <StatusCounts counts={sum().byStatus} />}
      </Show>
      <Show when={props.agent.type}>{(type) => <span class="type">{oneLine(type(), 40)}</span>}</Show>
      <Badges agent={props.agent} onWhy={() => props.actions.why(props.row.uri)} />
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
          props.onMenu(event.currentTarget);
        }}
      >
        ⋯
      </button>
    </div>
  );
}

/** Empty for an agent without children, so that names are aligned. */
function FoldButton(props: { row: TreeRow; onToggle: () => void }) {
  return (
    <Show when={props.row.children > 0} fallback={<span class="fold" />}>
      <button
        type="button"
        class="fold"
        tabindex="-1"
        aria-label={props.row.folded ? "Unfold" : "Fold"}
        onClick={(event) => {
          event.stopPropagation();
          props.onToggle();
        }}
      >
        {props.row.folded ? "▸" : "▾"}
      </button>
    </Show>
  );
}

/** A number of the agent or of its subtree. In a folded row, all numbers are those of the subtree. */
function NumberCell(props: RowProps & { agent: AgentRecord; shown: ShownColumn }) {
  const column = () => props.shown.column;
  const isTotal = () => props.shown.total || props.row.folded;
  const value = () =>
    isTotal() ? column().total(props.agent, props.thread.sums(props.row.uri), now()) : column().own(props.agent, now());
  const title = () => {
    const amount = value();
    return `${column().label} of the ${isTotal() ? "subtree" : "agent"}: ${amount === null ? "unknown" : column().exact(amount)}`;
  };
  return (
    <div
      class="cell number"
      classList={{
        total: props.shown.total,
        sum: props.row.folded && !props.shown.total,
        bad: column().id === "errors" && (value() ?? 0) > 0,
        zero: value() === 0,
      }}
      data-column={props.shown.key}
      title={title()}
    >
      {props.row.folded && !props.shown.total ? "Σ " : ""}
      {column().format(value())}
    </div>
  );
}

/** Of the last refused spawn call. */
const lastReason = ({ refused }: AgentRecord) => refused.at(-1)?.reason ?? "no reason is recorded";

/** Marks for unusual agents: in the background, external, forked, with a manual or inferred link, refused, warnings. */
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
        <button
          type="button"
          class="badge guess"
          tabindex="-1"
          title="The parent is inferred; confidence"
          onClick={why}
        >
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
