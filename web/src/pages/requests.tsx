import { createEffect, createSignal, For, Show } from "solid-js";
import { displayName, plural } from "../data/format.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { go, hrefTo, route, setParams } from "../state/navigation.ts";
import { useRequests } from "../state/requests.ts";
import { useThread } from "../state/thread.ts";
import { agentName } from "../view/agent-name.ts";
import { Failure } from "../view/failure.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { RequestView } from "../view/request.tsx";
import { StatusBadge } from "../view/status.tsx";
import "../styles/requests.css";

/** The API requests of one agent, newest first, as recorded by the proxy. */
export default function RequestsPage(props: { uri: string }) {
  const thread = useThread(() => props.uri);
  const agent = () => {
    thread.shape();
    return thread.agent(props.uri);
  };
  const isWork = () => route().params.work === "1";
  const requests = useRequests(
    () => props.uri,
    isWork,
    () => `${agent()?.lastActivityAt} ${agent()?.usage.own.calls} ${agent()?.counts.spawned}`,
  );
  const [selected, setSelected] = createSignal(-1);
  const isOpen = (id: string) => (route().params.open ?? "").split(",").includes(id);
  const toggle = (id: string) => {
    const open = (route().params.open ?? "").split(",").filter((one) => one !== "" && one !== id);
    setParams({ open: (isOpen(id) ? open : [...open, id]).join(",") || null });
  };
  const select = (index: number) => {
    setSelected(index);
    document.getElementById(`request-${index}`)?.scrollIntoView({ block: "nearest" });
  };
  useKeys({
    ...listKeys({
      count: () => requests.items().length,
      selected,
      select,
      open: (index) => toggle(requests.items()[index]?.request_id ?? ""),
    }),
    u: () => go("agent", props.uri),
  });
  createEffect(() => {
    const shown = agent();
    document.title = shown === undefined ? "retinue" : `API requests of ${displayName(shown)} · retinue`;
  });
  return (
    <div class="page requests">
      <div class="above">
        <nav class="crumbs" aria-label="Ancestors">
          <a href={hrefTo({ page: "tree", uri: thread.root(), params: { sel: props.uri } })}>Tree</a>
          <a href={hrefTo({ page: "agent", uri: props.uri })}>{agentName(thread, props.uri)}</a>
        </nav>
        <div class="thread-name">
          <Show when={agent()}>{(shown) => <StatusBadge agent={shown()} />}</Show>
          <h1>API requests</h1>
          <span class="muted">{plural(requests.items().length, "request")}</span>
          <span class="spring" />
          <ParamCheck name="work">Hide internal model calls</ParamCheck>
        </div>
        <Show when={requests.error()}>{(error) => <Failure error={error()} />}</Show>
        <Show when={requests.isLoaded() && requests.items().length === 0}>
          <div class="muted nothing">
            <p>
              No requests of this agent were recorded. Start <code>retinue proxy</code>, and set its address as the base
              URL of the agent.
            </p>
          </div>
        </Show>
      </div>
      <ol class="request-list">
        <For each={requests.items().map(({ request_id }) => request_id)}>
          {(id, index) => (
            <Show when={requests.items().find(({ request_id }) => request_id === id)}>
              {(request) => (
                <li id={`request-${index()}`} classList={{ selected: index() === selected() }}>
                  <RequestView request={request()} open={isOpen(id)} onToggle={() => toggle(id)} />
                </li>
              )}
            </Show>
          )}
        </For>
      </ol>
      <Show when={requests.older()}>
        {(older) => (
          <button type="button" class="older" onClick={() => void older()()}>
            Older requests
          </button>
        )}
      </Show>
    </div>
  );
}
