import { Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import * as v from "valibot";
import type { TeamStore } from "../../app/team/store.ts";
import { checked, describeResponse } from "../describe.ts";
import { refusal } from "../failures.ts";
import { COOKIE, type TeamEnv, viewerOf } from "./access.ts";
import { Session } from "./schemas.ts";

const SESSION_SECONDS = 30 * 86_400;

/** Browsers exchange a token for a session in an HttpOnly cookie. */
export function sessionRoutes(tokens: TeamStore["tokens"]): Hono<TeamEnv> {
  return new Hono<TeamEnv>()
    .post(
      "/",
      describeResponse("Give a browser access with a token", Session, ["usage", "too_large"]),
      checked("json", v.strictObject({ token: v.pipe(v.string(), v.minLength(1), v.maxLength(200)) })),
      async (c) => {
        const grant = await tokens.grantOf(c.req.valid("json").token);
        if (grant === null || grant.scope === "ship")
          return refusal(
            c,
            "unauthorized",
            grant === null ? "the token is unknown, expired or revoked" : "this token can only ship",
            "ask for a token with scope read",
          );
        setCookie(c, COOKIE, await tokens.openSession(grant), {
          httpOnly: true,
          sameSite: "Strict",
          path: "/",
          maxAge: SESSION_SECONDS,
          secure: c.req.header("x-forwarded-proto") === "https",
        });
        await tokens.audit({
          token: grant.id,
          owner: grant.owner,
          action: "session",
          subject: null,
          threadOwner: null,
        });
        return c.json({ owner: grant.owner, scope: grant.scope, owners: await tokens.readable(grant) });
      },
    )
    .get("/", describeResponse("Who the browser's session belongs to", Session), (c) => {
      const { grant, owners } = viewerOf(c);
      return c.json({ owner: grant.owner, scope: grant.scope, owners: [...owners] });
    })
    .delete("/", describeResponse("End the session of a browser", v.object({})), async (c) => {
      const secret = getCookie(c, COOKIE);
      if (secret !== undefined) await tokens.closeSession(secret);
      deleteCookie(c, COOKIE, { path: "/" });
      return c.json({});
    });
}
