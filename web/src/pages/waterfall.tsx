import "../styles/pictures.css";
import { createEffect, createMemo, createSignal, For, onCleanup, Show } from "solid-js";
import { displayName, percent } from "../data/format.ts";
import { icicle, MEASURES, type Measure, ownOf } from "../data/icicle.ts";
import type { AgentRecord } from "../data/types.ts";
import { sharesOf, type Waterfall, waterfall } from "../data/waterfall.ts";
import { useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { useSpans } from "../state/spans.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { Failure } from "../view/failure.tsx";
import { IcicleView } from "../view/icicle.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { ThreadContent } from "../view/thread-content.tsx";
import { ThreadHead } from "../view/thread-head.tsx";
import { TimesTable } from "../view/times-table.tsx";
import { TypeLegend } from "../view/type-legend.tsx";
import { WaterfallView } from "../view/waterfall.tsx";

const MEASURE_LABELS: Readonly<Record<Measure, string>> = {
  time: "Working time",
  cost: "Cost",
  tokens: "Tokens",
  calls: "Model calls",
};

/** Update interval of the right edge while agents run. */
const GROW_MS = 200;
/** Number of agents named in the summary of the critical path. */
const SUMMARY_AGENTS = 3;

const isIcicle = () => route().params.as === "icicle";
const measure = (): Measure => MEASURES.find((one) => one === route().params.by) ?? "time";
const hasTable = () => route().params.table === "1";
const showsPath = () => route().params.path !== "0";
const select = (uri: string) => setParams({ sel: uri });

/** When the agents of a thread worked, as a waterfall, an icicle or a table. */
export default function WaterfallPage(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const spans = useSpans(() => props.uri, thread);
  const now = useGrowingEdge(thread);
  const selected = () => route().params.sel ?? (props.uri === thread.root() ? null : props.uri);
  const picture = createMemo(() => {
    thread.pulse();
    const root = thread.root();
    return root === null || spans.version() === 0 ? null : waterfall(thread.set, root, spans.set, now());
  });
  const boxes = createMemo(() => {
    thread.pulse();
    spans.version();
    const root = thread.root();
    return root === null || !isIcicle()
      ? null
      : icicle(thread.set, root, (record) => ownOf(record, measure(), spans.set, now()));
  });
  const shares = createMemo(() => sharesOf(picture()?.path ?? []));

  useKeys({
    t: () => setParams({ table: hasTable() ? null : "1" }),
    i: () => setParams({ as: isIcicle() ? null : "icicle" }),
    c: () => setParams({ path: showsPath() ? "0" : null }),
    u: () => go("tree", thread.root()),
    l: () => go("log", thread.root()),
  });
  createEffect(() => {
    thread.pulse();
    const root = thread.set.get(thread.root() ?? "");
    document.title =
      root === undefined ? "retinue" : `${displayName(root)} · ${isIcicle() ? "icicle" : "waterfall"} · retinue`;
  });

  return (
    <div class="page pictures">
      <ThreadContent thread={thread}>
        <ThreadHead thread={thread} />
        <PictureTools picture={picture()} shares={shares()} agent={(uri) => thread.set.get(uri)} />
        <Show when={spans.error()}>{(error) => <Failure error={error()} />}</Show>
        <Show when={picture()} fallback={<p class="waiting muted">Loading spans …</p>}>
          {(shown) => (
            <Show
              when={hasTable()}
              fallback={
                <Show
                  when={isIcicle() ? boxes() : null}
                  fallback={<WaterfallView picture={shown()} now={now()} selected={selected()} onSelect={select} />}
                >
                  {(found) => (
                    <IcicleView picture={found()} measure={measure()} selected={selected()} onSelect={select} />
                  )}
                </Show>
              }
            >
              <TimesTable picture={shown()} shares={shares()} now={now()} selected={selected()} />
            </Show>
          )}
        </Show>
      </ThreadContent>
    </div>
  );
}

/** The current time, updated several times a second while agents run. */
function useGrowingEdge(thread: Thread): () => number {
  const [now, setNow] = createSignal(Date.now());
  const isLive = createMemo(() => (thread.sums(thread.root() ?? "")?.byStatus.running ?? 0) > 0);
  createEffect(() => {
    if (!isLive()) return;
    const timer = setInterval(() => document.visibilityState === "visible" && setNow(Date.now()), GROW_MS);
    onCleanup(() => clearInterval(timer));
  });
  return now;
}

interface ToolsProps {
  readonly picture: Waterfall | null;
  /** Time of each agent on the critical path. */
  readonly shares: ReadonlyMap<string, number>;
  readonly agent: (uri: string) => AgentRecord | undefined;
}

function PictureTools(props: ToolsProps) {
  return (
    <div class="tree-tools">
      <fieldset class="switch">
        <legend class="sr">Picture</legend>
        <button type="button" aria-pressed={!isIcicle()} onClick={() => setParams({ as: null, below: null })}>
          Waterfall
        </button>
        <button type="button" aria-pressed={isIcicle()} onClick={() => setParams({ as: "icicle" })}>
          Icicle
        </button>
      </fieldset>
      <Show when={isIcicle()} fallback={<PathCheck />}>
        <MeasureSelect />
      </Show>
      <Show when={!isIcicle() && showsPath() && (props.picture?.rows.length ?? 0) > 1}>
        <CriticalSummary {...props} />
      </Show>
      <span class="spring" />
      <Show when={isIcicle()} fallback={<Legend />}>
        <TypeLegend records={props.picture?.rows.map(({ record }) => record) ?? []} />
      </Show>
      <ParamCheck name="table">Table</ParamCheck>
    </div>
  );
}

/** The critical path is shown unless the URL turns it off. */
function PathCheck() {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={showsPath()}
        onChange={(event) => setParams({ path: event.currentTarget.checked ? null : "0" })}
      />
      Critical path
    </label>
  );
}

function MeasureSelect() {
  return (
    <label>
      <span class="muted">Width</span>
      <select
        aria-label="Width"
        onChange={(event) => setParams({ by: event.currentTarget.value === "time" ? null : event.currentTarget.value })}
      >
        <For each={MEASURES}>
          {(one) => (
            <option value={one} selected={measure() === one}>
              {MEASURE_LABELS[one]}
            </option>
          )}
        </For>
      </select>
    </label>
  );
}

/** The agents with the largest shares of the critical path. */
function CriticalSummary(props: ToolsProps) {
  const largest = createMemo(() => {
    const whole = (props.picture?.path ?? []).reduce((sum, { from, to }) => sum + to - from, 0);
    return [...props.shares]
      .toSorted(([, a], [, b]) => b - a)
      .slice(0, SUMMARY_AGENTS)
      .flatMap(([uri, ms]) => {
        const agent = props.agent(uri);
        return agent === undefined ? [] : [{ uri, name: displayName(agent), part: whole === 0 ? 0 : ms / whole }];
      });
  });
  return (
    <Show when={largest().length > 0}>
      <span class="critical-summary" title="Critical path: the work that determined when the thread ended">
        <For each={largest()}>
          {({ uri, name, part }) => (
            <button type="button" class="quiet" onClick={() => select(uri)}>
              {name} <b>{percent(part)}</b>
            </button>
          )}
        </For>
      </span>
    </Show>
  );
}

function Legend() {
  return (
    <ul class="legend" aria-label="Legend">
      <li class="model">model</li>
      <li class="tool">tool</li>
      <li class="failed">failed</li>
      <li class="wait">waiting</li>
      <li class="critical">critical path</li>
    </ul>
  );
}
