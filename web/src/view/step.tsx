import { createMemo, createSignal, For, lazy, Match, Show, Suspense, Switch } from "solid-js";
import { eventAddress } from "../data/api.ts";
import { changeOf, gist } from "../data/edits.ts";
import type { LoadedEvent } from "../data/events.ts";
import { clock, count, dateAndTime } from "../data/format.ts";
import { kindLabel } from "../data/kinds.ts";
import { inputWithoutPrompt, promptsOf, type Spawn } from "../data/spawns.ts";
import { oneLine } from "../data/text.ts";
import type { Step } from "../data/timeline.ts";
import { shownText, totalTokens } from "../data/types.ts";
import { hrefTo, owner } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { showToast } from "../state/toast.ts";
import { StatusMark } from "./status.tsx";
import { Text } from "./text.tsx";

const Diff = lazy(() => import("./diff.tsx"));

/** The text of an event on one line. */
export function summary(event: LoadedEvent): string {
  if (event.kind === "toolCall") return gist(event.inputHead ?? event.tool?.input);
  if (event.spawn !== null) return event.spawn.prompt ?? event.spawn.uri;
  if (event.status !== null) return `${event.status.status}: ${event.status.statusReason}`;
  return shownText(event) ?? "";
}

/** Loads the full text of an event. */
const fullText = (event: LoadedEvent) => async () => (await api.event(event.uri, event.id)).text ?? "";

interface StepProps {
  readonly step: Step;
  readonly open: boolean;
  readonly selected: boolean;
  readonly index: number;
  readonly onToggle: () => void;
}

/** A step of a timeline: messages in full, anything else on one line until opened. */
export function StepView(props: StepProps) {
  const event = () => props.step.event;
  const isFolding = () => event().kind !== "user" && event().kind !== "assistant";
  return (
    <article
      class="step"
      classList={{ selected: props.selected, failed: props.step.failed, open: props.open }}
      data-kind={event().kind}
      data-event={event().id}
      id={`row-${props.index}`}
    >
      <header>
        <Show
          when={isFolding()}
          fallback={
            <span class="step-line">
              <span class="kind">{kindLabel(event().kind)}</span>
            </span>
          }
        >
          <button
            type="button"
            class="step-line"
            tabindex="-1"
            aria-expanded={props.open}
            onClick={() => props.onToggle()}
          >
            <span class="fold">{props.open ? "▾" : "▸"}</span>
            <span class="kind">{event().tool?.name ?? kindLabel(event().kind)}</span>
            <span class="gist" dir="auto">
              {oneLine(summary(event()))}
            </span>
            <Outcome step={props.step} />
          </button>
        </Show>
        <Show when={event().usage}>
          {(usage) => (
            <span
              class="tokens"
              title={`${usage().inputTokens} input, ${usage().outputTokens} output, ${usage().cacheReadTokens} cache read, ${usage().cacheWriteTokens} cache write`}
            >
              {count(totalTokens(usage()))}
            </span>
          )}
        </Show>
        <time title={dateAndTime(event().at)}>{clock(event().at)}</time>
        <RawLink event={event()} />
      </header>
      <Spawned step={props.step} />
      <Show when={!isFolding() || props.open}>
        <Body step={props.step} />
      </Show>
    </article>
  );
}

/** The place of the record, for a tooltip. */
const placeText = ({ ref }: LoadedEvent) =>
  ref === null
    ? "Derived from several records"
    : "row" in ref
      ? `${ref.path}, row ${ref.row}`
      : `${ref.path}, line ${ref.line}`;

function RawLink(props: { event: LoadedEvent }) {
  return (
    <a
      class="raw"
      href={eventAddress(props.event.uri, props.event.id, owner())}
      target="_blank"
      rel="noopener"
      tabindex="-1"
      title={placeText(props.event)}
    >
      raw
    </a>
  );
}

function Outcome(props: { step: Step }) {
  return (
    <Switch>
      <Match when={props.step.event.kind !== "toolCall"}>{null}</Match>
      <Match when={props.step.failed}>
        <span class="badge bad">failed</span>
      </Match>
      <Match when={props.step.result === null}>
        <span class="badge">no result yet</span>
      </Match>
    </Switch>
  );
}

/** Links to spawned agents, which are visible even if the step is folded. */
function Spawned(props: { step: Step }) {
  const spawns = () => (props.step.event.kind === "spawn" ? [props.step.event] : props.step.spawned);
  return <For each={spawns()}>{(event) => <SpawnedLink event={event} />}</For>;
}

function SpawnedLink(props: { event: LoadedEvent; uri?: string }) {
  return (
    <Show when={props.event.spawn}>
      {(spawn) => (
        <a class="spawned" href={hrefTo({ page: "agent", uri: props.uri ?? spawn().uri })}>
          ↳ {spawn().type ?? "agent"} <code>{spawn().agentId ?? spawn().sessionId}</code>
          <Show when={spawn().background}>
            <span class="badge">bg</span>
          </Show>
        </a>
      )}
    </Show>
  );
}

/** The details of a spawn: the child, its prompt and the call. */
export function SpawnDetails(props: { spawn: Spawn }) {
  const callId = () => props.spawn.event.spawn?.toolCallId ?? null;
  const prompts = createMemo(() => promptsOf(props.spawn));
  return (
    <div class="step-body spawn-details">
      <SpawnedLink event={props.spawn.event} uri={props.spawn.child} />
      <Show when={prompts().sent}>
        {(sent) => (
          <>
            <h4>Prompt</h4>
            <Text text={sent()} markdown />
          </>
        )}
      </Show>
      <Show when={prompts().received}>
        {(received) => (
          <>
            <h4>
              {prompts().sent === null ? "Prompt" : "Prompt as received"} <RawLink event={received()} />
            </h4>
            <MessageText event={received()} markdown />
          </>
        )}
      </Show>
      <Show when={props.spawn.call}>
        {(call) => <Input event={call()} shownOf={(input) => inputWithoutPrompt(input, props.spawn)} />}
      </Show>
      <Show when={callId()}>
        {(id) => (
          <>
            <h4>
              Call <Show when={props.spawn.call}>{(call) => <RawLink event={call()} />}</Show>
            </h4>
            <p class="call-id">
              {props.spawn.call?.tool?.name} <code>{id()}</code>
            </p>
          </>
        )}
      </Show>
    </div>
  );
}

function Body(props: { step: Step }) {
  const event = () => props.step.event;
  return (
    <div class="step-body">
      <Switch fallback={<MessageText event={event()} markdown={event().kind !== "error"} />}>
        <Match when={event().kind === "toolCall"}>
          <Input event={event()} />
          <Show when={props.step.result}>
            {(result) => (
              <>
                <h4 classList={{ bad: props.step.failed }}>{props.step.failed ? "Error" : "Output"}</h4>
                <Show when={(result().text ?? "") !== ""} fallback={<p class="muted">No output.</p>}>
                  <Text text={result().text ?? ""} full={result().fullText} more={fullText(result())} />
                </Show>
              </>
            )}
          </Show>
        </Match>
        <Match when={event().kind === "toolResult"}>
          <MessageText event={event()} markdown={false} />
        </Match>
        <Match when={event().status}>
          {(status) => (
            <p>
              <StatusMark status={status().status} /> {status().status}: {status().statusReason}
            </p>
          )}
        </Match>
        <Match when={event().spawn}>{(spawn) => <Text text={spawn().prompt ?? ""} markdown />}</Match>
      </Switch>
    </div>
  );
}

/** The text of an event. If it has a summary, the text itself is folded. */
function MessageText(props: { event: LoadedEvent; markdown: boolean }) {
  const text = () => (
    <Text
      text={props.event.text ?? ""}
      full={props.event.fullText}
      markdown={props.markdown && props.event.summary === null}
      more={fullText(props.event)}
    />
  );
  return (
    <Show when={props.event.summary} fallback={text()}>
      {(summary) => (
        <>
          <Text text={summary()} markdown />
          <details class="raw-text">
            <summary>raw</summary>
            {text()}
          </details>
        </>
      )}
    </Show>
  );
}

/** The input of a tool call, as a diff if it changes a file. `shownOf` selects a part of it. */
function Input(props: { event: LoadedEvent; shownOf?: (input: unknown) => unknown }) {
  const [full, setFull] = createSignal<unknown>(undefined);
  const isCut = () => full() === undefined && (props.event.inputHead !== null || (props.event.cut ?? null) !== null);
  const input = () => {
    const all = full() ?? props.event.tool?.input;
    return props.shownOf === undefined ? all : props.shownOf(all);
  };
  const change = createMemo(() => changeOf(input()));
  const asText = () => (full() === undefined ? props.event.inputHead : null) ?? inputText(input());
  const load = async () => {
    try {
      setFull((await api.event(props.event.uri, props.event.id)).tool?.input);
    } catch (error) {
      showToast((error as Error).message, { isError: true });
    }
  };
  return (
    <>
      <Show
        when={change()}
        fallback={
          <Show when={asText() !== ""}>
            <h4>Input</h4>
            <Text text={asText()} language="json" />
          </Show>
        }
      >
        {(found) => (
          <Suspense fallback={<Text text={asText()} />}>
            <Diff change={found()} />
          </Suspense>
        )}
      </Show>
      <Show when={isCut()}>
        <button type="button" class="quiet more" onClick={() => void load()}>
          Load the full input
        </button>
      </Show>
    </>
  );
}

/** A string as it is; anything else as JSON. */
function inputText(input: unknown): string {
  if (input === null || input === undefined) return "";
  if (typeof input === "string") return input;
  return JSON.stringify(input, null, 2);
}
