import { fileURLToPath } from "node:url";
import { readMachine } from "../../app/machine.ts";
import { resolve, searched } from "../../app/resolve.ts";
import type { Context } from "../context.ts";
import { plural } from "../render/format.ts";
import { renderTree } from "../render/tree.ts";
import { renderThreads } from "./ls.ts";

const SHOWN = 10;
/** A recorded session that comes with the package, for machines where no agent has worked yet. */
const EXAMPLE = fileURLToPath(new URL("../../../examples/claude", import.meta.url));

/** What a person sees who only types the name: the newest threads, and the tree of the one that runs or is newest. */
export async function overview(context: Context): Promise<void> {
  const library = await context.library();
  const { out, talk, colors } = context.terminal;
  const found = [...library.threads({ limit: SHOWN })];
  if (context.json) return out(JSON.stringify(found, null, 2));
  const [newest] = found;
  if (newest === undefined) {
    talk(`No agent has worked here yet (${searched(library)}). This is what a recorded session looks like:\n`);
    return out(await exampleTree(context));
  }
  out(colors.bold(found.length < SHOWN ? plural(found.length, "thread") : `The newest ${SHOWN} threads`));
  out(renderThreads(found, context.terminal, library.now()));
  const shown = found.find((record) => record.status === "running") ?? newest;
  if (shown.counts.descendants > 0) {
    const { key } = resolve(library, shown.uri);
    out(`\n${renderTree(context.treeOf(library.forestOf([key]), key), context.terminal, { all: false })}`);
  }
  talk(colors.dim("\nretinue tree <thread> shows a tree, retinue <thread>/<agent> one agent, retinue --help the rest"));
}

async function exampleTree(context: Context): Promise<string> {
  const { forest } = await readMachine({ env: { ...context.env, CLAUDE_CONFIG_DIR: EXAMPLE } });
  const [root] = forest.roots;
  return root === undefined ? "(the example is missing from this installation)" : renderTree(context.treeOf(forest, root), context.terminal, { all: false });
}
