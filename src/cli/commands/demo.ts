import { openDemo } from "../../app/demo.ts";
import type { Context } from "../context.ts";
import { portOf, present, type ServeOptions } from "./serve.ts";

/** The dashboard over recordings that happen again, in a home that is gone afterwards. */
export async function demo(context: Context, options: ServeOptions): Promise<void> {
  const port = portOf(options.port);
  const { serve } = await import("../../server/serve.ts");
  const { env, settings, close } = openDemo(context.env);
  try {
    const served = await serve({ env, settings, talk: context.terminal.talk, port, host: options.host ?? null, isDemo: true });
    await present(context, served, options);
  } finally {
    await close();
  }
}
