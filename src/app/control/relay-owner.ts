import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { RelayPermissions } from "../relay/relay-permissions.ts";
import { type Endpoint, openEndpoint } from "./endpoint.ts";

/** Lets other processes of this user answer the permission requests of followed servers. */
export const shareRelays = (env: Env, relays: () => readonly RelayPermissions[]): Promise<Endpoint> =>
  openEndpoint(env, {
    state: () => ({ threads: [], permissions: relays().flatMap(({ open }) => open) }),
    answer: async (id, answer) => {
      for (const relay of relays()) if (await relay.answer(id, answer)) return true;
      return false;
    },
    steer: () => Promise.reject(new Failure("failed", "agents of followed servers cannot be steered", [])),
  });
