import type { RelayView } from "../../app/relay/relay.ts";
import { RELAYED_NAMES, relayedProvider, serverAddress } from "../../app/relay/relayed.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { untilStopSignal } from "../output.ts";

export interface RelayOptions {
  readonly url?: string;
}

const STATE_TEXT: Readonly<Record<RelayView["state"], string>> = {
  connecting: "connecting to",
  following: "following",
  waiting: "waiting for",
  refused: "refused by",
  stopped: "no longer following",
};

const secrets = RELAYED_NAMES.map((name) => relayedProvider(name).relay?.secret).join(", ");
export const RELAY_HELP = `\nThe password is read from the environment (${secrets}) and never stored.\nA running retinue server can follow servers too: POST /api/relays, or the board of the dashboard.`;

/** Follows a product's server until interrupted. Its events are recorded and shown like those of other agents. */
export async function relay({ terminal, env, json }: Context, name: string, options: RelayOptions): Promise<void> {
  // Imported on demand: only this command needs it.
  const { ServerRelay } = await import("../../app/relay/relay.ts");
  const provider = relayedProvider(name);
  const { url, credentials } = serverAddress(options.url ?? provider.relay?.address ?? "");
  const notedLimits = new Set<string>();
  let last = "";
  const show = (view: RelayView) => {
    if (json) return terminal.out(printJson(view));
    const { state, error } = view;
    const text = `${STATE_TEXT[state]} ${url.href}${error === null ? "" : `: ${error}`}`;
    if (text !== last) terminal.notify(text);
    if (text !== last && state === "refused") terminal.notify(`set ${provider.relay?.secret} to its password`);
    last = text;
    for (const limit of view.limits.filter((one) => !notedLimits.has(one))) {
      terminal.notify(`note: ${limit}`);
      notedLimits.add(limit);
    }
  };
  const following = new ServerRelay({ env, provider, url, credentials, onChange: show });
  show(following.view);
  const { shareRelays } = await import("../../app/control/relay-owner.ts");
  const endpoint = await shareRelays(env, () => [following.permissions]);
  await untilStopSignal();
  endpoint.close();
  await following.stop();
}
