import { createResource, For, lazy, Match, Show, Switch } from "solid-js";
import type { ApiError } from "../data/api.ts";
import { ago, bytes, exact, plural } from "../data/format.ts";
import { visible } from "../data/text.ts";
import { type Doctor, isListed } from "../data/types.ts";
import { now, useClock } from "../state/clock.ts";
import { useKeys } from "../state/keys.ts";
import { api, productOf } from "../state/server.ts";
import { Failure } from "../view/failure.tsx";

/** The report of `retinue doctor`. */
export default function Health() {
  useClock();
  const [found, { refetch }] = createResource(() =>
    Promise.all([api.doctor(), api.health(), api.guard(), api.sharing(true)]),
  );
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
          {(both) => (
            <>
              <Problems problems={both()[0].problems} />
              <Show when={both()[3]}>{(shared) => <SharingReport sharing={shared()} />}</Show>
              <Limits guard={both()[2]} />
              <section>
                <h2>Root folders searched</h2>
                <div class="scroll-x">
                  <table>
                    <thead>
                      <tr>
                        <th>Product</th>
                        <th>Folder</th>
                        <th class="number">Files</th>
                        <th class="number">Size</th>
                      </tr>
                    </thead>
                    <tbody>
                      <For each={both()[0].roots.filter(isListed)}>
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
                            <td class="number">{root.exists ? exact(root.files) : "not there"}</td>
                            <td class="number">{root.exists ? bytes(root.bytes) : ""}</td>
                          </tr>
                        )}
                      </For>
                    </tbody>
                  </table>
                </div>
              </section>
              <section>
                <h2>Found</h2>
                <p>
                  {plural(both()[0].threads, "thread")} with {plural(both()[0].agents, "agent")} below them;{" "}
                  {plural(both()[0].internal, "internal transcript")} of the products themselves.
                </p>
                <p class="versions">
                  <For each={both()[0].versions}>
                    {(v) => (
                      <span class="chip">
                        {productOf(v.provider)} {v.version ?? "of unknown version"} <b>{v.threads}</b>
                      </span>
                    )}
                  </For>
                </p>
              </section>
              <section>
                <h2>How running agents are detected on {both()[0].system.platform}</h2>
                <dl class="facts">
                  <dt>Processes</dt>
                  <dd>{both()[0].system.processes}</dd>
                  <dt>Databases</dt>
                  <dd>{both()[0].system.writers}</dd>
                  <dt>Locks</dt>
                  <dd>{both()[0].system.locks}</dd>
                </dl>
              </section>
              <section>
                <h2>Data of retinue</h2>
                <dl class="facts">
                  <dt>Index</dt>
                  <dd>
                    <code>{both()[0].index.path}</code> {plural(both()[0].index.files, "file")},{" "}
                    {bytes(both()[0].index.bytes)}; may be deleted at any time
                  </dd>
                  <dt>Manual links</dt>
                  <dd>
                    <code>{both()[0].kept.path}</code>{" "}
                    {both()[0].kept.exists ? plural(both()[0].kept.links, "manual link") : "not found; no manual links"}
                  </dd>
                  <dt>Settings</dt>
                  <dd>
                    <code>{both()[0].settings.path}</code>{" "}
                    {both()[0].settings.exists
                      ? both()[0].settings.set.join(", ") || "no keys set"
                      : "not found; using defaults"}
                  </dd>
                  <dt>Server</dt>
                  <dd>
                    version {both()[1].version}, started {ago(both()[1].startedAt, now())},{" "}
                    {both()[1].watching ? "watching" : "not watching"}
                  </dd>
                </dl>
              </section>
            </>
          )}
        </Match>
      </Switch>
    </div>
  );
}

const SharingReport = lazy(() => import("../view/sharing.tsx"));
const Limits = lazy(() => import("../view/limits.tsx"));

function Problems(props: { problems: Doctor["problems"] }) {
  return (
    <section>
      <h2>Problems</h2>
      <Show when={props.problems.length > 0} fallback={<p class="fine">✓ Everything could be read.</p>}>
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
