import { For, Show } from "solid-js";
import { ago, bytes, dateAndTime, plural } from "../data/format.ts";
import { LEVEL_LABELS } from "../data/sharing.ts";
import { visible } from "../data/text.ts";
import type { Sharing } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo } from "../state/navigation.ts";

/** The report of `retinue ship --status`. */
export default function SharingReport(props: { sharing: Sharing }) {
  return (
    <section class="sharing">
      <h2>Shared with the team</h2>
      <dl class="facts">
        <dt>Server</dt>
        <dd>
          <a href={props.sharing.url} target="_blank" rel="noreferrer">
            {props.sharing.url}
          </a>
        </dd>
        <dt>Projects</dt>
        <dd>
          <Show when={props.sharing.projects.length > 0} fallback="all">
            <For each={props.sharing.projects}>{(folder) => <code>{visible(folder)} </code>}</For>
          </Show>
        </dd>
        <dt>Level</dt>
        <dd>
          {props.sharing.level}: {LEVEL_LABELS[props.sharing.level]}
        </dd>
        <Show when={props.sharing.waiting}>{(waiting) => <Waiting waiting={waiting()} />}</Show>
      </dl>
    </section>
  );
}

function Waiting(props: { waiting: NonNullable<Sharing["waiting"]> }) {
  const counts = () => Object.entries(props.waiting.threads).map(([why, count]) => `${count} ${why}`);
  const total = () => Object.values(props.waiting.threads).reduce((sum, count) => sum + count, 0);
  return (
    <>
      <dt>Not shipped yet</dt>
      <dd>
        <Show when={total() > 0} fallback={<span class="fine">✓ none; everything shared has been shipped</span>}>
          <details>
            <summary>
              {plural(total(), "thread")}: {counts().join(", ")}
            </summary>
            <ul>
              <For each={props.waiting.items}>
                {({ uri, why, reason }) => (
                  <li>
                    <Show when={why !== "removed"} fallback={<code>{visible(uri)}</code>}>
                      <a href={hrefTo({ page: "tree", uri })}>{visible(uri)}</a>
                    </Show>{" "}
                    <span class="muted">{why}</span>
                    <Show when={reason}>
                      {(text) => <span class="bad">: {visible(text())}; everything else is sent</span>}
                    </Show>
                  </li>
                )}
              </For>
              <Show when={total() > props.waiting.items.length}>
                <li class="muted">… and {total() - props.waiting.items.length} more</li>
              </Show>
            </ul>
          </details>
        </Show>
      </dd>
      <Show when={props.waiting.reason}>
        {(reason) => (
          <>
            <dt>Problem</dt>
            <dd class="bad" role="alert">
              {visible(reason())}
              <Show when={props.waiting.nextAt}>
                {(at) => <span class="muted"> Next attempt {dateAndTime(at())}.</span>}
              </Show>
            </dd>
          </>
        )}
      </Show>
      <dt>Acknowledged</dt>
      <dd>
        <Show when={props.waiting.sentAt} fallback="none yet">
          {(at) => (
            <>
              {plural(props.waiting.documents, "document")}, {bytes(props.waiting.bytes)}; last{" "}
              <span title={dateAndTime(at())}>{ago(at(), now())}</span>
            </>
          )}
        </Show>
      </dd>
    </>
  );
}
