import type { JSX } from "solid-js";
import { route, setParams } from "../state/navigation.ts";

/** A checkbox that sets a parameter of the URL (to `1` by default) and removes it when unchecked. */
export function ParamCheck(props: { name: string; value?: string; children: JSX.Element }) {
  const value = () => props.value ?? "1";
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={route().params[props.name] === value()}
        onChange={(event) => setParams({ [props.name]: event.currentTarget.checked ? value() : null })}
      />
      {props.children}
    </label>
  );
}
