import { listPrice } from "../../app/prices.ts";
import { treeOf } from "../../core/record.ts";
import type { Context } from "../context.ts";
import { renderTree } from "../render/tree.ts";

export async function tree(context: Context, uri: string, options: { readonly all?: boolean }): Promise<void> {
  const { machine, agents } = await context.find(uri);
  const found = treeOf(machine.forest, agents[0].key, listPrice);
  context.terminal.out(context.json ? JSON.stringify(found, null, 2) : renderTree(found, context.terminal, { all: options.all === true }));
}
