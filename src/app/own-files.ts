import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder of this package. The build moves modules between folders, so it is found by its package.json. */
function packageRoot(): URL {
  let folder = new URL("./", import.meta.url);
  while (!existsSync(new URL("package.json", folder))) {
    const above = new URL("../", folder);
    if (above.href === folder.href) throw new Error(`no package.json above ${import.meta.url}`);
    folder = above;
  }
  return folder;
}

/** The path of a file of this package, such as `bin/retinue.js`. */
export const ownFile = (path: string): string => fileURLToPath(new URL(path, packageRoot()));

/** A module that runs in a thread or process of its own, such as `app/runs/run-standby`: its source, or as built. */
export const ownModule = (name: string): string =>
  ownFile(import.meta.url.endsWith(".ts") ? `src/${name}.ts` : `dist/${name}.js`);
