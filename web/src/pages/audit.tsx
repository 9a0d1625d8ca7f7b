import { createResource, For, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { actionLabel, auditText } from "../data/audit.ts";
import { ago, dateAndTime, plural, UNKNOWN } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import type { AuditEntry } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { hrefTo, route } from "../state/navigation.ts";
import { api } from "../state/server.ts";
import { Choice } from "../view/choice.tsx";
import { Failure } from "../view/failure.tsx";

const LIMIT = 1_000;
/** The audit log: who read what, and who changed what. */
export default function AuditPage() {
  useClock();
  document.title = "Audit · retinue";
  const [found, { refetch }] = createResource(() => api.audit(LIMIT));
  useKeys({ r: () => void refetch() });
  const who = () => route().params.who ?? null;
  const action = () => route().params.action ?? null;
  const all = () => (found.state === "ready" ? found().items : []);
  const shown = () =>
    all().filter((one) => (one.owner === who() || who() === null) && (one.action === action() || action() === null));
  const options = (of: (one: AuditEntry) => string | null, chosen: string | null, label = (name: string) => name) =>
    [...new Set([...all().map(of), chosen])]
      .flatMap((name) => (name === null ? [] : [[name, label(name)] as const]))
      .sort(([, a], [, b]) => a.localeCompare(b));
  return (
    <div class="page scroll report audit">
      <div class="page-head">
        <h1>Audit</h1>
        <span class="filters">
          <Choice label="Who" name="who" value={who()} any="Everybody" options={options((one) => one.owner, who())} />
          <Choice
            label="Action"
            name="action"
            value={action()}
            any="All actions"
            options={options((one) => one.action, action(), actionLabel)}
          />
        </span>
      </div>
      <Switch>
        <Match when={found.error as ApiError | undefined}>
          {(error) => <Failure error={error()} onRetry={() => void refetch()} />}
        </Match>
        <Match when={found.state === "ready" && shown().length === 0}>
          <p class="muted">
            {who() === null && action() === null ? "No entries yet." : "No entry matches these filters."}
          </p>
        </Match>
        <Match when={found.state === "ready"}>
          <AuditTable entries={shown()} />
          <p class="muted">
            {all().length === LIMIT
              ? `The last ${plural(LIMIT, "entry", "entries")}`
              : plural(shown().length, "entry", "entries")}
          </p>
        </Match>
      </Switch>
    </div>
  );
}

function AuditTable(props: { entries: readonly AuditEntry[] }) {
  return (
    <div class="scroll-x">
      <table class="audited">
        <thead>
          <tr>
            <th>When</th>
            <th>Who</th>
            <th>What</th>
          </tr>
        </thead>
        <tbody>
          <For each={props.entries}>
            {(entry) => (
              <tr>
                <td class="muted" title={dateAndTime(entry.at)}>
                  {ago(entry.at, now())}
                </td>
                <td>{oneLine(entry.owner ?? UNKNOWN, 40)}</td>
                <td>
                  <What entry={entry} />
                </td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}

function What(props: { entry: AuditEntry }) {
  const what = () => auditText(props.entry);
  return (
    <>
      {what().text}
      <Show when={what().thread}>
        {(thread) => (
          <>
            {" "}
            <a href={hrefTo({ page: "tree", uri: thread(), params: { owner: props.entry.threadOwner } })}>{thread()}</a>
          </>
        )}
      </Show>
      <Show when={props.entry.threadOwner}>{(owner) => ` of ${oneLine(owner(), 40)}`}</Show>
    </>
  );
}
