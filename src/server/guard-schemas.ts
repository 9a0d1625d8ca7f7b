/** Schema of `/guard`. */
import * as v from "valibot";
import { LIMIT_ACTIONS, LIMIT_NAMES } from "../core/guard/limits.ts";
import { text } from "./schemas.ts";

const limit = { limit: v.picklist(LIMIT_NAMES), max: v.number(), action: v.picklist(LIMIT_ACTIONS) };
const event = v.object({
  at: v.string(),
  uri: v.string(),
  ...limit,
  whose: text,
  used: v.number(),
  id: v.pipe(v.string(), v.description("the tool call, or the agent whose request the proxy refused")),
  type: text,
  description: text,
  via: v.pipe(v.string(), v.description("what enforced it: hook, run, proxy or relay")),
  reason: v.string(),
});

export const Guard = v.pipe(
  v.object({
    limits: v.array(v.object({ scope: v.picklist(["all", "type", "project", "product"]), name: text, ...limit })),
    hooks: v.array(
      v.object({
        provider: v.string(),
        product: v.string(),
        path: v.string(),
        commands: v.array(v.string()),
        canRefuse: v.boolean(),
      }),
    ),
    threads: v.array(
      v.object({
        uri: v.string(),
        title: text,
        uses: v.array(
          v.object({
            ...limit,
            whose: text,
            used: v.nullable(v.number()),
            share: v.pipe(v.nullable(v.number()), v.description("1 for all of it; null if it is not known")),
          }),
        ),
      }),
    ),
    denied: v.array(event),
    warned: v.array(event),
    trouble: v.nullable(v.object({ at: v.number(), error: v.string() })),
  }),
  v.metadata({ ref: "Guard" }),
);
