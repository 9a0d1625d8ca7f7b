import { type AttachedAgent, type AttachRequest, nameIn, type Unable } from "../../core/ports/attach.ts";

/** Why a product that forks sessions by their id cannot fork this one; null if it can. `store` has its sessions. */
export function cannotFork(
  product: string,
  store: "database" | "folder",
  { thread, files }: AttachedAgent,
  { until }: AttachRequest,
): Unable | null {
  if (!files.some(({ isOwn }) => isOwn)) return { unable: `its session is not in ${product}'s own ${store}` };
  if (nameIn(thread) === null) return { unable: "its id cannot be an argument" };
  return until === null ? null : { unable: `${product} can only fork a session at its end` };
}
