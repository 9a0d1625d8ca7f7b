import { homedir } from "node:os";
import { join } from "node:path";

export type Env = Readonly<Record<string, string | undefined>>;

export const userHome = (env: Env) => env.HOME || homedir();

/** Where retinue keeps its own data. */
export function retinueHome(env: Env): string {
  return env.RETINUE_HOME || join(env.XDG_DATA_HOME || join(userHome(env), ".local", "share"), "retinue");
}
