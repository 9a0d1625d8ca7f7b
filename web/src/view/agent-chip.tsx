import { createEffect, type JSX } from "solid-js";
import { displayName } from "../data/format.ts";
import { oneLine } from "../data/text.ts";
import type { AgentRecord } from "../data/types.ts";
import { AgentTip } from "./agent-tip.tsx";
import { StatusMark } from "./status.tsx";
import { tooltip } from "./tip.tsx";

/** A button in the colour of an agent that shows or hides its events in a log. */
export function AgentChip(props: {
  agent: AgentRecord;
  id: string;
  hue: number;
  isShown: boolean;
  onToggle: () => void;
  /** Shows only this agent. */
  onOnly?: () => void;
  /** What distinguishes agents of the same name, such as their id. */
  children: JSX.Element;
}) {
  return (
    <button
      type="button"
      class="agent-chip"
      data-chip={props.id}
      aria-pressed={props.isShown}
      ref={(element) => createEffect(() => element.style.setProperty("--hue", String(props.hue)))}
      onClick={() => props.onToggle()}
      onDblClick={() => props.onOnly?.()}
      {...tooltip(() => <AgentTip agent={props.agent} />)}
    >
      <StatusMark status={props.agent.status} /> {oneLine(displayName(props.agent), 32)} {props.children}
    </button>
  );
}
