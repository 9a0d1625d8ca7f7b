import type { Liveness } from "../core/liveness.ts";
import { crewOf } from "./crew.ts";
import type { Env } from "./home.ts";
import { Index } from "./index-file.ts";
import { Library } from "./library.ts";
import { pricesWith } from "./prices.ts";
import { basisOf, type SettingsFile } from "./settings.ts";

export interface OpenOptions {
  readonly env: Env;
  readonly settings: SettingsFile;
  readonly talk: (words: string) => void;
  readonly onProgress?: (done: number, all: number) => void;
  /** Instead of asking the operating system. */
  readonly liveness?: Liveness;
  /** One of a crew: reads what it is given, by itself. */
  readonly isMember?: boolean;
  /** The caller tries again by itself what fails for the moment, as a server does. */
  readonly retries?: boolean;
}

/** The library of this machine, over the index, by the user's settings. Nothing is read yet. */
export async function openLibrary({ env, settings: file, talk, onProgress, liveness, isMember = false, retries = false }: OpenOptions): Promise<Library> {
  const index = await Index.open({ env, talk, retries });
  // Whoever gave it the work does what it cannot do.
  if (isMember && index.trouble !== null) throw new Error(index.trouble);
  return new Library({
    env,
    store: isMember ? index.store : index,
    price: pricesWith(file.values["prices.<model>"]),
    roots: file.values["roots.<provider>"],
    staleAfterMs: file.values.stale_after,
    basis: basisOf(file),
    isMember,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(liveness === undefined ? {} : { liveness }),
    ...(isMember ? {} : { crew: crewOf(env) }),
  });
}
