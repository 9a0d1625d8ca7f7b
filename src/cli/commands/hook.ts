import { printJson } from "../../core/json.ts";
import type { Context } from "../context.ts";

export interface HookOptions {
  readonly flush?: boolean;
  readonly stay?: boolean;
  readonly debug?: boolean;
}

/** What hooks of agents call, where `bin/retinue.js` did not take the shorter way. `--flush` sends what happened since the last time, for those who have tracing switched on. */
export async function hook(context: Context, options: HookOptions): Promise<void> {
  const { terminal, env, json } = context;
  if (options.flush !== true) return (await import("../../app/hook.ts")).hook(env);
  const { flush } = await import("../../app/flush.ts");
  const flushed = await flush(env, { debug: options.debug === true, stay: options.stay === true });
  if (json) return terminal.out(printJson(flushed, 2));
  if (flushed.length === 0) terminal.talk("tracing is not switched on: set TRACE_TO_LANGSMITH=true or TRACE_TO_OTLP=true");
  for (const { destination, isOurs, waiting, reason } of flushed)
    terminal.talk(
      `${destination}: ${isOurs ? (waiting === 0 ? "everything has arrived" : `${waiting} wait: ${reason ?? "no reason known"}`) : "another process looks after it"}`,
    );
}
