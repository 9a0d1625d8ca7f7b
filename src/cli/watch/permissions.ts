import { controllable } from "../../app/control/control.ts";
import { asInTree } from "../../app/control/shown.ts";
import type { Env } from "../../app/home.ts";
import type { Library } from "../../app/ingest/library.ts";
import type { Permission } from "../../app/runs/permissions.ts";

/** The open permission requests, with the URIs that the tree shows. */
export const permissionsIn = async (env: Env, library: Library): Promise<readonly Permission[]> =>
  asInTree(library, (await controllable(env)).permissions);
