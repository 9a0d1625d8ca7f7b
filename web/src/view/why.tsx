import { createResource, For, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { dateAndTime, percent } from "../data/format.ts";
import { visible } from "../data/text.ts";
import type { Why } from "../data/types.ts";
import { hrefTo } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { Failure } from "./failure.tsx";
import { Overlay } from "./overlay.tsx";
import { StatusMark, sourceLabel } from "./status.tsx";

/** All evidence for an agent's parent and status, and which of it decided. */
export default function WhyDrawer(props: { uri: string; onClose: () => void }) {
  const [found] = createResource(
    () => props.uri,
    (uri) => api.why(uri),
  );
  return (
    <Overlay label="Evidence" class="drawer" onClose={props.onClose}>
      <h2>Evidence</h2>
      <p>
        <code>{props.uri}</code>
      </p>
      <Switch>
        <Match when={found.error as ApiError | undefined}>{(error) => <Failure error={error()} />}</Match>
        <Match when={found()}>
          {(why) => (
            <>
              <h3>Parent</h3>
              <Parent why={why()} />
              <ParentEvidence why={why()} />
              <RefusedSpawns refused={why().refused} />
              <h3>Status</h3>
              <StatusEvidence why={why()} />
            </>
          )}
        </Match>
      </Switch>
    </Overlay>
  );
}

/** The parent, or how the thread was started; and threads that continue this one. */
function Parent(props: { why: Why }) {
  return (
    <>
      <Show when={props.why.parent} fallback={<NoParent why={props.why} />}>
        {(parent) => (
          <p>
            <a href={hrefTo({ page: "agent", uri: parent() })}>{parent()}</a>
          </p>
        )}
      </Show>
      <For each={props.why.continuedIn}>
        {(copy) => (
          <p>
            Continued in <a href={hrefTo({ page: "tree", uri: copy })}>{copy}</a>, which began as a copy of it.
          </p>
        )}
      </For>
      <Show when={props.why.undecided.length > 0}>
        <ul class="undecided">
          <For each={props.why.undecided}>{(text) => <li>{visible(text)}</li>}</For>
        </ul>
      </Show>
    </>
  );
}

function NoParent(props: { why: Why }) {
  return (
    <p>
      None. This is a top-level thread.
      <Show when={props.why.forkedFrom}>
        {(from) => (
          <>
            {" "}
            It began as a copy of <a href={hrefTo({ page: "tree", uri: from() })}>{from()}</a>.
          </>
        )}
      </Show>
      <Show when={props.why.undecided.length > 0}>
        {" "}
        An agent may have started it, but the evidence is not conclusive:
      </Show>
    </p>
  );
}

function ParentEvidence(props: { why: Why }) {
  return (
    <ol class="evidence">
      <For each={props.why.parentEvidence}>
        {(piece) => (
          <li classList={{ decided: piece.decided }}>
            <div>
              <Show when={piece.decided}>
                <span class="chip">decided</span>
              </Show>
              <b>{piece.rule}</b> <span class="muted">{sourceLabel(piece.source)}</span>
              <span class="confidence" title="Confidence">
                {percent(piece.confidence)}
              </span>
            </div>
            <p>{visible(piece.says)}</p>
            <Show when={piece.parent !== props.why.parent && piece.parent}>
              {(other) => <p class="muted">names {other()}</p>}
            </Show>
            <Show when={piece.from}>{(from) => <code>{visible(from())}</code>}</Show>
          </li>
        )}
      </For>
    </ol>
  );
}

function RefusedSpawns(props: { refused: Why["refused"] }) {
  return (
    <Show when={props.refused.length > 0}>
      <h3>Refused spawns</h3>
      <p class="muted">These calls started no agent.</p>
      <ol class="evidence refused">
        <For each={props.refused}>
          {(call) => (
            <li>
              <div>
                <span class="chip">⊘ {call.type ?? call.tool}</span> <b>{visible(call.description ?? "")}</b>{" "}
                <span class="muted">{dateAndTime(call.at)}</span>
              </div>
              <p>{visible(call.reason ?? "no reason is recorded")}</p>
              <code>{call.toolCallId}</code>
            </li>
          )}
        </For>
      </ol>
    </Show>
  );
}

function StatusEvidence(props: { why: Why }) {
  const status = () => props.why.status;
  return (
    <>
      <p>
        <StatusMark status={status().status} /> <b>{status().status}</b>{" "}
        <span class="muted">{sourceLabel(status().statusSource)}</span>
        <Show when={status().activity}>{(activity) => <> · {visible(activity())}</>}</Show>
      </p>
      <ol class="evidence">
        <li class="decided">
          <span class="chip">decided</span>
          <p>{visible(status().statusReason)}</p>
        </li>
        <For each={props.why.statusEvidence}>
          {(piece) => (
            <li>
              <div class="muted">
                {dateAndTime(piece.at)} · {sourceLabel(piece.source)}
              </div>
              <p>{visible(piece.says)}</p>
              <Show when={piece.from}>{(from) => <code>{visible(from())}</code>}</Show>
            </li>
          )}
        </For>
      </ol>
    </>
  );
}
