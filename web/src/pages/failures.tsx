import { For, Show } from "solid-js";
import { ago, displayName, duration, money, plural } from "../data/format.ts";
import { earliest } from "../data/live.ts";
import { type FailedThread, RUNAWAY, runaways } from "../data/team.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { hrefTo, route } from "../state/navigation.ts";
import { useRefreshed } from "../state/refreshed.ts";
import { api, productOf } from "../state/server.ts";
import { Choice } from "../view/choice.tsx";
import { Loaded } from "../view/loaded.tsx";
import { StatusMark } from "../view/status.tsx";
import { threadAddress } from "../view/thread-line.tsx";

const REFRESH_MS = 3_000;
const [MAX_FAILED, MAX_RUNNING] = [200, 1_000];
const DEFAULT_PERIOD = "7d";
const PERIODS = [
  ["1d", "Today and yesterday"],
  ["30d", "30 days"],
  ["90d", "90 days"],
] as const;

/** Agents that failed, were shut down or were refused, and running threads that may be out of control. */
export default function FailuresPage() {
  useClock();
  document.title = "Failures · retinue";
  const since = () => route().params.since ?? DEFAULT_PERIOD;
  const failures = useRefreshed(
    since,
    async (from, signal) => {
      const [failed, running] = await Promise.all([
        api.failures(from, MAX_FAILED, signal),
        api.running(MAX_RUNNING, signal),
      ]);
      const body = { failed: failed.body.items, running: running.body.items };
      return { body, live: earliest([failed.live, running.live]) };
    },
    REFRESH_MS,
  );
  useKeys({ r: failures.reload });
  return (
    <div class="page scroll report failures">
      <div class="page-head">
        <h1>Failures and runaways</h1>
        <span class="filters">
          <Choice label="Period" name="since" value={route().params.since ?? null} any="7 days" options={PERIODS} />
        </span>
      </div>
      <Loaded of={failures}>
        {(found) => (
          <>
            <section>
              <h2>Runaway threads</h2>
              <p class="muted">
                Running threads that have more than {RUNAWAY.agents} agents at once, have run for more than{" "}
                {duration(RUNAWAY.ms)}, or have cost more than {money(RUNAWAY.usd)}.
              </p>
              <Runaways threads={runaways(found().running, now())} />
            </section>
            <section>
              <h2>Failed, shut down or refused</h2>
              <Show when={found().failed.length > 0} fallback={<p class="fine">✓ No agent failed in this period.</p>}>
                <ul class="problems">
                  <For each={found().failed}>{(thread) => <Failed thread={thread} />}</For>
                </ul>
                <Show when={found().failed.length === MAX_FAILED}>
                  <p class="muted">Only the latest {plural(MAX_FAILED, "thread")} are listed.</p>
                </Show>
              </Show>
            </section>
          </>
        )}
      </Loaded>
    </div>
  );
}

function Runaways(props: { threads: ReturnType<typeof runaways> }) {
  return (
    <Show when={props.threads.length > 0} fallback={<p class="fine">✓ None.</p>}>
      <ul class="problems" data-testid="runaways">
        <For each={props.threads}>
          {({ owner, record, reasons }) => (
            <li data-severity="error">
              <For each={reasons}>{(reason) => <span class="chip bad">{reason}</span>}</For>{" "}
              <a href={threadAddress({ ...record, owner })} dir="auto">
                {oneLine(displayName(record), 80)}
              </a>{" "}
              <Origin owner={owner} record={record} />
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

/** Owner, product and project of a thread. */
function Origin(props: { owner: string; record: AgentRecord | null }) {
  return (
    <span class="muted">
      <b class="owner">{oneLine(props.owner, 40)}</b>
      <Show when={props.record}>
        {(record) => (
          <>
            {" "}
            · {productOf(record().provider)} · {oneLine(record().project ?? "", 40)}
          </>
        )}
      </Show>
    </span>
  );
}

function Failed(props: { thread: FailedThread }) {
  const thread = () => props.thread;
  const counts = () =>
    [
      [thread().errored, "failed"],
      [thread().shutdown, "shut down"],
      [thread().refused, "refused"],
    ] as const;
  const name = () =>
    oneLine(
      thread().record === null ? (thread().agents[0]?.uri ?? "") : displayName(thread().record as AgentRecord),
      80,
    );
  return (
    <li data-severity={thread().errored > 0 ? "error" : "data-loss"} data-owner={thread().owner}>
      <details>
        <summary>
          <For each={counts().filter(([n]) => n > 0)}>
            {([n, what]) => (
              <span class="chip" classList={{ bad: what === "failed" }}>
                {n} {what}
              </span>
            )}
          </For>{" "}
          <span dir="auto">{name()}</span> <Origin owner={thread().owner} record={thread().record} />{" "}
          <span class="muted">· {ago(thread().at, now())}</span>
        </summary>
        <ul class="failed-agents">
          <For each={thread().agents}>
            {(agent) => (
              <li>
                <StatusMark status={agent.status} />{" "}
                <a href={hrefTo({ page: "agent", uri: agent.uri, params: { owner: thread().owner } })} dir="auto">
                  {oneLine(displayName(agent), 80)}
                </a>{" "}
                <span class="muted">{oneLine(agent.statusReason ?? "", 200)}</span>
                <For each={agent.refused}>
                  {(refused) => (
                    <p class="muted">refused: {oneLine(refused.reason ?? refused.description ?? "", 200)}</p>
                  )}
                </For>
              </li>
            )}
          </For>
        </ul>
        <Show when={thread().record}>
          {(record) => (
            <p>
              <a href={threadAddress({ ...record(), owner: thread().owner })}>Open the thread</a>
            </p>
          )}
        </Show>
      </details>
    </li>
  );
}
