import type { JsonObject } from "../tools/json.ts";
import type { AskedPermission, PermissionReply } from "./control.ts";

/** Permission requests of a followed server. `place` is the part of the server that a request belongs to. */
export interface RelayPermissions {
  /** A new or closed request in a frame of the event stream; null for other frames. */
  changeIn(
    frame: unknown,
  ): { readonly asked: AskedPermission; readonly place: string | null } | { readonly closed: string } | null;
  /** All open requests of a place, in a response to a request of this path; null for other paths. */
  openIn(
    path: string,
    body: unknown,
  ): { readonly place: string | null; readonly asked: readonly AskedPermission[] } | null;
  /** How limits are enforced by answering them; omitted if they cannot. */
  readonly guard?: RelayGuard;
  /** The requests by which it is answered; the first one that the server knows is used. */
  replies(
    asked: AskedPermission,
    place: string | null,
    reply: PermissionReply,
    text: string | null,
  ): readonly { readonly path: string; readonly body: JsonObject }[];
}

/** What limits depend on, in the frames and permission requests of a followed server. */
export interface RelayGuard {
  /** The agent that the call would spawn; null for other requests. */
  spawnOf(asked: AskedPermission): { readonly type: string | null; readonly description: string | null } | null;
  /** A session that a frame names, with its parent, or that it is idle; null for other frames. */
  sessionIn(frame: unknown): { readonly id: string; readonly parent: string | null; readonly isIdle: boolean } | null;
}
