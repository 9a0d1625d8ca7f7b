import { For } from "solid-js";
import type { AgentRecord } from "../data/types.ts";
import { colorOfType, typeNames } from "./type-colors.ts";

const SHOWN = 6;

/** Legend of the type colours. */
export function TypeLegend(props: { records: readonly AgentRecord[] }) {
  const types = () => typeNames(props.records);
  const rest = () => types().length - SHOWN;
  return (
    <ul class="legend types" aria-label="Colours">
      <For each={types().slice(0, SHOWN)}>
        {(type) => (
          <li ref={(element) => element.style.setProperty("--swatch", `var(--${colorOfType(types(), type)})`)}>
            {type}
          </li>
        )}
      </For>
      {rest() > 0 ? (
        <li ref={(element) => element.style.setProperty("--swatch", "var(--kind-rest)")}>{rest()} more</li>
      ) : null}
    </ul>
  );
}
