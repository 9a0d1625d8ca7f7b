import { Show } from "solid-js";
import { isSharedThread, LEVEL_LABELS, serverName } from "../data/sharing.ts";
import type { AgentRecord } from "../data/types.ts";
import { sharing } from "../state/server.ts";

/** Marks a thread that is shared with the team server. */
export function SharedMark(props: { record: AgentRecord }) {
  const shared = () => {
    const settings = sharing();
    return settings !== null && isSharedThread(settings, props.record) ? settings : null;
  };
  return (
    <Show when={shared()}>
      {(settings) => (
        <span class="shared" title={`Shared with ${serverName(settings())}: ${LEVEL_LABELS[settings().level]}`}>
          shared
        </span>
      )}
    </Show>
  );
}

/** In the head of a thread: whether it is shared with the team server, and how much of its text. */
export function SharedWith(props: { record: AgentRecord }) {
  return (
    <Show when={sharing()}>
      {(settings) => (
        <a class="shared" href="#/health" title={settings().url}>
          {isSharedThread(settings(), props.record)
            ? `shared with ${serverName(settings())}, ${LEVEL_LABELS[settings().level]}`
            : "not shared with the team"}
        </a>
      )}
    </Show>
  );
}
