import { join } from "../../transports/system/paths.ts";
import { type Env, userHome } from "../home.ts";

export function settingsPath(env: Env): string {
  return env.RETINUE_CONFIG || join(env.XDG_CONFIG_HOME || join(userHome(env), ".config"), "retinue", "config.yaml");
}
