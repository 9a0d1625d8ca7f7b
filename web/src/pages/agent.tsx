import { type Accessor, createEffect, createMemo, createSignal, on, onCleanup, Show } from "solid-js";
import { displayName, plural } from "../data/format.ts";
import { nextMatch } from "../data/next-match.ts";
import { placeOf } from "../data/place.ts";
import { type Step, timeline } from "../data/timeline.ts";
import { useClock } from "../state/clock.ts";
import { type Events, useEvents } from "../state/events.ts";
import { listKeys, useKeys } from "../state/keys.ts";
import { isFollowing } from "../state/log.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { isTeam } from "../state/server.ts";
import { useThread } from "../state/thread.ts";
import { AgentDialogs } from "../view/agent-dialogs.tsx";
import { AgentHead } from "../view/agent-head.tsx";
import { Failure } from "../view/failure.tsx";
import { List } from "../view/list.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { StepView } from "../view/step.tsx";
import { ThreadContent } from "../view/thread-content.tsx";

/** One agent: what it was asked, what it returned, and its timeline. */
export default function AgentPage(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  /** The root if the thread has no agent of this URI, such as a short form of the thread's URI. */
  const agent = () => {
    thread.shape();
    const root = thread.root();
    return thread.agent(props.uri) ?? (root !== null && !thread.set.has(props.uri) ? thread.agent(root) : undefined);
  };
  const events = useEvents(() => props.uri, { subtree: false, belongs: (event) => event.uri === agent()?.uri });
  const steps = createMemo(() => timeline(events.items()));
  const { selected, isOpen, toggle, keys } = createTimeline(steps);
  const [aboveHeight, setAboveHeight] = createSignal(0);

  /** Goes to the next or previous agent of the thread, in the order of the tree. */
  const goBy = (step: number) => {
    const uris = thread.set.subtree(thread.root() ?? "");
    const next = uris[uris.indexOf(props.uri) + step];
    if (next !== undefined) go("agent", next);
  };
  useKeys({
    ...keys,
    u: () => go("tree", thread.root(), { sel: props.uri }),
    w: () => setParams({ why: props.uri }),
    a: () => setParams({ attach: isTeam ? null : props.uri }),
    p: () => setParams({ control: isTeam ? null : props.uri }),
    l: () => go("log", thread.root()),
    "[": () => goBy(-1),
    "]": () => goBy(1),
  });
  createEffect(() => {
    const shown = agent();
    document.title = shown === undefined ? "retinue" : `${displayName(shown)} · retinue`;
  });

  const above = (
    <div
      class="above"
      ref={(element) => {
        const observer = new ResizeObserver(() => setAboveHeight(element.offsetHeight));
        observer.observe(element);
        onCleanup(() => observer.disconnect());
      }}
    >
      <Show when={agent()} keyed={false}>
        {(shown) => <AgentHead agent={shown()} thread={thread} />}
      </Show>
      <TimelineHead steps={steps().length} events={events} />
    </div>
  );
  return (
    <div class="page agent">
      <ThreadContent thread={thread}>
        <List
          label="Timeline"
          class="timeline"
          rows={steps()}
          measured
          height={({ event: { kind } }) => (kind === "user" || kind === "assistant" ? 90 : 40)}
          selected={selected()}
          follow={isFollowing()}
          aboveHeight={aboveHeight()}
          above={above}
          row={(row, index) => (
            <StepView
              step={row()}
              index={index()}
              open={isOpen(row())}
              selected={index() === selected()}
              onToggle={() => toggle(row())}
            />
          )}
        />
      </ThreadContent>
      <AgentDialogs />
    </div>
  );
}

function TimelineHead(props: { steps: number; events: Events }) {
  return (
    <>
      <div class="timeline-head">
        <h2>Timeline</h2>
        <span class="muted">
          {plural(props.steps, "step")}
          {props.events.complete() ? "" : " so far …"}
        </span>
        <span class="spring" />
        <ParamCheck name="follow">
          Follow live <kbd>f</kbd>
        </ParamCheck>
      </div>
      <Show when={props.events.error()}>{(error) => <Failure error={error()} />}</Show>
    </>
  );
}

/** Which steps of a timeline are open and selected. The URL names the selected step. */
function createTimeline(steps: Accessor<readonly Step[]>) {
  const [toggled, setToggled] = createSignal<ReadonlyMap<string, boolean>>(new Map());
  const [selected, setSelected] = createSignal(-1);
  /** The step in the URL, by the id of its event or by the place of a record, as in search results. */
  const target = createMemo(() => {
    const { event, at } = route().params;
    if (event === undefined && at === undefined) return undefined;
    return steps().find(
      (step) =>
        step.id === event || [step.event, step.result].some((one) => one?.ref != null && placeOf(one.ref) === at),
    );
  });
  createEffect(
    on(
      () => target()?.id,
      (id) => {
        if (id !== undefined) setSelected(steps().findIndex((step) => step.id === id));
      },
    ),
  );
  // Errors and the step in the URL are open until they are folded.
  const isOpen = (step: Step) => toggled().get(step.id) ?? (step.event.kind === "error" || step.id === target()?.id);
  const toggle = (step: Step | undefined) => {
    if (step !== undefined) setToggled(new Map([...toggled(), [step.id, !isOpen(step)]]));
  };
  const select = (index: number | null) => {
    if (index === null) return;
    setSelected(index);
    const step = steps()[index];
    if (step !== undefined) setParams({ event: step.id, at: null });
  };
  const nextError = (direction: 1 | -1) => () =>
    select(nextMatch(steps(), selected(), direction, ({ failed }) => failed));
  return {
    selected,
    isOpen,
    toggle,
    keys: {
      ...listKeys({ count: () => steps().length, selected, select, open: (index) => toggle(steps()[index]) }),
      f: () => setParams({ follow: isFollowing() ? null : "1" }),
      e: nextError(1),
      E: nextError(-1),
    },
  };
}
