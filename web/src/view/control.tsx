import { createResource, createSignal, For, Match, onCleanup, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { type Action, actionsFor, fieldsOf, type Permission, type Reply } from "../data/control.ts";
import { ago } from "../data/format.ts";
import { visible } from "../data/text.ts";
import { now, useClock } from "../state/clock.ts";
import { api } from "../state/server.ts";
import { Failure } from "./failure.tsx";
import { Overlay } from "./overlay.tsx";

const POLL_MS = 2_000;

const ACTION_LABELS: Readonly<Record<Action, string>> = {
  stop: "Stop this agent",
  background: "Move to the background",
  interrupt: "Interrupt its turn",
  send: "Send",
  continue: "Send to this agent",
};

/** Permission requests of an agent, and actions while it runs. */
export default function Control(props: { uri: string; onClose: () => void }) {
  useClock();
  const [state, { refetch }] = createResource(
    () => props.uri,
    async () => ({ permissions: await api.permissions(), threads: await api.steering() }),
  );
  const timer = setInterval(() => void refetch(), POLL_MS);
  onCleanup(() => clearInterval(timer));
  const [failure, setFailure] = createSignal<ApiError | null>(null);
  const [done, setDone] = createSignal("");
  /** Entered texts by request. They are kept if one response fails or does not list the request. */
  const drafts = new Map<string, string>();
  const requests = () => state.latest?.permissions.filter(({ uri }) => uri === props.uri) ?? [];
  const actions = () => actionsFor(props.uri, state.latest?.threads ?? []);
  const attempt = async (work: () => Promise<void>, success: string) => {
    setFailure(null);
    try {
      await work();
      setDone(success);
    } catch (error) {
      setFailure(error as ApiError);
    }
    void refetch();
  };
  return (
    <Overlay label="Control this agent" class="drawer" onClose={props.onClose}>
      <h2>Control this agent</h2>
      <Switch fallback={<p class="muted">Loading …</p>}>
        <Match when={state.error as ApiError | undefined}>{(error) => <Failure error={error()} />}</Match>
        <Match when={state.latest}>
          {/* By id, because each response has new objects and the entered text must not be lost. */}
          <For each={requests().map(({ id }) => id)}>
            {(id) => (
              <Show when={requests().find((request) => request.id === id)}>
                {(request) => (
                  <Request
                    request={request()}
                    drafts={drafts}
                    onReply={(reply, text) =>
                      void attempt(() => api.answer(id, reply, text), reply === "reject" ? "Rejected." : "Allowed.")
                    }
                  />
                )}
              </Show>
            )}
          </For>
          <Show when={actions().length > 0}>
            <Steering
              actions={actions()}
              onSteer={(action, text) => attempt(() => api.steer(props.uri, action, text), "Done.")}
            />
          </Show>
          <Show when={requests().length === 0 && actions().length === 0}>
            <p>
              retinue does not control this agent. It controls agents that were started with{" "}
              <code>retinue run --control</code>, and answers permission requests of followed servers.
            </p>
          </Show>
        </Match>
      </Switch>
      <Show when={failure()}>{(error) => <Failure error={error()} />}</Show>
      <p role="status">{done()}</p>
    </Overlay>
  );
}

/** A permission request with its complete input, and the possible replies. */
function Request(props: {
  request: Permission;
  drafts: Map<string, string>;
  onReply: (reply: Reply, text: string | undefined) => void;
}) {
  const [text, setText] = createSignal(props.drafts.get(props.request.id) ?? "");
  const offers = (reply: Reply) => props.request.replies.includes(reply);
  return (
    <section class="permission" aria-label="Permission request">
      <h3>
        Permission request: {visible(props.request.tool)} <span class="muted">{ago(props.request.askedAt, now())}</span>
      </h3>
      <For each={fieldsOf(props.request)} fallback={<p class="muted">The request has no further details.</p>}>
        {([name, value]) => (
          <>
            <h4>{name}</h4>
            <pre class="command">{value}</pre>
          </>
        )}
      </For>
      <Show when={offers("always") && props.request.always.length > 0}>
        <p>
          “Always allow” also allows the following, until the product's server restarts:{" "}
          <For each={props.request.always}>{(rule) => <code>{visible(rule)} </code>}</For>
        </p>
      </Show>
      <p class="actions">
        <button type="button" onClick={() => props.onReply("once", undefined)}>
          Allow once
        </button>
        <Show when={offers("always")}>
          <button type="button" class="quiet" onClick={() => props.onReply("always", undefined)}>
            Always allow
          </button>
        </Show>
        <button type="button" class="quiet" onClick={() => props.onReply("reject", text().trim() || undefined)}>
          Reject
        </button>
      </p>
      <input
        type="text"
        aria-label="Message to the model if you reject"
        placeholder="Message to the model if you reject"
        autocomplete="off"
        value={text()}
        onInput={(event) => props.drafts.set(props.request.id, setText(event.currentTarget.value))}
      />
    </section>
  );
}

/** Actions that send a message. */
const TEXT_ACTIONS: ReadonlySet<Action> = new Set<Action>(["send", "continue"]);

function Steering(props: {
  actions: readonly Action[];
  onSteer: (action: Action, text: string | undefined) => Promise<void>;
}) {
  const [text, setText] = createSignal("");
  const messageAction = () => props.actions.find((action) => TEXT_ACTIONS.has(action));
  return (
    <section class="steering" aria-label="While it runs">
      <h3>While it runs</h3>
      <p class="actions">
        <For each={props.actions.filter((action) => !TEXT_ACTIONS.has(action))}>
          {(action) => (
            <button type="button" class="quiet" onClick={() => void props.onSteer(action, undefined)}>
              {ACTION_LABELS[action]}
            </button>
          )}
        </For>
      </p>
      <Show when={messageAction()}>
        {(action) => (
          <form
            onSubmit={(event) => {
              event.preventDefault();
              void props.onSteer(action(), text().trim()).then(() => setText(""));
            }}
          >
            <input
              type="text"
              aria-label="Message"
              placeholder={action() === "send" ? "Message to the main agent" : "Message to this agent"}
              autocomplete="off"
              required
              value={text()}
              onInput={(event) => setText(event.currentTarget.value)}
            />
            <p class="actions">
              <button type="submit">{ACTION_LABELS[action()]}</button>
            </p>
            <Show when={action() === "continue"}>
              <p class="muted">The main agent receives the message and is asked to pass it on.</p>
            </Show>
          </form>
        )}
      </Show>
    </section>
  );
}
