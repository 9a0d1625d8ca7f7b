import { Show } from "solid-js";
import { ownTime } from "../data/columns.ts";
import { displayName, duration, plural } from "../data/format.ts";
import { cutAt, oneLine, visible } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { now } from "../state/clock.ts";

const SHORT_CHARS = 700;
/** More does not fit on a screen; the agent's page has the full text. */
const MAX_CHARS = 6_000;
/** Longer prompts are set in smaller type. */
const SMALL_TYPE_CHARS = 1_500;

/** The tooltip of an agent: its prompt, shortened, or as much of it as fits on a screen if `whole`. */
export function AgentTip(props: { agent: AgentRecord; whole?: boolean }) {
  const prompt = () => props.agent.prompt ?? "";
  const maxChars = () => (props.whole === true ? MAX_CHARS : SHORT_CHARS);
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
        <p class="prompt" classList={{ long: props.whole === true && prompt().length > SMALL_TYPE_CHARS }} dir="auto">
          {visible(cutAt(prompt(), maxChars()))}
          {prompt().length > maxChars() ? "…" : ""}
        </p>
      </Show>
      <Show when={props.agent.counts.spawned > 0}>
        <p class="muted">
          {plural(props.agent.counts.spawned, "sub-agent")}, {plural(props.agent.counts.descendants, "agent")} at all
          levels below
        </p>
      </Show>
    </>
  );
}
