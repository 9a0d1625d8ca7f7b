import { TRACE_SWITCHES } from "../../app/export/destinations/index.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";

export interface HookOptions {
  readonly flush?: boolean;
  readonly stay?: boolean;
  readonly lineage?: boolean;
  readonly debug?: boolean;
}

/**
 * The command that agents' hooks run. `bin/retinue.js` handles the common cases itself, because starting the whole
 * program takes longer. `--flush` sends new turns, if tracing is enabled.
 */
export async function hook(context: Context, options: HookOptions): Promise<void> {
  const { terminal, env, json } = context;
  if (options.lineage === true) {
    const { lineageHook } = await import("../../app/hooks/lineage-hook.ts");
    const changed = await lineageHook();
    return changed === "" ? undefined : terminal.out(changed);
  }
  if (options.flush !== true) return (await import("../../app/hooks/hook.ts")).hook(env);
  const { flush } = await import("../../app/hooks/flush.ts");
  const flushed = await flush(env, { debug: options.debug === true, stay: options.stay === true });
  if (json) return terminal.out(printJson(flushed, 2));
  if (flushed.length === 0) terminal.notify(`tracing is off: set ${TRACE_SWITCHES}`);
  for (const { destination, isOurs, waiting, reason } of flushed)
    terminal.notify(
      `${destination}: ${isOurs ? (waiting === 0 ? "everything was delivered" : `${waiting} waiting: ${reason ?? "unknown reason"}`) : "another process sends it"}`,
    );
}
