/** Preloaded into a run of the command line: writes the packages that it loaded to a file, one per line. */
import { writeFileSync } from "node:fs";
import { registerHooks } from "node:module";

const loaded = new Set<string>();
registerHooks({
  load(url, context, next) {
    const name = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1] ?? (url.startsWith("node:") ? url : null);
    if (name !== null) loaded.add(name);
    return next(url, context);
  },
});
process.on("exit", () => writeFileSync(process.env.NOTE_PACKAGES ?? "", [...loaded].join("\n")));
