import { keptToken } from "../../app/access.ts";
import { Failure } from "../../app/failure.ts";
import { printJson } from "../../core/json.ts";
import type { Context } from "../context.ts";

export const TOKEN_ACTIONS = ["show", "link"] as const;

export interface TokenOptions {
  readonly proxy?: boolean;
}

export const TOKEN_HELP =
  '\nYour own processes need no token where the system tells whose they are, as Linux does. Elsewhere retinue\'s own commands and the browser that it opens carry it by themselves; others send it: curl -H "Authorization: Bearer $(retinue token show)" …\n';

/** Prints what lets other programs in, or an address that lets a browser in. */
export async function token({ terminal, env, json }: Context, action: (typeof TOKEN_ACTIONS)[number], options: TokenOptions): Promise<void> {
  const { addressFrom, runningInstance } = await import("../../server/instance.ts");
  if (options.proxy === true && action === "link") throw new Failure("usage", "--proxy does not go with link", ["write retinue token show --proxy"]);
  const running = options.proxy === true ? null : await runningInstance(env);
  if (action === "link" && running === null) throw new Failure("not_found", "no server runs", ["next: retinue serve"]);
  const [name, value] =
    action === "link" && running !== null
      ? ["address", await addressFrom(running)]
      : ["token", running?.token ?? keptToken(env, options.proxy === true ? "proxy-token" : "token")];
  terminal.out(json ? printJson({ [name]: value }) : value);
}
