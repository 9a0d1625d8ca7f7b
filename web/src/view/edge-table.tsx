import { createMemo, For } from "solid-js";
import { exact, percent, UNKNOWN } from "../data/format.ts";
import type { Graph } from "../data/graph.ts";
import type { AgentRecord, Message } from "../data/types.ts";
import { shortName } from "../data/waterfall.ts";
import { hrefTo } from "../state/navigation.ts";
import { StatusBadge } from "./status.tsx";
import { typeOf } from "./type-colors.ts";

/** The graph as a table: agents, their parents, the kind and evidence of each link, and messages. */
export function EdgeTable(props: {
  picture: Graph;
  agent: (uri: string) => AgentRecord | undefined;
  messages: readonly Message[];
  selected: string | null;
}) {
  const kinds = createMemo(() => new Map(props.picture.edges.map((edge) => [edge.to, edge.kind])));
  const names = createMemo(() => new Map(props.picture.nodes.map(({ uri, record }) => [uri, shortName(record)])));
  const messageCount = (uri: string, side: "from" | "to") =>
    props.messages.filter((message) => message[side] === uri).length;
  return (
    <div class="table-scroll">
      <table class="numbers">
        <caption class="sr">Agents, their parents and messages</caption>
        <thead>
          <tr>
            <th scope="col">Agent</th>
            <th scope="col">Type</th>
            <th scope="col">Status</th>
            <th scope="col">Link</th>
            <th scope="col">Parent</th>
            <th scope="col">Evidence</th>
            <th scope="col">Messages sent</th>
            <th scope="col">Received</th>
          </tr>
        </thead>
        <tbody>
          <For each={props.picture.nodes}>
            {({ uri, record }) => (
              <tr data-uri={uri} aria-selected={uri === props.selected}>
                <th
                  scope="row"
                  ref={(element) => element.style.setProperty("--depth", String(Math.min(record.depth, 10)))}
                >
                  <a href={hrefTo({ page: "agent", uri })}>{names().get(uri)}</a>
                </th>
                <td>{typeOf(record)}</td>
                <td>
                  <StatusBadge agent={props.agent(uri) ?? record} />
                </td>
                <td>{kinds().get(uri) ?? "root"}</td>
                <td>{names().get(record.parent ?? "") ?? UNKNOWN}</td>
                <td>
                  {record.link === null
                    ? UNKNOWN
                    : `${record.link.rule}${record.link.confidence < 1 ? ` (${percent(record.link.confidence)})` : ""}`}
                </td>
                <td>{exact(messageCount(uri, "from"))}</td>
                <td>{exact(messageCount(uri, "to"))}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}
