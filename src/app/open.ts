import type { Liveness } from "../core/liveness.ts";
import { crewOf } from "./crew.ts";
import type { Env } from "./home.ts";
import { openIndex } from "./index-file.ts";
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
}

/** The library of this machine, over the index, by the user's settings. Nothing is read yet. */
export async function openLibrary({ env, settings: file, talk, onProgress, liveness, isMember = false }: OpenOptions): Promise<Library> {
  const { store, isShared } = await openIndex(env, talk);
  return new Library({
    env,
    store,
    price: pricesWith(file.values["prices.<model>"]),
    roots: file.values["roots.<provider>"],
    staleAfterMs: file.values.stale_after,
    basis: basisOf(file),
    isMember,
    ...(onProgress === undefined ? {} : { onProgress }),
    ...(liveness === undefined ? {} : { liveness }),
    ...(isShared && !isMember ? { crew: crewOf(env) } : {}),
  });
}
