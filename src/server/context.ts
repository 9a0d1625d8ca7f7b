import type { Cards } from "../app/cards.ts";
import type { Env } from "../app/home.ts";
import type { Library } from "../app/library.ts";
import type { Relays } from "../app/relays.ts";
import type { SettingsFile } from "../app/settings.ts";
import type { Trouble, Troubles } from "../app/troubles.ts";
import type { Hub } from "./hub.ts";

/** What the routes work with. */
export interface ServerContext {
  readonly library: Library;
  readonly hub: Hub;
  readonly cards: Cards;
  readonly relays: Relays;
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly version: string;
  /** Of this run: tells it from another one at the same address. */
  readonly instance: string;
  readonly startedAt: string;
  readonly isDemo: boolean;
  readonly state: ServerState;
  readonly talk: (words: string) => void;
  /** An address that lets a browser in. */
  readonly address: () => string;
  /** A demo beside this server, started when it is first asked for; it ends with us. */
  readonly demo: () => Promise<{ readonly address: string }>;
}

/** What changes while it runs. */
export interface ServerState {
  reading: { readonly done: number; readonly all: number } | null;
  watching: boolean;
  /** What cannot be done at the moment. */
  readonly troubles: Troubles;
  clients: number;
  /** Tells of files that have changed, before the operating system does. */
  tell: (paths: readonly string[]) => void;
  /** Aborted when the server goes: streams end then. */
  readonly stop: AbortController;
}

/** As clients get them. */
export const troublesToTell = (troubles: readonly Trouble[]) => troubles.map((trouble) => ({ ...trouble, since: new Date(trouble.since).toISOString() }));
