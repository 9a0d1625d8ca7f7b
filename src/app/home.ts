import { homedir } from "node:os";
import { closeToOthers, privateFolder } from "../transports/private.ts";
import { join } from "../transports/system/paths.ts";

export { writePrivate } from "../transports/private.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** Products on Windows take the profile folder for it, even where a shell sets HOME. */
export const userHome = (env: Env, platform: string = process.platform) => (platform === "win32" && env.USERPROFILE) || env.HOME || homedir();

/** Where a provider's transcripts from elsewhere are kept; made by the first import. */
export const importedRoot = (env: Env, provider: string) => join(retinueHome(env), "imported", provider);

/** Where outputs of its agents are kept that were taken in, as they were printed; made by the first import of one. */
export const importedStreams = (env: Env, provider: string) => join(importedRoot(env, provider), "streams");

/** Where what live sources said about agents of a provider is kept, raw. */
export const recordingsRoot = (env: Env, provider: string) => join(retinueHome(env), "recordings", provider);

/** Where a provider's live sources say that it keeps records beyond its usual folders: a root of its own form, or a single transcript. */
export type FollowedPlace = string | { readonly transcript: string; readonly session: string };

/** The list of them, one as JSON on each line. */
export const followedRoots = (env: Env, provider: string) => join(recordingsRoot(env, provider), "roots");

/** Where retinue keeps its own data. */
export function retinueHome(env: Env): string {
  return env.RETINUE_HOME || join(env.XDG_DATA_HOME || join(userHome(env), ".local", "share"), "retinue");
}

/** The same for whoever writes there: it is made on first use, for this user alone. */
export function madeHome(env: Env): string {
  privateFolder(retinueHome(env));
  return retinueHome(env);
}

/** What versions up to 0.1.0 made there, some of it open to everybody whom the umask let in. */
const OLDER_NAMES = /^(?:index|kept)\.sqlite|^server\.json|^(?:recordings|imported|hooks|logs)$/;

/** Closes what an older version left open. */
export function closeHome(env: Env): void {
  closeToOthers(retinueHome(env), (name) => OLDER_NAMES.test(name));
}
