import "../styles/pictures.css";
import "../styles/compare.css";
import { For, Match, Show, Switch } from "solid-js";
import {
  type ComparedAgent,
  type ComparedThreads,
  MEASURE_LABELS,
  measureText,
  spreadText,
  verdictText,
} from "../data/compare.ts";
import { plural } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import { createKeyedResource } from "../state/keyed-resource.ts";
import { hrefTo, route, setParams } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { Failure } from "../view/failure.tsx";
import { TableSection } from "../view/table-section.tsx";

/** Compares two trees agent by agent, or two groups of threads by their totals. */
export default function ComparePage() {
  document.title = "Compare · retinue";
  const sides = () => {
    const { left = "", right = "" } = route().params;
    return left === "" || right === "" ? null : `${left} ${right}`;
  };
  const found = createKeyedResource(sides, () => api.compare(route().params.left ?? "", route().params.right ?? ""));
  return (
    <div class="page scroll compare">
      <div class="page-head">
        <h1>Compare</h1>
      </div>
      <form
        class="compare-sides"
        onSubmit={(event) => {
          event.preventDefault();
          const data = new FormData(event.currentTarget);
          setParams({ left: String(data.get("left") ?? ""), right: String(data.get("right") ?? "") });
        }}
      >
        <For each={["left", "right"] as const}>
          {(side) => (
            <label>
              <span>{side === "left" ? "Left" : "Right"}</span>
              <input
                type="text"
                name={side}
                value={route().params[side] ?? ""}
                placeholder="URI, or several separated by commas"
              />
            </label>
          )}
        </For>
        <button type="submit">Compare</button>
      </form>
      <Switch fallback={<p class="muted">Reading the records of all agents …</p>}>
        <Match when={sides() === null}>
          <p class="muted">
            Enter two threads or agents. For groups, such as before and after a change, enter several URIs on each side.
          </p>
        </Match>
        <Match when={found.error()}>{(error) => <Failure error={error()} onRetry={found.refetch} />}</Match>
        <Match when={found.value()}>{(compared) => <Compared compared={compared()} />}</Match>
      </Switch>
    </div>
  );
}

function Compared(props: { compared: ComparedThreads }) {
  return (
    <>
      <Totals compared={props.compared} />
      <Show when={props.compared.trees}>{(trees) => <AgentPairs pairs={trees().agents} />}</Show>
    </>
  );
}

function Totals(props: { compared: ComparedThreads }) {
  const isPair = () => props.compared.trees !== null;
  return (
    <TableSection
      title="Totals"
      class="numbers"
      columns={[
        "",
        { number: <Side uris={props.compared.left} /> },
        { number: <Side uris={props.compared.right} /> },
        "Difference",
      ]}
    >
      <For each={props.compared.measures}>
        {(one) => (
          <tr data-measure={one.measure}>
            <th scope="row">{MEASURE_LABELS[one.measure]}</th>
            <td class="number">{spreadText(one.measure, one.left)}</td>
            <td class="number">{spreadText(one.measure, one.right)}</td>
            <td>{verdictText(one, isPair())}</td>
          </tr>
        )}
      </For>
    </TableSection>
  );
}

function AgentPairs(props: { pairs: NonNullable<ComparedThreads["trees"]>["agents"] }) {
  const indent = (depth: number) => ({ "padding-left": `${0.6 + depth * 1.2}rem` });
  return (
    <TableSection title="Agent by agent" class="compare-agents" columns={["Left", "Right", "Matched by", "Differs in"]}>
      <For each={props.pairs}>
        {(pair) => (
          <tr classList={{ lone: pair.left === null || pair.right === null }}>
            <td style={indent(pair.depth)}>
              <AgentCell agent={pair.left} />
            </td>
            <td style={indent(pair.depth)}>
              <AgentCell agent={pair.right} />
            </td>
            <td>{pair.matchedBy ?? (pair.left === null ? "only right" : "only left")}</td>
            <td class="muted">{pair.differs.map(fieldLabel).join(", ")}</td>
          </tr>
        )}
      </For>
    </TableSection>
  );
}

const fieldLabel = (field: string) => (MEASURE_LABELS[field as keyof typeof MEASURE_LABELS] ?? field).toLowerCase();

const counted = (n: number | null, word: string) => plural(n ?? 0, word);

function Side(props: { uris: readonly string[] }) {
  return (
    <Show when={props.uris.length === 1 ? props.uris[0] : null} fallback={plural(props.uris.length, "thread")}>
      {(uri) => <a href={hrefTo({ page: "tree", uri: uri() })}>{oneLine(uri(), 24)}</a>}
    </Show>
  );
}

function AgentCell(props: { agent: ComparedAgent | null }) {
  return (
    <Show when={props.agent} fallback={<span class="muted">none</span>}>
      {(agent) => (
        <>
          <a href={hrefTo({ page: "agent", uri: agent().uri })}>{oneLine(agent().name, 60)}</a>
          <div class="muted">
            {agent().status} · {measureText("durationMs", agent().own.durationMs)} ·{" "}
            {counted(agent().own.calls, "model call")} · {measureText("tokens", agent().own.tokens)} tokens ·{" "}
            {measureText("costUsd", agent().own.costUsd)} · {counted(agent().own.toolCalls, "tool call")}
          </div>
        </>
      )}
    </Show>
  );
}
