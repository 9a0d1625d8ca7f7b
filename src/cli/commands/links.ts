import { linkByHand, unlinkByHand } from "../../app/kept/links.ts";
import { checkTarget } from "../../app/query/resolve.ts";
import { printJson } from "../../core/tools/json.ts";
import type { Context } from "../context.ts";

export async function link(context: Context, childUri: string, parentUri: string): Promise<void> {
  for (const uri of [childUri, parentUri]) checkTarget(uri);
  const { uri, parent } = await linkByHand(await context.library(), context.env, childUri, parentUri);
  report(context, { linked: uri, parent }, `linked ${uri} under ${parent}; undo with: retinue unlink ${uri}`);
}

export async function unlink(context: Context, childUri: string): Promise<void> {
  checkTarget(childUri);
  const { uri, parent } = await unlinkByHand(await context.library(), context.env, childUri);
  report(
    context,
    { unlinked: uri, parent },
    `removed the manual link of ${uri}; its parent is now ${parent ?? "none"}`,
  );
}

function report(context: Context, json: object, text: string) {
  context.terminal.out(context.json ? printJson(json, 2) : text);
}
