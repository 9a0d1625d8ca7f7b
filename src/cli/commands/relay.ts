import type { RelayView } from "../../app/relay.ts";
import { RELAYED_NAMES, relayedProvider, serverAddress } from "../../app/relayed.ts";
import { printJson } from "../../core/json.ts";
import type { Context } from "../context.ts";

export interface RelayOptions {
  readonly url?: string;
}

const WORDS: Readonly<Record<RelayView["state"], string>> = {
  connecting: "connecting to",
  following: "following",
  waiting: "waiting for",
  refused: "refused by",
  stopped: "no longer following",
};

const secrets = RELAYED_NAMES.map((name) => relayedProvider(name).relay?.secret).join(", ");
export const RELAY_HELP = `\nA password is taken from the environment (${secrets}) and never written down.\nThe server of retinue can follow others by itself: POST /api/relays, or the board of the dashboard.`;

/** Follows a server until it is interrupted. What it says is kept, and shown wherever agents are shown. */
export async function relay({ terminal, env, json }: Context, name: string, options: RelayOptions): Promise<void> {
  // Loaded on demand: no other command needs it.
  const { ServerRelay } = await import("../../app/relay.ts");
  const provider = relayedProvider(name);
  const { url, credentials } = serverAddress(options.url ?? provider.relay?.address ?? "");
  const told = new Set<string>();
  let last = "";
  const tell = (view: RelayView) => {
    if (json) return terminal.out(printJson(view));
    const { state, error } = view;
    const words = `${WORDS[state]} ${url.href}${error === null ? "" : `: ${error}`}`;
    if (words !== last) terminal.talk(words);
    if (words !== last && state === "refused") terminal.talk(`set ${provider.relay?.secret} to its password`);
    last = words;
    for (const limit of view.limits.filter((one) => !told.has(one))) {
      terminal.talk(`note: ${limit}`);
      told.add(limit);
    }
  };
  const following = new ServerRelay({ env, provider, url, credentials, onChange: tell });
  tell(following.view);
  await new Promise<void>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
  });
  await following.stop();
}
