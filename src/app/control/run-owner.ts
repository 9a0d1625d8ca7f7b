import { partsOf } from "../../core/facts/ids.ts";
import { formatUri } from "../../core/facts/uri.ts";
import { Failure } from "../failure.ts";
import type { Env } from "../home.ts";
import type { Channel } from "../runs/channel.ts";
import type { Running } from "../runs/run.ts";
import { type Endpoint, openEndpoint } from "./endpoint.ts";
import type { Owner, SteerRequest } from "./owner.ts";

/** Lets other processes of this user control a run, until it ends. */
export async function shareRun(env: Env, running: Running): Promise<Endpoint> {
  let thread: string | null = null;
  void running.thread.then((found) => {
    if (found !== null) thread = formatUri(partsOf(found).provider, partsOf(found).thread, null);
  });
  const { channel } = running;
  const owner: Owner = {
    state: () => ({
      threads: thread === null || channel === null ? [] : [{ uri: thread, actions: channel.actions }],
      permissions: channel?.permissions.open ?? [],
    }),
    answer: async (id, answer) => channel?.permissions.answer(id, answer) === true,
    steer: (request) => steerRun(channel, thread ?? "", request),
  };
  const endpoint = await openEndpoint(env, owner);
  void running.ended.then(() => endpoint.close());
  return endpoint;
}

async function steerRun(channel: Channel | null, thread: string, { action, uri, text = "" }: SteerRequest) {
  const agent = uri.startsWith(`${thread}/`) ? uri.slice(thread.length + 1) : null;
  if (channel === null) throw new Failure("failed", "this run cannot be controlled", []);
  if (action === "interrupt") return channel.interrupt();
  if (action === "send") return channel.send(text);
  if (agent === null)
    throw new Failure("usage", `${action} needs the URI of an agent below the thread`, [
      "use interrupt for the thread",
    ]);
  if (action === "stop") return channel.stop(agent);
  return action === "background" ? channel.background(agent) : channel.continueAgent(agent, text);
}
