import { type Imported, importFile } from "../../app/import.ts";
import { plural } from "../../core/format.ts";
import { printJson } from "../../core/json.ts";
import type { Context } from "../context.ts";

/** `retinue import <file>`: a transcript from elsewhere, or the output of an agent, becomes one like all the others. */
export async function importTranscript(context: Context, path: string, options: { readonly replace?: boolean }): Promise<void> {
  const imported = await importFile(path, { env: context.env, replace: options.replace === true, stdin: process.stdin });
  const { out, talk, colors } = context.terminal;
  if (context.json) return out(printJson(imported, 2));
  out(words(imported));
  for (const uri of imported.uris.slice(1)) out(`it tells of ${uri} as well`);
  talk(colors.dim(`retinue tree ${imported.uri} shows it`));
}

function words({ uri, did, files }: Imported): string {
  const counted = (fate: Imported["did"], what: string) => {
    const number = files.filter((file) => file.did === fate).length;
    return number === 0 ? [] : [`${plural(number, "file")} ${what}`];
  };
  switch (did) {
    case "added":
      return `imported ${uri}: ${plural(files.length, "file")}`;
    case "same":
      return `${uri} is here already, just as it is there`;
    case "replaced":
      return `replaced ${uri}: ${plural(files.length, "file")}`;
    case "continued":
      return `brought ${uri} up to date: ${[...counted("added", "new"), ...counted("continued", "longer"), ...counted("replaced", "changed")].join(", ")}`;
    default:
      return did satisfies never;
  }
}
