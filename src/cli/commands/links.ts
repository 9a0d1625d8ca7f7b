import { Failure } from "../../app/failure.ts";
import { keep } from "../../app/library.ts";
import { agentOf, subtreeOf } from "../../core/link.ts";
import type { Context } from "../context.ts";

export async function link(context: Context, childUri: string, parentUri: string): Promise<void> {
  const { library, forest, agents } = await context.find(childUri, parentUri);
  const [child, parent] = agents;
  if (subtreeOf(forest, child.key).includes(parent.key))
    throw new Failure("failed", `${parent.uri} is ${child.key === parent.key ? "the agent itself" : `below ${child.uri}`}: that would be a circle`, [
      "next: name a parent outside it",
    ]);
  const kept = await keep(context.env);
  try {
    kept.link(child.key, parent.key, Date.now());
  } finally {
    kept.close();
  }
  await library.refresh();
  const now = agentOf(library.forestOf([child.key]), child.key);
  report(context, { linked: now.uri, parent: parent.uri }, `linked ${now.uri} under ${parent.uri}; undo with: retinue unlink ${now.uri}`);
}

export async function unlink(context: Context, childUri: string): Promise<void> {
  const { library, agents } = await context.find(childUri);
  const [child] = agents;
  const kept = await keep(context.env);
  try {
    if (!kept.unlink(child.key)) throw new Failure("not_found", `${child.uri} has no manual link`, [`next: retinue why ${child.uri}`]);
  } finally {
    kept.close();
  }
  await library.refresh();
  const forest = library.forestOf([child.key]);
  const now = agentOf(forest, child.key);
  const parent = now.parent === null ? null : agentOf(forest, now.parent).uri;
  report(
    context,
    { unlinked: now.uri, parent },
    `${now.uri} stands ${parent === null ? "on its own" : `under ${parent}`} again, by the evidence of the records`,
  );
}

function report(context: Context, json: object, words: string) {
  context.terminal.out(context.json ? JSON.stringify(json, null, 2) : words);
}
