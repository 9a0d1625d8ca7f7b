import { createResource, For, lazy, Show, Suspense } from "solid-js";
import type { FileChange } from "../data/edits.ts";
import { clock, count, dateAndTime, duration, plural } from "../data/format.ts";
import type { Piece, RequestDetail, RequestRecord, Subtask } from "../data/requests.ts";
import { messageRuns, readableText } from "../data/requests.ts";
import { oneLine, visible } from "../data/text.ts";
import { totalTokens } from "../data/types.ts";
import { hrefTo } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { Failure } from "./failure.tsx";
import { StatusMark } from "./status.tsx";
import { Text } from "./text.tsx";
import { tooltip } from "./tip.tsx";

const Diff = lazy(() => import("./diff.tsx"));

/** One request on a line, with the agents that its response spawned; opened, with its content and response. */
export function RequestView(props: { request: RequestRecord; open: boolean; onToggle: () => void }) {
  return (
    <article class="request" data-request={props.request.request_id} data-status={props.request.status}>
      <header>
        <button type="button" class="request-line" aria-expanded={props.open} onClick={() => props.onToggle()}>
          <span class="fold">{props.open ? "▾" : "▸"}</span>
          <RequestSummary request={props.request} />
        </button>
        <time title={dateAndTime(props.request.started_at)}>{clock(props.request.started_at)}</time>
      </header>
      <Show when={props.request.task_tool_invocation.length > 0}>
        <Subtasks request={props.request} />
      </Show>
      <Show when={props.open}>
        <Detail id={props.request.request_id} />
      </Show>
    </article>
  );
}

function RequestSummary(props: { request: RequestRecord }) {
  const request = () => props.request;
  return (
    <>
      <StatusMark status={request().status} />
      <span class="request-name">{request().model ?? `${request().method} ${request().path}`}</span>
      <Show when={request().tag}>{(tag) => <span class="badge">{tag()}</span>}</Show>
      <Show when={request().is_retry}>
        <span class="badge">retry</span>
      </Show>
      <Show when={request().branch !== "main"}>
        <span class="badge">{request().branch}</span>
      </Show>
      <Show when={request().error}>
        {(error) => <span class="badge bad request-error">{oneLine(error(), 80)}</span>}
      </Show>
      <span class="request-facts muted">
        {plural(request().message_count, "message")}
        <Show when={request().usage}>{(usage) => <> · {count(totalTokens(usage()))} tokens</>}</Show>
        <Show when={request().first_token_ms !== null}> · first token {duration(request().first_token_ms)}</Show>
        <Show when={request().duration_ms !== null}> · {duration(request().duration_ms)}</Show>
      </span>
    </>
  );
}

/** Links to the agents that the response spawned. */
function Subtasks(props: { request: RequestRecord }) {
  const [subtasks] = createResource(
    () => [props.request.request_id, props.request.status, props.request.task_tool_invocation.length] as const,
    ([id]) => api.subtasks(id).catch(() => [] as readonly Subtask[]),
  );
  return (
    <nav class="subtasks" aria-label="Sub-tasks">
      <For each={subtasks.latest ?? []}>
        {(task) => (
          <a
            class="subtask"
            href={hrefTo({ page: "agent", uri: task.uri })}
            {...tooltip(() => <SubtaskTip task={task} />)}
          >
            <StatusMark status={task.status} /> sub-task {task.task_number}
            <span class="subtask-what">{oneLine(task.description ?? task.prompt ?? task.uri, 60)}</span>
            <span>{plural(task.message_count, "message")}</span>
            <span>{count(task.tokens)} tokens</span>
          </a>
        )}
      </For>
    </nav>
  );
}

function SubtaskTip(props: { task: Subtask }) {
  return (
    <div class="subtask-tip">
      <strong>
        Sub-task {props.task.task_number}: {props.task.status}
      </strong>
      <p dir="auto">{visible((props.task.prompt ?? "The prompt is not recorded.").slice(0, 600))}</p>
      <p class="muted">
        {plural(props.task.message_count, "message")}, {count(props.task.tokens)} tokens,{" "}
        {duration(props.task.duration_ms)}
      </p>
    </div>
  );
}

function Detail(props: { id: string }) {
  const [detail] = createResource(() => props.id, api.request.bind(api));
  return (
    <div class="request-detail">
      <Show when={detail.error === undefined} fallback={<Failure error={detail.error} />}>
        <Show when={detail()} fallback={<p class="muted">Loading …</p>}>
          {(shown) => <Content detail={shown()} />}
        </Show>
      </Show>
    </div>
  );
}

function Content(props: { detail: RequestDetail }) {
  const content = () => props.detail.content;
  return (
    <>
      <p class="muted">{props.detail.status_reason}</p>
      <h3>Sent</h3>
      <Folded title="System prompt" detail={props.detail} part="system" />
      <Folded title="Tools" detail={props.detail} part="tools" />
      <details class="piece">
        <summary>Headers and settings</summary>
        <Text
          text={JSON.stringify(
            { headers: content().headers, settings: content().settings, response: content().response_headers },
            null,
            2,
          )}
          language="json"
        />
      </details>
      <Messages detail={props.detail} />
      <h3>Response</h3>
      <For each={content().answer} fallback={<p class="muted">{props.detail.error ?? "No response yet."}</p>}>
        {(block) => (
          <div class="piece answer">
            <span class="kind">{String(block.type ?? "")}</span>
            <Text text={readableText(block)} markdown={block.type === "text"} />
          </div>
        )}
      </For>
    </>
  );
}

/** The messages of a request. Those that the previous request had as well are folded. */
function Messages(props: { detail: RequestDetail }) {
  const previous = () => props.detail.content.previous;
  return (
    <>
      <For each={messageRuns(props.detail.content.messages, previous() !== null)}>
        {(run) =>
          run.is === "new" ? (
            <Message request={props.detail.request_id} piece={run.message} isNew={previous() !== null} />
          ) : (
            <details class="piece before">
              <summary>{plural(run.messages.length, "message")} as in the previous request</summary>
              <For each={run.messages}>
                {(piece) => <Message request={props.detail.request_id} piece={piece} isNew={false} />}
              </For>
            </details>
          )
        }
      </For>
      <Show when={(previous()?.gone.length ?? 0) > 0}>
        <p class="muted">
          {plural(previous()?.gone.length ?? 0, "message")} of the previous request not in this one, or changed.
        </p>
      </Show>
    </>
  );
}

function Message(props: { request: string; piece: Piece; isNew: boolean }) {
  return (
    <div class="piece" classList={{ new: props.isNew }}>
      <span class="kind">{props.piece.role}</span>
      <PieceText request={props.request} piece={props.piece} />
    </div>
  );
}

/** The system prompt or the tools, folded: equal in most requests, or shown as a diff to the previous request. */
function Folded(props: { title: string; detail: RequestDetail; part: "system" | "tools" }) {
  return (
    <Show when={props.detail.content[props.part]}>
      {(piece) => (
        <FoldedPiece
          title={props.title}
          request={props.detail.request_id}
          piece={piece()}
          previousPiece={props.detail.content.previous?.[props.part] ?? null}
          previousRequest={props.detail.previous_request_id}
        />
      )}
    </Show>
  );
}

function FoldedPiece(props: {
  title: string;
  request: string;
  piece: Piece;
  /** The piece in the previous request; null if it had none. */
  previousPiece: string | null;
  previousRequest: string | null;
}) {
  const isChanged = () => props.previousPiece !== null && props.previousPiece !== props.piece.piece;
  const [change] = createResource(
    () => (isChanged() ? ([props.previousRequest ?? "", props.previousPiece ?? ""] as const) : null),
    async ([request, piece]): Promise<FileChange> => {
      const [before, after] = await Promise.all([
        api.piece(request, piece),
        api.piece(props.request, props.piece.piece),
      ]);
      return { is: "edits", edits: [{ path: null, before: readableText(before), after: readableText(after) }] };
    },
  );
  return (
    <details class="piece">
      <summary>
        {props.title} <span class="muted">{plural(props.piece.chars, "character")}</span>
        <Show when={isChanged()}>
          <span class="badge">changed</span>
        </Show>
        <Show when={props.previousPiece === props.piece.piece}>
          <span class="muted"> as in the previous request</span>
        </Show>
      </summary>
      <Show when={change()} fallback={<PieceText request={props.request} piece={props.piece} />}>
        {(found) => (
          <Suspense>
            <Diff change={found()} />
          </Suspense>
        )}
      </Show>
    </details>
  );
}

/** The beginning of a text; the rest is loaded on demand. */
function PieceText(props: { request: string; piece: Piece }) {
  return (
    <Text
      text={props.piece.preview}
      full={props.piece.chars}
      more={async () => readableText(await api.piece(props.request, props.piece.piece))}
    />
  );
}
