import { For } from "solid-js";
import { oneLine } from "../data/text.ts";
import { setParams } from "../state/navigation.ts";

/** A filter whose value is a parameter of the URL. */
export function Choice(props: {
  label: string;
  name: string;
  value: string | null;
  any: string;
  options: readonly (readonly [string, string])[];
}) {
  return (
    <select
      aria-label={props.label}
      name={props.name}
      classList={{ chosen: props.value !== null }}
      onChange={(event) => setParams({ [props.name]: event.currentTarget.value || null })}
    >
      <option value="" selected={props.value === null}>
        {props.any}
      </option>
      <For each={props.options}>
        {([value, text]) => (
          <option value={value} selected={props.value === value}>
            {oneLine(text, 40)}
          </option>
        )}
      </For>
    </select>
  );
}
