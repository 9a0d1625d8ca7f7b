import { For, Show } from "solid-js";
import { ago, limitLabel, limitText, percent, scopeText } from "../data/format.ts";
import { oneLine, visible } from "../data/text.ts";
import type { Guard, GuardEvent } from "../data/types.ts";
import { now } from "../state/clock.ts";
import { hrefTo } from "../state/navigation.ts";

/** The report of `retinue guard`. */
export default function Limits(props: { guard: Guard }) {
  return (
    <section class="limits">
      <h2>Limits</h2>
      <Show
        when={props.guard.limits.length > 0}
        fallback={
          <p class="muted">
            No limits. Set them with the key <code>limits</code> in the settings.
          </p>
        }
      >
        <p class="versions">
          <For each={props.guard.limits}>
            {({ scope, name, limit, max, action }) => (
              <span class="chip">
                {scopeText(scope, name)}: {limitLabel(limit)} <b>{limitText(limit, max)}</b> {action}
              </span>
            )}
          </For>
        </p>
        <For each={props.guard.hooks.filter(({ canRefuse, commands }) => canRefuse && commands.length === 0)}>
          {({ product, provider }) => (
            <p class="muted">
              The hooks of {product} are not installed: <code>retinue hooks install {provider}</code>
            </p>
          )}
        </For>
        <Usage threads={props.guard.threads} />
      </Show>
      <Show when={props.guard.denied.length + props.guard.warned.length > 0}>
        <h3>Refused spawns and warnings</h3>
        <ul class="problems">
          <For each={[...props.guard.denied, ...props.guard.warned]}>{(event) => <Event event={event} />}</For>
        </ul>
      </Show>
    </section>
  );
}

/** How much of each limit the running threads have used. */
function Usage(props: { threads: Guard["threads"] }) {
  return (
    <Show when={props.threads.length > 0}>
      <div class="scroll-x">
        <table>
          <thead>
            <tr>
              <th>Running thread</th>
              <th>Limit</th>
              <th class="number">Used</th>
              <th class="number">Of</th>
              <th class="number">Share</th>
            </tr>
          </thead>
          <tbody>
            <For each={props.threads.flatMap(({ uses, ...thread }) => uses.map((use) => ({ ...thread, ...use })))}>
              {({ uri, title, limit, whose, used, max, share }) => (
                <tr>
                  <td>
                    <a href={hrefTo({ page: "tree", uri })}>{oneLine(title ?? uri, 60)}</a>
                  </td>
                  <td>
                    {limitLabel(limit)} <span class="muted">{oneLine(whose ?? "", 40)}</span>
                  </td>
                  <td class="number">{limitText(limit, used)}</td>
                  <td class="number">{limitText(limit, max)}</td>
                  <td class="number">{share === null ? "unknown" : percent(share)}</td>
                </tr>
              )}
            </For>
          </tbody>
        </table>
      </div>
    </Show>
  );
}

function Event(props: { event: GuardEvent }) {
  const severity = () => (props.event.action === "deny" ? "error" : "data-loss");
  return (
    <li data-severity={severity()}>
      <details>
        <summary>
          <span class="chip">{props.event.action === "deny" ? "refused" : "warning"}</span>{" "}
          {oneLine(props.event.description ?? props.event.type ?? props.event.id, 60)}{" "}
          <span class="muted">
            {limitLabel(props.event.limit)}, {ago(props.event.at, now())}, by {props.event.via}
          </span>
        </summary>
        <p>{visible(props.event.reason)}</p>
        <a href={hrefTo({ page: "agent", uri: props.event.uri })}>{props.event.uri}</a>
      </details>
    </li>
  );
}
