import "../styles/explain.css";
import { createMemo, createSignal, For, lazy, Match, Show, Suspense, Switch } from "solid-js";
import { dateAndTime, plural } from "../data/format.ts";
import { visible } from "../data/text.ts";
import type { FileUse, UsedFile } from "../data/types.ts";
import { createKeyedResource } from "../state/keyed-resource.ts";
import { useKeys } from "../state/keys.ts";
import { go, hrefTo, route } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { agentName } from "../view/agent-name.ts";
import { Failure } from "../view/failure.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { ThreadHead } from "../view/thread-head.tsx";

const Diff = lazy(() => import("../view/diff.tsx"));

/** The files that the agents of a thread read and changed. */
export default function FilesPage(props: { uri: string }) {
  const thread = useThread(() => props.uri);
  const found = createKeyedResource(
    () => props.uri,
    (uri) => api.files(uri),
  );
  const onlyShared = () => route().params.shared === "1";
  const all = createMemo(() => found.value()?.items ?? []);
  const shown = createMemo(() => (onlyShared() ? all().filter(({ agents }) => agents.length > 1) : all()));
  useKeys({ r: found.refetch, u: () => go("tree", thread.root()) });
  document.title = "Files · retinue";
  return (
    <div class="page scroll files">
      <ThreadHead thread={thread} />
      <Switch fallback={<p class="muted">Reading the records of all agents …</p>}>
        <Match when={found.error()}>{(error) => <Failure error={error()} onRetry={found.refetch} />}</Match>
        <Match when={found.value() !== undefined && all().length === 0}>
          <p class="muted">No tool call names a file. Files used by shell commands are not recorded.</p>
        </Match>
        <Match when={found.value()}>
          <div class="page-head">
            <h2>{plural(shown().length, "file")}</h2>
            <ParamCheck name="shared">Used by several agents</ParamCheck>
          </div>
          <ol class="used-files">
            <For each={shown()}>{(file) => <FileView file={file} thread={thread} />}</For>
          </ol>
        </Match>
      </Switch>
    </div>
  );
}

const summaryOf = ({ reads, writes, edits }: UsedFile) =>
  [reads > 0 ? `read ${reads}×` : "", writes > 0 ? `written ${writes}×` : "", edits > 0 ? `edited ${edits}×` : ""]
    .filter((text) => text !== "")
    .join(" · ");

function FileView(props: { file: UsedFile; thread: Thread }) {
  const [open, setOpen] = createSignal(false);
  return (
    <li>
      <button type="button" class="quiet" aria-expanded={open()} onClick={() => setOpen(!open())}>
        <span class="twist">{open() ? "▾" : "▸"}</span> <code>{visible(props.file.path)}</code>
      </button>
      <span class="muted">{summaryOf(props.file) || "failed"}</span>
      <Show when={props.file.agents.length > 1}>
        <span class="chip">{plural(props.file.agents.length, "agent")}</span>
      </Show>
      <Show when={open()}>
        <ul>
          <For each={props.file.uses}>{(use) => <UseView use={use} thread={props.thread} />}</For>
        </ul>
      </Show>
    </li>
  );
}

function UseView(props: { use: FileUse; thread: Thread }) {
  return (
    <li>
      <span>{props.use.kind}</span> by{" "}
      <a href={hrefTo({ page: "agent", uri: props.use.uri, params: { event: props.use.event } })}>
        {agentName(props.thread, props.use.uri)}
      </a>{" "}
      <span class="muted">
        {props.use.tool ?? ""} · {dateAndTime(props.use.at)}
        {props.use.isError ? " · failed" : ""}
      </span>
      <Show when={props.use.change}>
        {(change) => (
          <Suspense>
            <Diff change={change()} />
          </Suspense>
        )}
      </Show>
    </li>
  );
}
