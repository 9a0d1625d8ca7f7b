import { Hono } from "hono";
import { answerPermission, controllable, steer } from "../../app/control/control.ts";
import { asInTree } from "../../app/control/shown.ts";
import { resolve } from "../../app/query/resolve.ts";
import type { ServerContext } from "../context.ts";
import { Answered, PermissionList, PermissionReply, Steer, SteeredList, SteerResult } from "../control-schemas.ts";
import { checked, describeResponse } from "../describe.ts";
import { type GuardOptions, mayControl } from "../guard.ts";

/** Permission requests and steering. Routes that change something require the token and a server on loopback. */
export function controlRoutes({ library, env }: ServerContext, guarded: GuardOptions): Hono {
  return new Hono()
    .get(
      "/permissions",
      describeResponse("Permissions that agents wait for, oldest first", PermissionList),
      async (c) => c.json({ items: asInTree(library, (await controllable(env)).permissions), next: null }),
    )
    .post(
      "/permissions/:id",
      describeResponse("Answer a permission request; only on loopback and with the token", Answered, [
        "usage",
        "not_found",
        "failed",
      ]),
      mayControl(guarded),
      checked("json", PermissionReply),
      async (c) => {
        const id = c.req.param("id");
        await answerPermission(env, id, c.req.valid("json"));
        return c.json({ id });
      },
    )
    .get(
      "/steering",
      describeResponse("Running threads whose agents can be steered, and how", SteeredList),
      async (c) => c.json({ items: [...(await controllable(env)).threads], next: null }),
    )
    .post(
      "/agents/:uri/steer",
      describeResponse(
        "Steer an agent of a run that retinue controls; only on loopback and with the token",
        SteerResult,
        ["usage", "not_found", "failed"],
      ),
      mayControl(guarded),
      checked("json", Steer),
      async (c) => {
        const { uri } = resolve(library, c.req.param("uri"));
        await steer(env, { ...c.req.valid("json"), uri });
        return c.json({ uri });
      },
    );
}
