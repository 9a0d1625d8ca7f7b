import "../styles/explain.css";
import "../styles/pictures.css";
import { For, Match, Show, Switch } from "solid-js";
import { count, dateAndTime, duration, money, percent, plural } from "../data/format.ts";
import { oneLine, visible } from "../data/text.ts";
import {
  type Explanation,
  FINDING_LABELS,
  type Finding,
  type FindingEvidence,
  shareOf,
  totalTokens,
} from "../data/types.ts";
import { createKeyedResource } from "../state/keyed-resource.ts";
import { useKeys } from "../state/keys.ts";
import { go, hrefTo } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { type Thread, useThread } from "../state/thread.ts";
import { agentName } from "../view/agent-name.ts";
import { Failure } from "../view/failure.tsx";
import { TableSection } from "../view/table-section.tsx";
import { ThreadHead } from "../view/thread-head.tsx";

/** What went wrong or was wasted in a thread, and where its time and cost were spent. */
export default function ExplainPage(props: { uri: string }) {
  const thread = useThread(() => props.uri);
  const found = createKeyedResource(
    () => props.uri,
    (uri) => api.explain(uri),
  );
  useKeys({ r: found.refetch, u: () => go("tree", thread.root()) });
  document.title = "Explain · retinue";
  return (
    <div class="page scroll explain">
      <ThreadHead thread={thread} />
      <Switch fallback={<p class="muted">Reading the records of all agents …</p>}>
        <Match when={found.error()}>{(error) => <Failure error={error()} onRetry={found.refetch} />}</Match>
        <Match when={found.value()}>
          {(explained) => (
            <>
              <section>
                <div class="page-head">
                  <h2>{headingOf(explained())}</h2>
                  <button type="button" onClick={found.refetch}>
                    Check again
                  </button>
                </div>
                <ol class="findings">
                  <For each={explained().findings}>
                    {(finding) => <FindingView finding={finding} thread={thread} />}
                  </For>
                </ol>
              </section>
              <CriticalPath found={explained()} thread={thread} />
              <Costs found={explained()} thread={thread} />
            </>
          )}
        </Match>
      </Switch>
    </div>
  );
}

function headingOf({ findings, lost }: Explanation): string {
  if (findings.length === 0) return "Nothing to report";
  const spent = `${count(totalTokens(lost))} tokens, ${money(lost.costUsd)}`;
  return `${plural(findings.length, "finding")}${lost.calls === 0 ? "" : ` · wasted: ${spent}`}`;
}

function AgentLink(props: { thread: Thread; uri: string }) {
  return <a href={hrefTo({ page: "agent", uri: props.uri })}>{agentName(props.thread, props.uri)}</a>;
}

function FindingView(props: { finding: Finding; thread: Thread }) {
  return (
    <li data-kind={props.finding.kind}>
      <div>
        <span class="chip">{FINDING_LABELS[props.finding.kind]}</span>
        <For each={props.finding.agents}>
          {(uri, i) => (
            <>
              {i() > 0 ? ", " : ""}
              <AgentLink thread={props.thread} uri={uri} />
            </>
          )}
        </For>
      </div>
      <p>{visible(props.finding.says)}</p>
      <ul>
        <For each={props.finding.evidence}>{(piece) => <EvidenceView evidence={piece} />}</For>
      </ul>
    </li>
  );
}

function EvidenceView(props: { evidence: FindingEvidence }) {
  const place = () => {
    const { ref } = props.evidence;
    if (ref === null) return "";
    return "line" in ref ? `${ref.path}${ref.line === 0 ? "" : `:${ref.line}`}` : `${ref.path}:${ref.row}`;
  };
  return (
    <li>
      <Show when={props.evidence.event} fallback={<span>{oneLine(props.evidence.says, 300)}</span>}>
        {(event) => (
          <a href={hrefTo({ page: "agent", uri: props.evidence.uri, params: { event: event() } })}>
            {oneLine(props.evidence.says, 300) || "record"}
          </a>
        )}
      </Show>{" "}
      <Show when={props.evidence.at}>
        <span class="muted">{dateAndTime(props.evidence.at)}</span>
      </Show>
      <Show when={place()}>
        <code>{visible(place())}</code>
      </Show>
    </li>
  );
}

function CriticalPath(props: { found: Explanation; thread: Thread }) {
  return (
    <TableSection
      title={`Critical path · ${duration(props.found.time.criticalMs)}`}
      note="The agents that determined when the thread ended. A faster agent could have saved at most its time in this table."
      class="numbers"
      columns={["Agent", { number: "Time" }, { number: "Share" }, { number: "Waited for agents" }]}
    >
      <For each={props.found.time.path}>
        {({ uri, ms, share, waitedMs }) => (
          <tr>
            <td>
              <AgentLink thread={props.thread} uri={uri} />
            </td>
            <td class="number">{duration(ms)}</td>
            <td class="number">{percent(share)}</td>
            <td class="number">{waitedMs === 0 ? "" : duration(waitedMs)}</td>
          </tr>
        )}
      </For>
    </TableSection>
  );
}

function Costs(props: { found: Explanation; thread: Thread }) {
  const total = () => props.found.cost.total;
  return (
    <TableSection
      title={`Cost by branch · ${money(total().costUsd)}, ${count(totalTokens(total()))} tokens`}
      class="numbers"
      columns={["Branch", { number: "Tokens" }, { number: "Cost" }, { number: "Share" }]}
    >
      <For each={props.found.cost.branches}>
        {({ uri, isOwn, usage }) => (
          <tr>
            <td>
              <AgentLink thread={props.thread} uri={uri} />
              {isOwn ? " (own)" : ""}
            </td>
            <td class="number">{count(totalTokens(usage))}</td>
            <td class="number">{money(usage.costUsd)}</td>
            <td class="number">{percent(shareOf(usage, total()))}</td>
          </tr>
        )}
      </For>
    </TableSection>
  );
}
