import { Show } from "solid-js";
import { ownTime } from "../data/columns.ts";
import { displayName, duration, plural } from "../data/format.ts";
import { cutAt, oneLine, visible } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { now } from "../state/clock.ts";

const SHOWN_CHARS = 700;
/** More does not fit on a screen; the agent's page has the full text. */
const MOST_CHARS = 6_000;

const LONG_CHARS = 1_500;

/** The prompt of an agent: short, or as much as fits on a screen. */
export function AgentTip(props: { agent: AgentRecord; whole?: boolean }) {
  const prompt = () => props.agent.prompt ?? "";
  const room = () => (props.whole === true ? MOST_CHARS : SHOWN_CHARS);
  return (
    <>
      <div class="tip-title">{oneLine(displayName(props.agent))}</div>
      <p class="muted">
        {[
          props.agent.type,
          ...props.agent.model,
          duration(ownTime(props.agent, now())),
          props.agent.background ? "background" : null,
        ]
          .filter((word) => word !== null)
          .join(" · ")}
      </p>
      <Show when={prompt() !== ""} fallback={<p class="muted">The prompt is not recorded.</p>}>
        <p class="prompt" classList={{ long: props.whole === true && prompt().length > LONG_CHARS }} dir="auto">
          {visible(cutAt(prompt(), room()))}
          {prompt().length > room() ? "…" : ""}
        </p>
      </Show>
      <Show when={props.agent.counts.spawned > 0}>
        <p class="muted">
          {plural(props.agent.counts.spawned, "sub-agent")}, {plural(props.agent.counts.descendants, "agent")} below it
        </p>
      </Show>
    </>
  );
}
