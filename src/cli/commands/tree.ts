import type { Context } from "../context.ts";
import { renderTree } from "../render/tree.ts";

export async function tree(context: Context, uri: string, options: { readonly all?: boolean }): Promise<void> {
  const { forest, agents } = await context.find(uri);
  const found = context.treeOf(forest, agents[0].key);
  context.terminal.out(context.json ? JSON.stringify(found, null, 2) : renderTree(found, context.terminal, { all: options.all === true }));
}
