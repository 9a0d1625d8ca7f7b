import { homedir } from "node:os";
import { closeToOthers, privateFolder } from "../transports/private.ts";
import { join } from "../transports/system/paths.ts";

export { writePrivate } from "../transports/private.ts";

export type Env = Readonly<Record<string, string | undefined>>;

/** On Windows products use the profile folder, even if a shell sets HOME. */
export const userHome = (env: Env, platform: string = process.platform) =>
  (platform === "win32" && env.USERPROFILE) || env.HOME || homedir();

/** Folder of imported transcripts; created by the first import. */
export const importedRoot = (env: Env, provider: string) => join(retinueHome(env), "imported", provider);

/** Folder of imported outputs, unparsed; created by the first import. */
export const importedStreams = (env: Env, provider: string) => join(importedRoot(env, provider), "streams");

/** Folder of a provider's recordings. */
export const recordingsRoot = (env: Env, provider: string) => join(retinueHome(env), "recordings", provider);

/** A place outside of a provider's usual folders that live sources named: a root folder, or a single transcript. */
export type FollowedPlace = string | { readonly transcript: string; readonly session: string };

/** The file that lists them, one JSON value per line. */
export const followedRoots = (env: Env, provider: string) => join(recordingsRoot(env, provider), "roots");

/** The folder of retinue's own data. */
export function retinueHome(env: Env): string {
  return env.RETINUE_HOME || join(env.XDG_DATA_HOME || join(userHome(env), ".local", "share"), "retinue");
}

/** Creates the folder of retinue's own data, with mode 0700, and returns it. */
export function madeHome(env: Env): string {
  privateFolder(retinueHome(env));
  return retinueHome(env);
}

/** Names that retinue creates; RETINUE_HOME may be a folder with other files. */
const OWN_NAMES =
  /^(?:index|kept|shipped)\.sqlite|^server\.json|^(?:proxy-)?token(?:\.|$)|^(?:recordings|imported|attached|hooks|guard|logs|control)$/;

/** Restricts the permissions of files that an older version or something else left open to others. */
export function closeHome(env: Env): void {
  closeToOthers(retinueHome(env), (name) => OWN_NAMES.test(name));
}
