import { createMemo, createSignal, For, Show } from "solid-js";
import { displayName } from "../data/format.ts";
import { isUri } from "../data/route.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { api } from "../state/server.ts";
import type { Thread } from "../state/thread.ts";
import { showToast } from "../state/toast.ts";
import { Overlay } from "./overlay.tsx";
import { StatusMark } from "./status.tsx";

const MAX_SHOWN = 60;

/** Removes a manual link and confirms it. */
export async function undoLink(uri: string, thread: Thread): Promise<void> {
  try {
    await api.unlink(uri);
    await thread.reload();
    showToast("Removed the manual link.");
  } catch (error) {
    showToast((error as Error).message, { isError: true });
  }
}

/** Sets the parent of an agent manually. */
export default function RelinkDialog(props: { agent: AgentRecord; thread: Thread; onClose: () => void }) {
  const [query, setQuery] = createSignal("");
  const [selected, setSelected] = createSignal(0);
  /** All agents of the thread that match, except the agent, its subtree and its current parent. */
  const candidates = createMemo(() => {
    const { set } = props.thread;
    const own = new Set(set.subtree(props.agent.uri));
    const text = query().toLowerCase().trim();
    return set
      .subtree(props.thread.root() ?? "")
      .filter((uri) => !own.has(uri) && uri !== props.agent.parent)
      .flatMap((uri) => set.get(uri) ?? [])
      .filter((agent) => `${displayName(agent)} ${agent.type ?? ""} ${agent.uri}`.toLowerCase().includes(text));
  });
  /** The entered URI, if it is that of an agent of another thread. */
  const enteredUri = () => {
    const text = query().trim();
    return isUri(text) && !candidates().some(({ uri }) => uri === text) ? text : null;
  };
  const link = async (parent: string | undefined) => {
    if (parent === undefined) return;
    try {
      const uri = await api.link(props.agent.uri, parent);
      props.onClose();
      await props.thread.reload();
      const record = props.thread.set.get(parent);
      showToast(`Moved to ${oneLine(record === undefined ? parent : displayName(record), 60)}.`, {
        action: { label: "Undo", run: () => void undoLink(uri, props.thread) },
      });
    } catch (error) {
      showToast((error as Error).message, { isError: true });
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setSelected((at) => Math.max(0, Math.min(Math.min(MAX_SHOWN, candidates().length) - 1, at + step)));
    } else if (event.key === "Enter") {
      event.preventDefault();
      void link(enteredUri() ?? candidates()[selected()]?.uri);
    }
  };
  return (
    <Overlay label="Change parent" onClose={props.onClose}>
      <h2>Change parent</h2>
      <p>
        <b>{oneLine(displayName(props.agent))}</b> <code>{props.agent.uri}</code>
      </p>
      <p class="muted">
        A manual link overrides all other evidence, is shown as manual, and can be removed. The product's records are
        not changed.
      </p>
      <input
        data-first
        type="text"
        placeholder="Name or URI of the parent"
        aria-label="Name or URI of the parent"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setSelected(0);
        }}
        onKeyDown={onKeyDown}
      />
      <ul class="pick">
        <Show when={enteredUri()}>
          {(uri) => (
            <li>
              <button type="button" onClick={() => void link(uri())}>
                {uri()}
              </button>
            </li>
          )}
        </Show>
        <For each={candidates().slice(0, MAX_SHOWN)} fallback={<li class="muted">No agent matches.</li>}>
          {(agent, index) => (
            <li>
              <button
                type="button"
                classList={{ selected: index() === selected() && enteredUri() === null }}
                onClick={() => void link(agent.uri)}
              >
                <StatusMark status={agent.status} /> {oneLine(displayName(agent), 80)}{" "}
                <span class="muted">{agent.agentId ?? "the thread itself"}</span>
              </button>
            </li>
          )}
        </For>
      </ul>
    </Overlay>
  );
}
