import { Help } from "commander";
import type { Env } from "../app/home.ts";
import { settingsPath } from "../app/settings/settings.ts";
import { SETTINGS } from "../app/settings/settings-table.ts";

/** All settings keys, formatted like the option lists of `retinue --help`. */
export function settingsHelp(env: Env, width = 80): string {
  const help = new Help();
  help.prepareContext({ helpWidth: width });
  const rows = Object.entries(SETTINGS);
  const longest = Math.max(...rows.map(([key]) => key.length));
  const items = rows.map(([key, { text, shown }]) => help.formatItem(key, longest, `${text} Default: ${shown}.`, help));
  return help
    .formatItemList(`Settings, in ${settingsPath(env)}:`, items, help)
    .join("\n")
    .trimEnd();
}
