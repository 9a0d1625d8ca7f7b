import { createResource, For, lazy, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { ago, bytes, exact, plural } from "../data/format.ts";
import { visible } from "../data/text.ts";
import { type Doctor, type Health, isListed } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { api, productOf } from "../state/server.ts";
import { Failure } from "../view/failure.tsx";
import { TableSection } from "../view/table-section.tsx";

const SharingReport = lazy(() => import("../view/sharing.tsx"));
const Limits = lazy(() => import("../view/limits.tsx"));

/** The reports of `retinue doctor`, `retinue guard` and `retinue ship --status`. */
export default function HealthPage() {
  useClock();
  const [found, { refetch }] = createResource(async () => {
    const [doctor, health, guard, sharing] = await Promise.all([
      api.doctor(),
      api.health(),
      api.guard(),
      api.sharing(true),
    ]);
    return { doctor, health, guard, sharing };
  });
  useKeys({ r: () => void refetch() });
  document.title = "Health · retinue";
  return (
    <div class="page scroll report health">
      <div class="page-head">
        <h1>Health</h1>
        <button type="button" onClick={() => void refetch()}>
          Check again
        </button>
      </div>
      <Switch>
        <Match when={found.error as ApiError | undefined}>
          {(error) => <Failure error={error()} onRetry={() => void refetch()} />}
        </Match>
        <Match when={found.latest}>
          {(report) => (
            <>
              <Problems problems={report().doctor.problems} />
              <Show when={report().sharing}>{(sharing) => <SharingReport sharing={sharing()} />}</Show>
              <Limits guard={report().guard} />
              <Roots roots={report().doctor.roots} />
              <Contents doctor={report().doctor} />
              <Liveness system={report().doctor.system} />
              <OwnData doctor={report().doctor} health={report().health} />
            </>
          )}
        </Match>
      </Switch>
    </div>
  );
}

function Roots(props: { roots: Doctor["roots"] }) {
  return (
    <TableSection
      title="Root folders searched"
      columns={["Product", "Folder", { number: "Files" }, { number: "Size" }]}
    >
      <For each={props.roots.filter(isListed)}>
        {(root) => (
          <tr classList={{ muted: !root.exists }}>
            <td>
              {root.product}{" "}
              <Show when={root.imported || root.recorded}>
                <span class="chip">{root.imported ? "imported" : "recorded"}</span>
              </Show>
            </td>
            <td>
              <code>{root.path}</code>
            </td>
            <td class="number">{root.exists ? exact(root.files) : "not found"}</td>
            <td class="number">{root.exists ? bytes(root.bytes) : ""}</td>
          </tr>
        )}
      </For>
    </TableSection>
  );
}

function Contents(props: { doctor: Doctor }) {
  return (
    <section>
      <h2>Threads and agents</h2>
      <p>
        {plural(props.doctor.threads, "thread")} with {plural(props.doctor.agents, "agent")} below them, and{" "}
        {plural(props.doctor.internal, "transcript")} of the products' internal work.
      </p>
      <p class="versions">
        <For each={props.doctor.versions}>
          {({ provider, version, threads }) => (
            <span class="chip">
              {productOf(provider)} {version ?? "unknown version"} <b>{threads}</b>
            </span>
          )}
        </For>
      </p>
    </section>
  );
}

function Liveness(props: { system: Doctor["system"] }) {
  return (
    <section>
      <h2>How running agents are detected on {props.system.platform}</h2>
      <dl class="facts">
        <dt>Processes</dt>
        <dd>{props.system.processes}</dd>
        <dt>Databases</dt>
        <dd>{props.system.writers}</dd>
        <dt>Locks</dt>
        <dd>{props.system.locks}</dd>
      </dl>
    </section>
  );
}

function OwnData(props: { doctor: Doctor; health: Health }) {
  const doctor = () => props.doctor;
  return (
    <section>
      <h2>Files of retinue</h2>
      <dl class="facts">
        <dt>Index</dt>
        <dd>
          <code>{doctor().index.path}</code> {plural(doctor().index.files, "file")}, {bytes(doctor().index.bytes)}; can
          be deleted and is rebuilt then
        </dd>
        <dt>Manual links</dt>
        <dd>
          <code>{doctor().kept.path}</code>{" "}
          {doctor().kept.exists ? plural(doctor().kept.links, "manual link") : "not found; no manual links"}
        </dd>
        <dt>Settings</dt>
        <dd>
          <code>{doctor().settings.path}</code>{" "}
          {doctor().settings.exists ? doctor().settings.set.join(", ") || "no keys set" : "not found; using defaults"}
        </dd>
        <dt>Server</dt>
        <dd>
          version {props.health.version}, started {ago(props.health.startedAt, now())},{" "}
          {props.health.watching ? "watching files" : "not watching files"}
        </dd>
      </dl>
    </section>
  );
}

function Problems(props: { problems: Doctor["problems"] }) {
  return (
    <section>
      <h2>Problems</h2>
      <Show when={props.problems.length > 0} fallback={<p class="fine">✓ All files were read without problems.</p>}>
        <ul class="problems">
          <For each={props.problems}>
            {(problem) => (
              <li data-severity={problem.severity}>
                <details>
                  <summary>
                    <span class="chip">{problem.severity}</span> {problem.sentence} <b>×{exact(problem.count)}</b>{" "}
                    <code class="muted">{problem.code}</code>
                  </summary>
                  <ul>
                    <For each={problem.examples}>
                      {(example) => (
                        <li>
                          <code>{visible(example.where)}</code> {visible(example.detail)}
                        </li>
                      )}
                    </For>
                    <Show when={problem.count > problem.examples.length}>
                      <li class="muted">… and {exact(problem.count - problem.examples.length)} more</li>
                    </Show>
                  </ul>
                </details>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </section>
  );
}
