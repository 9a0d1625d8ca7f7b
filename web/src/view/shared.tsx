import { Show } from "solid-js";
import { isSharedThread, LEVEL_LABELS, serverName } from "../data/sharing.ts";
import type { AgentRecord } from "../data/types.ts";
import { sharing } from "../state/server.ts";

/** Marks a thread that the team server gets. Nothing if there is no team server. */
export function SharedMark(props: { record: AgentRecord }) {
  const shared = () => {
    const all = sharing();
    return all !== null && isSharedThread(all, props.record) ? all : null;
  };
  return (
    <Show when={shared()}>
      {(all) => (
        <span class="shared" title={`Shared with ${serverName(all())}: ${LEVEL_LABELS[all().level]}`}>
          shared
        </span>
      )}
    </Show>
  );
}

/** In the head of a thread: whether the team server gets it, and how much of it. */
export function SharedWith(props: { record: AgentRecord }) {
  return (
    <Show when={sharing()}>
      {(all) => (
        <a class="shared" href="#/health" title={all().url}>
          {isSharedThread(all(), props.record)
            ? `shared with ${serverName(all())}, ${LEVEL_LABELS[all().level]}`
            : "not shared with the team"}
        </a>
      )}
    </Show>
  );
}
