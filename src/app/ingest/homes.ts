import type { Provider } from "../../core/ports/provider.ts";
import { inside } from "../../transports/system/paths.ts";
import { type Env, retinueHome, userHome } from "../home.ts";

/** A placeholder for the home folder. */
const HOME = "/home-folder";

/**
 * The home folder that a product's file belongs to. Agents of different homes are never linked by inference. A file
 * below a folder that products use by default belongs to the home around that folder; other files belong to the user
 * who set their folder. Imported files have no home: they may come from anywhere. A recording of retinue does not show it.
 */
export function homesOf(env: Env, providers: readonly Provider[]): (path: string) => string | null | undefined {
  const usual = [
    ...new Set(
      providers.flatMap((provider) =>
        provider
          .roots({}, HOME)
          .map((root) => root.replaceAll("\\", "/"))
          .filter((root) => root.startsWith(`${HOME}/`))
          .map((root) => `${root.slice(HOME.length).replace(/\*.*$/, "")}/`.replace(/\/+$/, "/")),
      ),
    ),
  ];
  const [retinue, own] = [retinueHome(env), userHome(env)];
  return (path) => {
    const name = inside(retinue, path)?.split("/", 1)[0];
    if (name === "imported") return null;
    if (name === "recordings") return undefined;
    const plain = path.replaceAll("\\", "/");
    const starts = usual.map((folder) => plain.indexOf(folder)).filter((at) => at > 0);
    return starts.length === 0 ? own : plain.slice(0, Math.min(...starts));
  };
}
