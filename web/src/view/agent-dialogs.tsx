import { lazy, Show, Suspense } from "solid-js";
import { route, setParams } from "../state/navigation.ts";

const Attach = lazy(() => import("./attach.tsx"));
const Control = lazy(() => import("./control.tsx"));
const Why = lazy(() => import("./why.tsx"));

/** Dialogs about an agent. Each is open while its parameter of the URL names an agent. */
export function AgentDialogs() {
  return (
    <Suspense>
      <Show when={route().params.why} keyed>
        {(uri) => <Why uri={uri} onClose={() => setParams({ why: null })} />}
      </Show>
      <Show when={route().params.attach} keyed>
        {(uri) => <Attach uri={uri} onClose={() => setParams({ attach: null })} />}
      </Show>
      <Show when={route().params.control} keyed>
        {(uri) => <Control uri={uri} onClose={() => setParams({ control: null })} />}
      </Show>
    </Suspense>
  );
}
