import { fileURLToPath } from "node:url";
import { readMachine } from "../../app/machine.ts";
import { listPrice } from "../../app/prices.ts";
import { threads } from "../../app/threads.ts";
import { treeOf, withoutChildren } from "../../core/record.ts";
import type { Context } from "../context.ts";
import { plural } from "../render/format.ts";
import { renderTree } from "../render/tree.ts";
import { renderThreads } from "./ls.ts";

const SHOWN = 10;
/** A recorded session that comes with the package, for machines where no agent has worked yet. */
const EXAMPLE = fileURLToPath(new URL("../../../examples/claude", import.meta.url));

/** What a person sees who only types the name: the newest threads and the newest tree. */
export async function overview(context: Context): Promise<void> {
  const machine = await context.machine();
  const { out, talk, colors } = context.terminal;
  const found = [...threads(machine, { limit: SHOWN })];
  if (context.json) return out(JSON.stringify(found.map(withoutChildren), null, 2));
  const [newest] = found;
  if (newest === undefined) {
    const searched = machine.roots.map((root) => root.path).join(", ");
    talk(`No agent has worked here yet (searched: ${searched}). This is what a recorded session looks like:\n`);
    return out(await exampleTree(context));
  }
  const all = machine.forest.roots.length;
  out(colors.bold(`${plural(all, "thread")} on this machine${all > SHOWN ? `, the newest ${SHOWN}` : ""}`));
  out(renderThreads(found, context.terminal, machine.forest.now));
  const busiest = found.find((t) => t.status === "running") ?? newest;
  if (busiest.counts.descendants > 0) out(`\n${renderTree(busiest, context.terminal, { all: false })}`);
  talk(colors.dim("\nretinue tree <thread> shows a tree, retinue <thread>/<agent> one agent, retinue --help the rest"));
}

async function exampleTree(context: Context): Promise<string> {
  const { forest } = await readMachine({ env: { ...context.env, CLAUDE_CONFIG_DIR: EXAMPLE } });
  const [root] = forest.roots;
  return root === undefined ? "(the example is missing from this installation)" : renderTree(treeOf(forest, root, listPrice), context.terminal, { all: false });
}
