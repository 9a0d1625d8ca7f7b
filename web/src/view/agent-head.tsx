import { createSignal, For, Show } from "solid-js";
import { columnOf, ownTime } from "../data/columns.ts";
import { awaitsPermission } from "../data/control.ts";
import { ago, bytes, count, dateAndTime, displayName, duration, money, plural, UNKNOWN } from "../data/format.ts";
import { oneLine, visible } from "../data/text.ts";
import { type AgentRecord, reportedOnly, totalTokens } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo, setParams } from "../state/navigation.ts";
import { isTeam, productOf } from "../state/server.ts";
import type { Thread } from "../state/thread.ts";
import { AgentTip } from "./agent-tip.tsx";
import { Copyable } from "./copyable.tsx";
import { RequestsLink } from "./requests-link.tsx";
import { StatusBadge } from "./status.tsx";
import { Text } from "./text.tsx";
import { tooltip } from "./tip.tsx";

const MAX_SUB_AGENTS = 40;
/** Longer texts are folded. */
const PANEL_CHARS = 700;
const PANEL_LINES = 12;

/** An agent without its timeline: names, numbers, actions, prompt, result and sub-agents. */
export function AgentHead(props: { agent: AgentRecord; thread: Thread }) {
  return (
    <>
      <nav class="crumbs" aria-label="Ancestors">
        <a href={hrefTo({ page: "tree", uri: props.thread.root(), params: { sel: props.agent.uri } })}>Tree</a>
        <For each={props.thread.set.pathTo(props.agent.uri).slice(0, -1)}>
          {(ancestor) => (
            <a href={hrefTo({ page: "agent", uri: ancestor.uri })}>{oneLine(displayName(ancestor), 40)}</a>
          )}
        </For>
      </nav>
      <div class="thread-name">
        <StatusBadge agent={props.agent} />
        <h1 dir="auto">{oneLine(displayName(props.agent))}</h1>
      </div>
      <Numbers agent={props.agent} />
      <Actions agent={props.agent} />
      <For each={props.agent.warnings}>{(warning) => <p class="warning">{visible(warning)}</p>}</For>
      <div class="exchange">
        <Panel title="Prompt" text={props.agent.prompt} nothing="The prompt is not recorded." />
        <Panel
          title="Result"
          text={props.agent.result}
          nothing={props.agent.status === "running" ? (props.agent.activity ?? "Still running.") : "No result."}
        />
      </div>
      <Details agent={props.agent} />
      <SubAgents agent={props.agent} thread={props.thread} />
    </>
  );
}

function Numbers(props: { agent: AgentRecord }) {
  const agent = () => props.agent;
  return (
    <p class="meta">
      <span class="product">{productOf(agent().provider)}</span>
      <Show when={agent().type}>{(type) => <span>{type()}</span>}</Show>
      <span>{agent().model.join(", ") || "no model call yet"}</span>
      <span>{duration(ownTime(agent(), now()))}</span>
      <span title="Own cost">{money(agent().usage.own.costUsd)}</span>
      <span title="Own tokens">{count(totalTokens(agent().usage.own))} tokens</span>
      <Show when={agent().counts.descendants > 0}>
        <span>
          Σ {money(agent().usage.subtree.costUsd)} ·{" "}
          {count(columnOf("tokens")?.total(agent(), undefined, now()) ?? null)} with{" "}
          {plural(agent().counts.descendants, "agent")} below
        </span>
      </Show>
      <span>{ago(agent().lastActivityAt, now())}</span>
    </p>
  );
}

/** The reason of the status, and what can be done with the agent. */
function Actions(props: { agent: AgentRecord }) {
  return (
    <p class="reason muted">
      {props.agent.statusReason}
      <button type="button" class="quiet" onClick={() => setParams({ why: props.agent.uri })}>
        Evidence
      </button>
      <Show when={!isTeam}>
        <button type="button" class="quiet" onClick={() => setParams({ attach: props.agent.uri })}>
          Continue this agent
        </button>
        <Show when={props.agent.status === "running"}>
          <button
            type="button"
            class={awaitsPermission(props.agent) ? "" : "quiet"}
            onClick={() => setParams({ control: props.agent.uri })}
          >
            {awaitsPermission(props.agent) ? "Answer permission request" : "Control this agent"}
          </button>
        </Show>
        <RequestsLink uri={props.agent.uri} />
      </Show>
    </p>
  );
}

/** A prompt or a result. A long one is folded to a few lines. */
function Panel(props: { title: string; text: string | null; nothing: string }) {
  const [open, setOpen] = createSignal(false);
  const isLong = () =>
    (props.text?.length ?? 0) > PANEL_CHARS || (props.text?.split("\n", PANEL_LINES + 1).length ?? 0) > PANEL_LINES;
  return (
    <section class="panel" classList={{ open: open() || !isLong() }} data-panel={props.title}>
      <h2>{props.title}</h2>
      <Show when={props.text} fallback={<p class="muted">{props.nothing}</p>}>
        {(text) => (
          <>
            <div class="panel-text">
              <Text text={text()} markdown />
            </div>
            <Show when={isLong()}>
              <button type="button" class="quiet" onClick={() => setOpen(!open())}>
                {open() ? "Show less" : "Show all"}
              </button>
            </Show>
          </>
        )}
      </Show>
    </section>
  );
}

function Details(props: { agent: AgentRecord }) {
  const agent = () => props.agent;
  return (
    <details class="about">
      <summary>Tools, files and other details</summary>
      <dl class="facts">
        <dt>URI</dt>
        <dd>
          <Copyable text={agent().uri} />
        </dd>
        <dt>Model</dt>
        <dd>{agent().model.join(", ") || UNKNOWN}</dd>
        <dt>Allowed tools</dt>
        <dd>{toolList(agent().tools.allowed)}</dd>
        <dt>Denied tools</dt>
        <dd>{toolList(agent().tools.denied)}</dd>
        <dt>Records</dt>
        <dd>
          <For each={agent().records} fallback="No files">
            {(record) => (
              <div>
                <Copyable text={record.path} /> <span class="muted">{bytes(record.bytes)}</span>
              </div>
            )}
          </For>
        </dd>
        <dt>Folder</dt>
        <dd>
          {agent().cwd ?? UNKNOWN} {agent().branch === null ? "" : `on ${agent().branch}`}
        </dd>
        <dt>Started, ended</dt>
        <dd>
          {dateAndTime(agent().startedAt)} – {dateAndTime(agent().endedAt)}
        </dd>
        <dt>Tokens</dt>
        <dd>
          <TokensByKind usage={agent().usage} />
        </dd>
        <dt>Version</dt>
        <dd>{agent().productVersion ?? UNKNOWN}</dd>
      </dl>
    </details>
  );
}

const toolList = (tools: readonly string[] | null) =>
  tools === null ? "Not recorded" : tools.length === 0 ? "None" : tools.join(", ");

function TokensByKind(props: { usage: AgentRecord["usage"] }) {
  const own = () => props.usage.own;
  return (
    <>
      {count(own().inputTokens)} input, {count(own().outputTokens)} output, {count(own().cacheReadTokens)} cache read,{" "}
      {count(own().cacheWriteTokens)} cache write, in {plural(own().calls, "model call")}
      <Show when={reportedOnly(props.usage)}>
        {(tokens) => <>; the product reported {count(tokens())} tokens, which no total includes</>}
      </Show>
    </>
  );
}

function SubAgents(props: { agent: AgentRecord; thread: Thread }) {
  const children = () => {
    props.thread.shape();
    return props.thread.set.childrenOf(props.agent.uri);
  };
  return (
    <Show when={children().length > 0}>
      <div class="children">
        <h2>Sub-agents</h2>
        <For each={children().slice(0, MAX_SUB_AGENTS)}>
          {(uri) => <Show when={props.thread.agent(uri)}>{(child) => <SubAgentLink agent={child()} />}</Show>}
        </For>
        <Show when={children().length > MAX_SUB_AGENTS}>
          <a href={hrefTo({ page: "tree", uri: props.thread.root(), params: { sel: props.agent.uri } })}>
            and {children().length - MAX_SUB_AGENTS} more
          </a>
        </Show>
      </div>
    </Show>
  );
}

function SubAgentLink(props: { agent: AgentRecord }) {
  return (
    <a
      class="child"
      href={hrefTo({ page: "agent", uri: props.agent.uri })}
      {...tooltip(() => <AgentTip agent={props.agent} />)}
    >
      <StatusBadge agent={props.agent} compact /> {oneLine(displayName(props.agent), 60)}{" "}
      <span class="muted">{money(props.agent.usage.subtree.costUsd)}</span>
    </a>
  );
}
