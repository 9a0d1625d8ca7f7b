import { displayName } from "../data/format.ts";
import "../styles/pictures.css";
import { createEffect, createMemo, createSignal, For, Show } from "solid-js";
import { GRAPH_SIZES, type GraphSize, graph } from "../data/graph.ts";
import { useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { useMessages } from "../state/messages.ts";
import { go, route, setParams } from "../state/navigation.ts";
import { useThread } from "../state/thread.ts";
import { showToast } from "../state/toast.ts";
import { EdgeTable } from "../view/edge-table.tsx";
import { Failure } from "../view/failure.tsx";
import { GraphLegend, GraphView, type Tint } from "../view/graph.tsx";
import { saveDrawing } from "../view/save-drawing.ts";
import { ThreadHead } from "../view/thread-head.tsx";

export default function GraphPage(props: { uri: string }) {
  useClock();
  const thread = useThread(() => props.uri);
  const messages = useMessages(thread);
  const [room, setRoom] = createSignal({ width: 1200, height: 700 });
  let drawing: SVGSVGElement | undefined;
  const tint = (): Tint => (route().params.color === "type" ? "type" : "status");
  const size = (): GraphSize => GRAPH_SIZES.find((one) => one === route().params.size) ?? "equal";
  const isDetailed = () => ({ "1": true, "0": false })[route().params.details ?? ""];
  /** Sizes change in steps of a twentieth, so that the drawing does not move with every model call. */
  const taken = createMemo(() => {
    if (size() === "equal") return 0;
    thread.pulse();
    const root = thread.set.get(thread.root() ?? "");
    return Math.round(20 * Math.log((size() === "cost" ? root?.usage.subtree.costUsd : root?.durationMs) || 1e-6));
  });
  const hasTable = () => route().params.table === "1";
  const selected = () => route().params.sel ?? (props.uri === thread.root() ? null : props.uri);
  const select = (uri: string) => setParams({ sel: uri });
  // Laid out again when agents are added, removed or moved; statuses are updated individually.
  const picture = createMemo(() => {
    thread.shape();
    taken();
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
      <Show
        when={!thread.error()}
        fallback={<Failure error={thread.error() as never} onRetry={() => void thread.reload()} />}
      >
        <ThreadHead thread={thread} />
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
                    {{ equal: "All equal", cost: "Own cost", time: "Own time" }[one]}
                  </option>
                )}
              </For>
            </select>
          </label>
          <label class="check" title="Names on two lines, status, time and cost in every box">
            <input
              type="checkbox"
              checked={picture()?.isDetailed ?? true}
              onChange={(event) => setParams({ details: event.currentTarget.checked ? "1" : "0" })}
            />
            Details
          </label>
          <GraphLegend records={records()} tint={tint()} messages={messages().length} />
          <span class="spring" />
          <label class="check">
            <input
              type="checkbox"
              checked={hasTable()}
              onChange={(event) => setParams({ table: event.currentTarget.checked ? "1" : null })}
            />
            Table
          </label>
          <button type="button" class="quiet" onClick={() => save("svg")} disabled={hasTable()}>
            Save SVG
          </button>
          <button type="button" class="quiet" onClick={() => save("png")} disabled={hasTable()}>
            Save PNG
          </button>
        </div>
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
                  onSelect={select}
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
      </Show>
    </div>
  );
}
