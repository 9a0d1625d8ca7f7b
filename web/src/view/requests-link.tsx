import { createResource, Show } from "solid-js";
import { hrefTo } from "../state/navigation.ts";
import { api } from "../state/server.ts";

/** Link to the API requests of the agent, if any were recorded. */
export function RequestsLink(props: { uri: string }) {
  const [any] = createResource(
    () => props.uri,
    async (agent) => (await api.requests({ agent, limit: 1 }).catch(() => null))?.items.length === 1,
  );
  return (
    <Show when={any() === true}>
      <a class="requests-link" href={hrefTo({ page: "requests", uri: props.uri })}>
        API requests
      </a>
    </Show>
  );
}
