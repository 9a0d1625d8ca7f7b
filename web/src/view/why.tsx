import { createResource, For, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { dateAndTime, percent } from "../data/format.ts";
import { visible } from "../data/text.ts";
import { hrefTo } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { Failure } from "./failure.tsx";
import { Overlay } from "./overlay.tsx";
import { StatusMark, sourceLabel } from "./status.tsx";

/** All evidence for an agent's parent and status, and what decided. */
export default function Why(props: { uri: string; onClose: () => void }) {
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
              <Show
                when={why().parent}
                fallback={
                  <p>
                    None: this is a top-level thread.
                    <Show when={why().forkedFrom}>
                      {(from) => (
                        <>
                          {" "}
                          It began as a copy of <a href={hrefTo({ page: "tree", uri: from() })}>{from()}</a>.
                        </>
                      )}
                    </Show>
                    <Show when={why().undecided.length > 0}>
                      {" "}
                      An agent may have started it; the records do not decide:
                    </Show>
                  </p>
                }
              >
                {(parent) => (
                  <p>
                    <a href={hrefTo({ page: "agent", uri: parent() })}>{parent()}</a>
                  </p>
                )}
              </Show>
              <For each={why().continuedIn}>
                {(copy) => (
                  <p>
                    Continued in <a href={hrefTo({ page: "tree", uri: copy })}>{copy}</a>, which began as a copy of it.
                  </p>
                )}
              </For>
              <Show when={why().undecided.length > 0}>
                <ul class="undecided">
                  <For each={why().undecided}>{(text) => <li>{visible(text)}</li>}</For>
                </ul>
              </Show>
              <ol class="evidence">
                <For each={why().parentEvidence}>
                  {(piece) => (
                    <li classList={{ decided: piece.decided }}>
                      <div>
                        <Show when={piece.decided}>
                          <span class="chip">decided</span>
                        </Show>
                        <b>{piece.rule}</b>{" "}
                        <span class="muted">{piece.source === "manual" ? "by hand" : sourceLabel(piece.source)}</span>
                        <span class="confidence" title="Confidence">
                          {percent(piece.confidence)}
                        </span>
                      </div>
                      <p>{visible(piece.says)}</p>
                      <Show when={piece.parent !== why().parent && piece.parent}>
                        {(other) => <p class="muted">names {other()}</p>}
                      </Show>
                      <Show when={piece.from}>{(from) => <code>{visible(from())}</code>}</Show>
                    </li>
                  )}
                </For>
              </ol>
              <Show when={why().refused.length > 0}>
                <h3>Refused spawns</h3>
                <p class="muted">No agents exist for these calls.</p>
                <ol class="evidence refused">
                  <For each={why().refused}>
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
              <h3>Status</h3>
              <p>
                <StatusMark status={why().status.status} /> <b>{why().status.status}</b>{" "}
                <span class="muted">{sourceLabel(why().status.statusSource)}</span>
                <Show when={why().status.activity}>{(activity) => <> · {visible(activity())}</>}</Show>
              </p>
              <ol class="evidence">
                <li class="decided">
                  <span class="chip">decided</span>
                  <p>{visible(why().status.statusReason)}</p>
                </li>
                <For each={why().statusEvidence}>
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
          )}
        </Match>
      </Switch>
    </Overlay>
  );
}
