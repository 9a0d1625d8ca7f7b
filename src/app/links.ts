import type { AgentKey } from "../core/ids.ts";
import { agentOf, type LinkedAgent, subtreeOf } from "../core/link.ts";
import { Failure } from "./failure.ts";
import type { Env } from "./home.ts";
import { keep, type Library } from "./library.ts";
import { resolve } from "./resolve.ts";

/** Where an agent stands after its link was changed by hand. */
export interface Relinked {
  readonly uri: string;
  /** Null where it stands on its own. */
  readonly parent: string | null;
  /** Threads in which something moved. */
  readonly threads: ReadonlySet<AgentKey>;
}

/** Puts an agent under another by hand: wins over every other rule until it is taken back. */
export async function linkByHand(library: Library, env: Env, childUri: string, parentUri: string): Promise<Relinked> {
  const { child, parent } = pair(library, childUri, parentUri);
  const kept = await keep(env);
  try {
    kept.link(child.key, parent.key, Date.now());
  } finally {
    kept.close();
  }
  return standing(library, child.key);
}

function pair(library: Library, childUri: string, parentUri: string): { readonly child: LinkedAgent; readonly parent: LinkedAgent } {
  const keys = [resolve(library, childUri).key, resolve(library, parentUri).key] as const;
  const forest = library.forestOf(keys);
  const [child, parent] = [agentOf(forest, keys[0]), agentOf(forest, keys[1])];
  if (subtreeOf(forest, child.key).includes(parent.key))
    throw new Failure("failed", `${parent.uri} is ${child.key === parent.key ? "the agent itself" : `below ${child.uri}`}: that would be a circle`, [
      "next: name a parent outside it",
    ]);
  return { child, parent };
}

/** Takes a manual link back; the evidence of the records decides again. */
export async function unlinkByHand(library: Library, env: Env, childUri: string): Promise<Relinked> {
  const child = resolve(library, childUri);
  const kept = await keep(env);
  try {
    if (!kept.unlink(child.key)) throw new Failure("not_found", `${child.uri} has no manual link`, [`next: retinue why ${child.uri}`]);
  } finally {
    kept.close();
  }
  return standing(library, child.key);
}

async function standing(library: Library, key: AgentKey): Promise<Relinked> {
  const threads = await library.refreshPaths([]);
  const forest = library.forestOf([key]);
  const { uri, parent } = agentOf(forest, key);
  return { uri, parent: parent === null ? null : agentOf(forest, parent).uri, threads };
}
