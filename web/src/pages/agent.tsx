import { createEffect, createMemo, createSignal, For, lazy, on, onCleanup, Show, Suspense } from "solid-js";
import { columnOf, ownTime } from "../data/columns.ts";
import { awaitsPermission } from "../data/control.ts";
import { ago, bytes, count, dateAndTime, displayName, duration, money, plural, UNKNOWN } from "../data/format.ts";
import { oneLine, visible } from "../data/text.ts";
import { timeline } from "../data/timeline.ts";
import { type AgentRecord, reportedOnly, totalTokens } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { useEvents } from "../state/events.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, hrefTo, route, setParams } from "../state/navigation.ts";
import { isTeam, productOf } from "../state/server.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { AgentTip } from "../view/agent-tip.tsx";
import { Copyable } from "../view/copyable.tsx";
import { Failure } from "../view/failure.tsx";
import { List } from "../view/list.tsx";
import { RequestsLink } from "../view/requests-link.tsx";
import { StatusBadge } from "../view/status.tsx";
import { StepView } from "../view/step.tsx";
import { Text } from "../view/text.tsx";
import { tooltip } from "../view/tip.tsx";
import { placeOf } from "./search-results.tsx";

const Attach = lazy(() => import("../view/attach.tsx"));
const Control = lazy(() => import("../view/control.tsx"));
const Why = lazy(() => import("../view/why.tsx"));

export default function Agent(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const agent = () => {
    thread.shape();
    return (
      thread.agent(props.uri) ??
      (thread.root() !== null && !thread.set.has(props.uri) ? thread.agent(thread.root() ?? "") : undefined)
    );
  };
  const events = useEvents(() => props.uri, { subtree: false, belongs: (event) => event.uri === agent()?.uri });
  const steps = createMemo(() => timeline(events.items()));
  const [toggled, setToggled] = createSignal<ReadonlyMap<string, boolean>>(new Map());
  const [selected, setSelected] = createSignal(-1);
  const [aboveHeight, setAboveHeight] = createSignal(0);
  const follow = () => route().params.follow === "1";

  // Steps that failed or have no result yet are open; others are one line each.
  const isOpen = (index: number) => {
    const step = steps()[index];
    return (
      step !== undefined && (toggled().get(step.id) ?? (step.event.kind === "error" || step.event.id === target()?.id))
    );
  };
  const toggle = (index: number) => {
    const step = steps()[index];
    if (step !== undefined) setToggled(new Map([...toggled(), [step.id, !isOpen(index)]]));
  };
  const select = (index: number) => {
    setSelected(index);
    const step = steps()[index];
    if (step !== undefined) setParams({ event: step.id, at: null });
  };
  const nextError = (direction: 1 | -1) => {
    const all = steps();
    for (let n = 1; n <= all.length; n += 1) {
      const index = (selected() + direction * n + all.length * 2) % all.length;
      if (all[index]?.failed === true) return select(index);
    }
  };
  const siblings = () => {
    thread.shape();
    return thread.set.subtree(thread.root() ?? "");
  };
  const step = (by: number) => {
    const next = siblings()[siblings().indexOf(props.uri) + by];
    if (next !== undefined) go("agent", next);
  };
  useKeys({
    ...listKeys({ count: () => steps().length, selected, select, open: toggle }),
    f: () => setParams({ follow: follow() ? null : "1" }),
    e: () => nextError(1),
    E: () => nextError(-1),
    u: () => go("tree", thread.root(), { sel: props.uri }),
    w: () => setParams({ why: props.uri }),
    a: () => setParams({ attach: isTeam() ? null : props.uri }),
    p: () => setParams({ control: isTeam() ? null : props.uri }),
    l: () => go("log", thread.root()),
    "[": () => step(-1),
    "]": () => step(1),
  });

  // The URL may name an event, or the place of its record.
  const target = createMemo(() => {
    const { event, at } = route().params;
    if (event === undefined && at === undefined) return undefined;
    return steps().find(
      (one) => one.id === event || [one.event, one.result].some((e) => e?.ref != null && placeOf(e.ref) === at),
    );
  });
  createEffect(
    on(
      () => target()?.id,
      (id) => {
        if (id !== undefined) setSelected(steps().findIndex((one) => one.id === id));
      },
    ),
  );
  createEffect(() => {
    const shown = agent();
    document.title = shown === undefined ? "retinue" : `${displayName(shown)} · retinue`;
  });

  return (
    <div class="page agent">
      <Show
        when={!thread.error()}
        fallback={<Failure error={thread.error() as never} onRetry={() => void thread.reload()} />}
      >
        <List
          label="Timeline"
          class="timeline"
          rows={steps()}
          measured
          height={(one) => (one.event.kind === "user" || one.event.kind === "assistant" ? 90 : 40)}
          selected={selected()}
          follow={follow()}
          aboveHeight={aboveHeight()}
          above={
            <div
              class="above"
              ref={(element) => {
                const watch = new ResizeObserver(() => setAboveHeight(element.offsetHeight));
                watch.observe(element);
                onCleanup(() => watch.disconnect());
              }}
            >
              <Show when={agent()} keyed={false}>
                {(shown) => <AgentHead agent={shown()} thread={thread} />}
              </Show>
              <div class="timeline-head">
                <h2>Timeline</h2>
                <span class="muted">
                  {plural(steps().length, "step")}
                  {events.complete() ? "" : " so far …"}
                </span>
                <span class="spring" />
                <label class="check">
                  <input
                    type="checkbox"
                    checked={follow()}
                    onChange={(event) => setParams({ follow: event.currentTarget.checked ? "1" : null })}
                  />
                  Follow live <kbd>f</kbd>
                </label>
              </div>
              <Show when={events.error()}>{(error) => <Failure error={error()} />}</Show>
            </div>
          }
          row={(row, index) => (
            <StepView
              step={row()}
              index={index()}
              open={isOpen(index())}
              selected={index() === selected()}
              onToggle={() => toggle(index())}
            />
          )}
        />
      </Show>
      <Suspense>
        <Show when={route().params.why} keyed>
          {(uri) => <Why uri={uri} onClose={() => setParams({ why: null })} />}
        </Show>
        <Show when={route().params.attach} keyed>
          {(uri) => <Attach uri={uri} onClose={() => setParams({ attach: null })} />}
        </Show>
        <Show when={route().params.control} keyed>
          {(uri) => <Control uri={uri} onClose={() => setParams({ control: null })} />}
        </Show>
      </Suspense>
    </div>
  );
}

function AgentHead(props: { agent: AgentRecord; thread: Thread }) {
  const agent = () => props.agent;
  const children = () => {
    props.thread.shape();
    return props.thread.set.childrenOf(agent().uri);
  };
  return (
    <>
      <nav class="crumbs" aria-label="Ancestors">
        <a href={hrefTo({ page: "tree", uri: props.thread.root(), params: { sel: agent().uri } })}>Tree</a>
        <For each={props.thread.set.pathTo(agent().uri).slice(0, -1)}>
          {(above) => <a href={hrefTo({ page: "agent", uri: above.uri })}>{oneLine(displayName(above), 40)}</a>}
        </For>
      </nav>
      <div class="thread-name">
        <StatusBadge agent={agent()} />
        <h1 dir="auto">{oneLine(displayName(agent()))}</h1>
      </div>
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
      <p class="reason muted">
        {agent().statusReason}
        <button type="button" class="quiet" onClick={() => setParams({ why: agent().uri })}>
          Evidence
        </button>
        <Show when={!isTeam()}>
          <button type="button" class="quiet" onClick={() => setParams({ attach: agent().uri })}>
            Continue this agent
          </button>
        </Show>
        <Show when={agent().status === "running" && !isTeam()}>
          <button
            type="button"
            class={awaitsPermission(agent()) ? "" : "quiet"}
            onClick={() => setParams({ control: agent().uri })}
          >
            {awaitsPermission(agent()) ? "Answer permission request" : "Control this agent"}
          </button>
        </Show>
        <Show when={!isTeam()}>
          <RequestsLink uri={agent().uri} />
        </Show>
      </p>
      <For each={agent().warnings}>{(warning) => <p class="warning">{visible(warning)}</p>}</For>
      <div class="exchange">
        <Panel title="Prompt" text={agent().prompt} nothing="The prompt is not recorded." />
        <Panel
          title="Result"
          text={agent().result}
          nothing={agent().status === "running" ? (agent().activity ?? "Still running.") : "No result."}
        />
      </div>
      <details class="about">
        <summary>Tools, files and other facts</summary>
        <dl class="facts">
          <dt>URI</dt>
          <dd>
            <Copyable text={agent().uri} />
          </dd>
          <dt>Model</dt>
          <dd>{agent().model.join(", ") || UNKNOWN}</dd>
          <dt>May use</dt>
          <dd>{toolList(agent().tools.allowed, "Not recorded")}</dd>
          <dt>May not use</dt>
          <dd>{toolList(agent().tools.denied, "Not recorded")}</dd>
          <dt>Read from</dt>
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
          <dt>Began, ended</dt>
          <dd>
            {dateAndTime(agent().startedAt)} – {dateAndTime(agent().endedAt)}
          </dd>
          <dt>Tokens</dt>
          <dd>
            {count(agent().usage.own.inputTokens)} input, {count(agent().usage.own.outputTokens)} output,{" "}
            {count(agent().usage.own.cacheReadTokens)} cache read, {count(agent().usage.own.cacheWriteTokens)} cache
            write, in {plural(agent().usage.own.calls, "call")}
            <Show when={reportedOnly(agent().usage)}>
              {(tokens) => <>; the product reported {count(tokens())} tokens, which are in no sum</>}
            </Show>
          </dd>
          <dt>Version</dt>
          <dd>{agent().productVersion ?? UNKNOWN}</dd>
        </dl>
      </details>
      <Show when={children().length > 0}>
        <div class="children">
          <h2>Sub-agents</h2>
          <For each={children().slice(0, 40)}>
            {(uri) => (
              <Show when={props.thread.agent(uri)}>
                {(child) => (
                  <a
                    class="child"
                    href={hrefTo({ page: "agent", uri })}
                    {...tooltip(() => <AgentTip agent={child()} />)}
                  >
                    <StatusBadge agent={child()} compact /> {oneLine(displayName(child()), 60)}{" "}
                    <span class="muted">{money(child().usage.subtree.costUsd)}</span>
                  </a>
                )}
              </Show>
            )}
          </For>
          <Show when={children().length > 40}>
            <a href={hrefTo({ page: "tree", uri: props.thread.root(), params: { sel: agent().uri } })}>
              and {children().length - 40} more
            </a>
          </Show>
        </div>
      </Show>
    </>
  );
}

const toolList = (tools: readonly string[] | null, unknown: string) =>
  tools === null ? unknown : tools.length === 0 ? "None" : tools.join(", ");

/** Folded to a few lines until opened. */
function Panel(props: { title: string; text: string | null; nothing: string }) {
  const [open, setOpen] = createSignal(false);
  const isLong = () => (props.text?.length ?? 0) > 700 || (props.text?.split("\n", 13).length ?? 0) > 12;
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
                {open() ? "Less" : "All"}
              </button>
            </Show>
          </>
        )}
      </Show>
    </section>
  );
}
