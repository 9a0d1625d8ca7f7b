import { join } from "node:path";
import { loadToken } from "../../app/access.ts";
import { Failure } from "../../app/failure.ts";
import { retinueHome } from "../../app/home.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";

export const TOKEN_ACTIONS = ["show", "link"] as const;
/** Actions on the tokens of a team server. */
export const TEAM_TOKEN_ACTIONS = ["create", "list", "revoke", "unshare"] as const;

export interface TokenOptions {
  readonly proxy?: boolean;
}

export const TOKEN_HELP =
  '\nYour own processes need no token on systems that report the owner of a connection, such as Linux. Elsewhere retinue\'s own commands and the browser it opens send the token automatically; other programs must send it: curl -H "Authorization: Bearer $(retinue token show)" …\n';

/** Prints the access token, or a URL that gives a browser access. */
export async function token(
  { terminal, env, json }: Context,
  action: (typeof TOKEN_ACTIONS)[number],
  options: TokenOptions,
): Promise<void> {
  const { addressFrom, runningInstance } = await import("../../server/instance.ts");
  if (options.proxy === true && action === "link")
    throw new Failure("usage", "--proxy cannot be used with link", ["write retinue token show --proxy"]);
  const running = options.proxy === true ? null : await runningInstance(env);
  if (action === "link" && running === null)
    throw new Failure("not_found", "no server is running", ["next: retinue serve"]);
  const [name, value] =
    action === "link" && running !== null
      ? ["address", await addressFrom(running)]
      : ["token", running?.token ?? storedToken(env, options.proxy === true ? "proxy-token" : "token")];
  terminal.out(json ? printJson({ [name]: value }) : value);
}

/** Throws if the token cannot be stored: then no server would accept it. */
function storedToken(env: Context["env"], name: "token" | "proxy-token"): string {
  const token = loadToken(env, name);
  if (loadToken(env, name) === token) return token;
  throw new Failure("failed", `the token cannot be stored in ${join(retinueHome(env), name)}`, [
    "make it a writable file, or remove it",
  ]);
}
