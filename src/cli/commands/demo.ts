import type { Context } from "../context.ts";
import { portOf, present, type ServeOptions } from "./serve.ts";

/** Serves the dashboard over replayed recordings, in a temporary home that is deleted on exit. */
export async function demo(context: Context, options: ServeOptions): Promise<void> {
  const port = portOf(options.port);
  const { serveDemo } = await import("../../server/serve.ts");
  const served = await serveDemo({
    env: context.env,
    notify: context.terminal.notify,
    port,
    host: options.host ?? null,
  });
  await present(context, served, options);
}
