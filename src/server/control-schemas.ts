/** Schemas of permission requests and steering. */
import * as v from "valibot";
import { ACTIONS } from "../app/control/owner.ts";

const REPLIES = ["once", "always", "reject"] as const;
const action = v.picklist(ACTIONS);
const words = v.pipe(v.string(), v.maxLength(20_000));

export const Permission = v.pipe(
  v.object({
    id: v.string(),
    uri: v.pipe(v.nullable(v.string()), v.description("The agent that waits; null if its thread is not known yet.")),
    tool: v.pipe(v.string(), v.description("The tool, or the kind of permission.")),
    input: v.pipe(
      v.record(v.string(), v.unknown()),
      v.description("Everything that the product states about what it would do, in full."),
    ),
    callId: v.nullable(v.string()),
    replies: v.array(v.picklist(REPLIES)),
    always: v.pipe(v.array(v.string()), v.description("What `always` would allow from now on.")),
    askedAt: v.pipe(v.string(), v.isoTimestamp()),
  }),
  v.metadata({ ref: "Permission" }),
);
export const PermissionList = v.object({ items: v.array(Permission), next: v.null() });
export const PermissionReply = v.strictObject({
  reply: v.picklist(REPLIES),
  text: v.optional(v.pipe(words, v.description("Sent to the model if the call is rejected."))),
});
export const Answered = v.object({ id: v.string() });

export const SteeredList = v.object({
  items: v.array(v.object({ uri: v.string(), actions: v.array(action) })),
  next: v.null(),
});
export const Steer = v.strictObject({
  action: v.pipe(
    action,
    v.description("stop, background and continue: an agent below the thread; interrupt and send: the thread."),
  ),
  text: v.optional(v.pipe(words, v.description("The message, for send and continue."))),
});
export const SteerResult = v.object({ uri: v.string() });
