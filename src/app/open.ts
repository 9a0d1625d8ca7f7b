import type { Liveness } from "../core/link/liveness.ts";
import type { Env } from "./home.ts";
import { Index } from "./ingest/index-file.ts";
import { Library, type OnProgress } from "./ingest/library.ts";
import { pricesWith } from "./query/prices.ts";
import { basisOf, type SettingsFile } from "./settings/settings.ts";

export interface OpenOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly notify: (text: string) => void;
  readonly onProgress?: OnProgress;
  /** Replaces the operating system's process check. */
  readonly liveness?: Liveness;
  /** The caller retries temporary errors itself, as the server does. */
  readonly retries?: boolean;
}

/** The library of this machine with the user's settings. Reads no records yet. */
export async function openLibrary({
  env,
  settings: file,
  notify,
  onProgress,
  liveness,
  retries = false,
}: OpenOptions): Promise<Library> {
  const index = await Index.open({ env, notify, retries });
  return new Library({
    env,
    store: index,
    price: pricesWith(file.values["prices.<model>"]),
    roots: file.values["roots.<provider>"],
    staleAfterMs: file.values.stale_after,
    basis: basisOf(file),
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(liveness === undefined ? {} : { liveness }),
  });
}
