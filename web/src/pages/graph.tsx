import "../styles/pictures.css";
import { createEffect, createMemo, createSignal, For, Show } from "solid-js";
import { displayName } from "../data/format.ts";
import { GRAPH_SIZES, type GraphSize, graph } from "../data/graph.ts";
import type { AgentRecord } from "../data/types.ts";
import { useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { useMessages } from "../state/messages.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { showToast } from "../state/toast.ts";
import { EdgeTable } from "../view/edge-table.tsx";
import { GraphView } from "../view/graph.tsx";
import { GraphLegend, type Tint } from "../view/graph-legend.tsx";
import { ParamCheck } from "../view/param-check.tsx";
import { saveDrawing } from "../view/save-drawing.ts";
import { ThreadContent } from "../view/thread-content.tsx";
import { ThreadHead } from "../view/thread-head.tsx";

const SIZE_LABELS: Readonly<Record<GraphSize, string>> = { equal: "All equal", cost: "Own cost", time: "Own time" };

const tint = (): Tint => (route().params.color === "type" ? "type" : "status");
const size = (): GraphSize => GRAPH_SIZES.find((one) => one === route().params.size) ?? "equal";
/** Undefined: chosen by the available room. */
const isDetailed = () => ({ "1": true, "0": false })[route().params.details ?? ""];
const hasTable = () => route().params.table === "1";

/** The agents of a thread as a graph of parents, children and messages. */
export default function GraphPage(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const messages = useMessages(thread);
  const [room, setRoom] = createSignal({ width: 1200, height: 700 });
  let drawing: SVGSVGElement | undefined;
  const selected = () => route().params.sel ?? (props.uri === thread.root() ? null : props.uri);
  const total = createSizeSteps(thread);
  // Laid out again when agents are added, removed or moved, or when sizes change; statuses are updated individually.
  const picture = createMemo(() => {
    thread.shape();
    total();
    const root = thread.root();
    return root === null
      ? null
      : graph(thread.set, root, messages(), room(), { size: size(), isDetailed: isDetailed() });
  });
  const records = createMemo(() => {
    thread.pulse();
    return picture()?.nodes.map(({ uri, record }) => thread.set.get(uri) ?? record) ?? [];
  });
  const save = (as: "svg" | "png") => {
    const root = thread.set.get(thread.root() ?? "");
    const shown = picture();
    if (drawing === undefined || shown === null || root === undefined) return;
    saveDrawing(drawing, shown, as, displayName(root)).then(
      (name) => showToast(`Saved ${name}`),
      (error: Error) => showToast(error.message, { isError: true }),
    );
  };
  useKeys({
    t: () => setParams({ table: hasTable() ? null : "1" }),
    u: () => go("tree", thread.root()),
    l: () => go("log", thread.root()),
  });
  createEffect(() => {
    thread.pulse();
    const root = thread.set.get(thread.root() ?? "");
    document.title = root === undefined ? "retinue" : `${displayName(root)} · graph · retinue`;
  });
  return (
    <div class="page pictures">
      <ThreadContent thread={thread}>
        <ThreadHead thread={thread} />
        <GraphTools
          records={records()}
          messages={messages().length}
          isDetailed={picture()?.isDetailed ?? true}
          onSave={save}
        />
        <Show when={picture()}>
          {(shown) => (
            <Show
              when={hasTable()}
              fallback={
                <GraphView
                  picture={shown()}
                  agent={(uri) => thread.agent(uri)}
                  tint={tint()}
                  selected={selected()}
                  onSelect={(uri) => setParams({ sel: uri })}
                  onRoom={setRoom}
                  ref={(element) => {
                    drawing = element;
                  }}
                />
              }
            >
              <EdgeTable
                picture={shown()}
                agent={(uri) => thread.agent(uri)}
                messages={messages()}
                selected={selected()}
              />
            </Show>
          )}
        </Show>
      </ThreadContent>
    </div>
  );
}

/** Changes when the thread's cost or time has grown by about a twentieth, so that the drawing does not always move. */
function createSizeSteps(thread: Thread) {
  return createMemo(() => {
    if (size() === "equal") return 0;
    thread.pulse();
    const root = thread.set.get(thread.root() ?? "");
    return Math.round(20 * Math.log((size() === "cost" ? root?.usage.subtree.costUsd : root?.durationMs) || 1e-6));
  });
}

function GraphTools(props: {
  records: readonly AgentRecord[];
  messages: number;
  isDetailed: boolean;
  onSave: (as: "svg" | "png") => void;
}) {
  return (
    <div class="tree-tools">
      <label>
        <span class="muted">Colour</span>
        <select
          aria-label="Colours"
          onChange={(event) => setParams({ color: event.currentTarget.value === "type" ? "type" : null })}
        >
          <option value="status" selected={tint() === "status"}>
            Status
          </option>
          <option value="type" selected={tint() === "type"}>
            Type
          </option>
        </select>
      </label>
      <label>
        <span class="muted">Size</span>
        <select
          aria-label="Sizes"
          onChange={(event) =>
            setParams({ size: event.currentTarget.value === "equal" ? null : event.currentTarget.value })
          }
        >
          <For each={GRAPH_SIZES}>
            {(one) => (
              <option value={one} selected={size() === one}>
                {SIZE_LABELS[one]}
              </option>
            )}
          </For>
        </select>
      </label>
      <label class="check" title="Names on two lines, status, time and cost in every box">
        <input
          type="checkbox"
          checked={props.isDetailed}
          onChange={(event) => setParams({ details: event.currentTarget.checked ? "1" : "0" })}
        />
        Details
      </label>
      <GraphLegend records={props.records} tint={tint()} messages={props.messages} />
      <span class="spring" />
      <ParamCheck name="table">Table</ParamCheck>
      <button type="button" class="quiet" onClick={() => props.onSave("svg")} disabled={hasTable()}>
        Save SVG
      </button>
      <button type="button" class="quiet" onClick={() => props.onSave("png")} disabled={hasTable()}>
        Save PNG
      </button>
    </div>
  );
}
