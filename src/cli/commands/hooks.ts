import { planHooks } from "../../app/hooks/hook-install.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";
import { showChange } from "../render/change.ts";
import { isConfirmed } from "../render/confirm.ts";

export interface HooksOptions {
  readonly yes?: boolean;
  readonly lineage?: boolean;
}

/** Shows the change to a product's settings, asks for confirmation and applies it. */
export async function hooks(
  context: Context,
  action: "install" | "uninstall",
  provider: string,
  options: HooksOptions,
): Promise<void> {
  const { terminal, env, json } = context;
  const { out, notify, colors } = terminal;
  const change = planHooks(action, provider, env, options.lineage === true);
  const report = (isDone: boolean) => {
    const { path, before, after, isChanged, tracers, next } = change;
    if (json) out(printJson({ path, changed: isChanged, done: isDone, before, after, tracers, next }, 2));
  };
  if (!json) showChange(terminal, change);
  for (const tracer of change.tracers)
    notify(colors.yellow(`a hook of another tracer is installed and stays: ${tracer}`));
  if (!change.isChanged) {
    change.apply();
    report(false);
    return notify(action === "install" ? "the hooks are already installed" : "no hooks are installed");
  }
  if (options.yes !== true && !(await isConfirmed(context, `change ${change.path}?`))) {
    report(false);
    return notify("nothing was changed");
  }
  change.apply();
  report(true);
  if (!json) out(`changed ${change.path}`);
  if (change.next !== null) notify(change.next);
}
