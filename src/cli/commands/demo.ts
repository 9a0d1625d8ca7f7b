import type { Context } from "../context.ts";
import { portOf, present, type ServeOptions } from "./serve.ts";

/** The dashboard over recordings that happen again, in a home that is gone afterwards. */
export async function demo(context: Context, options: ServeOptions): Promise<void> {
  const port = portOf(options.port);
  const { serveDemo } = await import("../../server/serve.ts");
  const served = await serveDemo({ env: context.env, talk: context.terminal.talk, port, host: options.host ?? null });
  await present(context, served, options);
}
