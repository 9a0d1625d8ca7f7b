/**
 * `retinue hook --lineage`: an optional hook before shell calls. It puts the ids of the session, the agent and the call
 * into the environment of a command that may start another agent, so that the agent's process names its parent. A
 * separate entry point that loads little, because the agent waits for it. Never fails.
 */
import { asObject, parseJson } from "../../core/tools/json.ts";
import * as products from "../../providers/index.ts";
import { readInput } from "../../transports/bounded.ts";

/** What the hook prints; empty if the command stays as it is. */
export async function lineageHook(input: () => string | null = readInput): Promise<string> {
  try {
    const payload = asObject(parseJson(input() ?? "")?.value);
    if (payload === null) return "";
    for (const { shellHook } of Object.values(products)) {
      const response = (await shellHook?.())?.(payload) ?? null;
      if (response !== null) return JSON.stringify(response);
    }
  } catch {
    // The command runs unchanged.
  }
  return "";
}
