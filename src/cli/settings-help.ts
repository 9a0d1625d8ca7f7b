import { Help } from "commander";
import type { Env } from "../app/home.ts";
import { settingsPath } from "../app/settings.ts";
import { SETTINGS } from "../app/settings-table.ts";

/** Every key of the settings file, in the form of the lists above it in `retinue --help`. */
export function settingsHelp(env: Env, width = 80): string {
  const help = new Help();
  help.prepareContext({ helpWidth: width });
  const rows = Object.entries(SETTINGS).filter(([, setting]) => setting.hasEffect);
  const idle = Object.entries(SETTINGS).flatMap(([key, setting]) => (setting.hasEffect ? [] : [key]));
  const longest = Math.max(...rows.map(([key]) => key.length));
  const items = [
    ...rows.map(([key, { says, shown }]) => help.formatItem(key, longest, `${says} Default: ${shown}.`, help)),
    ...(idle.length === 0 ? [] : [indented(help.boxWrap(`Understood and checked, without effect in this version: ${idle.join(", ")}.`, width - 2))]),
  ];
  return help
    .formatItemList(`Settings, in ${settingsPath(env)}:`, items, help)
    .join("\n")
    .trimEnd();
}

const indented = (text: string) => text.replace(/^/gm, "  ");
