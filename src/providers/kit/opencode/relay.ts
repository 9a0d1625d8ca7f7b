import type { Relay } from "../../../core/ports/provider.ts";
import { ServerFollower } from "./follower.ts";
import { permissions } from "./permissions.ts";

/** `<program> serve`, `<program> web`, and other modes that listen. `variable` begins the names of their settings. */
export const relayOf = (program: string, variable: string): Relay => ({
  address: "http://127.0.0.1:4096",
  streams: [
    // A heartbeat is sent every ten seconds. Streams below `/api` end at once (1.18.33).
    { path: "/global/event", silenceMs: 35_000, limit: null },
    // Older servers and forks have only this one, and some send no heartbeat.
    {
      path: "/event",
      silenceMs: 300_000,
      limit: "it streams one directory only (GET /event): sessions in other directories are only known from requests",
    },
  ],
  secret: `${variable}_SERVER_PASSWORD`,
  authorization(env, given) {
    const password = given?.password ?? env[`${variable}_SERVER_PASSWORD`];
    if (password === undefined || password === "") return null;
    return `Basic ${base64(`${given?.user ?? (env[`${variable}_SERVER_USERNAME`] || program)}:${password}`)}`;
  },
  follow: () => new ServerFollower(),
  permissions,
});

const base64 = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
