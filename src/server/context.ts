import type { Cards } from "../app/cards/cards.ts";
import type { Env } from "../app/home.ts";
import type { Reading } from "../app/ingest/backlog.ts";
import type { Library } from "../app/ingest/library.ts";
import type { Trouble, Troubles } from "../app/live/troubles.ts";
import type { Unsearched } from "../app/query/search.ts";
import type { Relays } from "../app/relay/relays.ts";
import type { SettingsFile } from "../app/settings/settings.ts";
import type { Hub } from "./hub.ts";

/** Shared by all routes. */
export interface ServerContext {
  readonly library: Library;
  readonly hub: Hub;
  readonly cards: Cards;
  readonly relays: Relays;
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly version: string;
  /** Random id of this server process. Another program may use the same address later. */
  readonly instance: string;
  readonly startedAt: string;
  readonly isDemo: boolean;
  readonly state: ServerState;
  readonly notify: (text: string) => void;
  /** Returns a URL that gives a browser access. */
  readonly address: () => string;
  /** Starts a demo server on first use and returns its address. The demo stops with this server. */
  readonly demo: () => Promise<{ readonly address: string }>;
}

/** State that changes while the server runs. */
export interface ServerState {
  watching: boolean;
  /** What the server cannot do at the moment. */
  readonly troubles: Troubles;
  clients: number;
  /** Reports changed files without waiting for the file watcher. */
  reportChanged: (paths: readonly string[]) => void;
  /** Aborted when the server stops; ends all streams. */
  readonly stop: AbortController;
}

/** The API's representation of the reading progress. */
export const reportedReading = (reading: Reading | null) => {
  if (reading === null) return null;
  const { reachesMs, ...progress } = reading;
  return { ...progress, reaches: new Date(Math.min(reachesMs, Date.now())).toISOString() };
};

/** The API's representation of text that is not searched yet. */
export const reportedUnsearched = (left: Unsearched | null) =>
  left === null ? null : { files: left.files, bytes: left.bytes, reaches: new Date(left.reachesMs).toISOString() };

/** The API's representation of troubles. */
export const reportedTroubles = (troubles: readonly Trouble[]) =>
  troubles.map((trouble) => ({ ...trouble, since: new Date(trouble.since).toISOString() }));
