import { type Imported, importFile } from "../../app/import/import.ts";
import { plural } from "../../core/tools/format.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";

/** `retinue import <file>`: imports a transcript from another machine, or the output of an agent's command. */
export async function importTranscript(
  context: Context,
  path: string,
  options: { readonly replace?: boolean },
): Promise<void> {
  const imported = await importFile(path, {
    env: context.env,
    replace: options.replace === true,
    stdin: context.host.stdin,
  });
  const { out, notify, colors } = context.terminal;
  if (context.json) return out(printJson(imported, 2));
  out(summaryOf(imported));
  for (const uri of imported.uris.slice(1)) out(`it also contains ${uri}`);
  notify(colors.dim(`next: retinue tree ${imported.uri}`));
}

function summaryOf({ uri, did, files }: Imported): string {
  const counted = (fate: Imported["did"], what: string) => {
    const number = files.filter((file) => file.did === fate).length;
    return number === 0 ? [] : [`${plural(number, "file")} ${what}`];
  };
  switch (did) {
    case "added":
      return `imported ${uri}: ${plural(files.length, "file")}`;
    case "same":
      return `${uri} is already imported and unchanged`;
    case "replaced":
      return `replaced ${uri}: ${plural(files.length, "file")}`;
    case "continued":
      return `updated ${uri}: ${[...counted("added", "new"), ...counted("continued", "longer"), ...counted("replaced", "changed")].join(", ")}`;
    default:
      return did satisfies never;
  }
}
