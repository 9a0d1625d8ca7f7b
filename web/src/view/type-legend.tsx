import { For } from "solid-js";
import type { AgentRecord } from "../data/types.ts";
import { colorOfType, typeNames } from "./type-colors.ts";

/** Further types share one colour. */
const MAX_TYPES = 6;

/** Legend of the type colours. */
export function TypeLegend(props: { records: readonly AgentRecord[] }) {
  const types = () => typeNames(props.records);
  const rest = () => types().length - MAX_TYPES;
  return (
    <ul class="legend types" aria-label="Colours">
      <For each={types().slice(0, MAX_TYPES)}>
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
