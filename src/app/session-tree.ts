import { readdirSync } from "node:fs";
import { get } from "node:http";
import { join } from "node:path";
import type { AgentTree } from "../core/agent.ts";
import { threadKey } from "../core/ids.ts";
import type { JsonObject } from "../core/json.ts";
import { formatUri } from "../core/uri.ts";
import { type StatusAsked, statusAsked } from "../providers/status-lines.ts";
import type { Env } from "./home.ts";
import { notedInstance } from "./instance-note.ts";

export { readInput } from "../transports/bounded.ts";
export type { StatusAsked };

/** Whom a status line is asked for; null for what no product asks. */
export const askedFor = (json: JsonObject): StatusAsked | null => statusAsked(json);

/** One that is too busy is not waited for. */
const ANSWER_MS = 100;

/** The tree of one session, as quickly as it can be had: from the server that runs, else from the files of that session alone. */
export async function sessionTree(asked: StatusAsked, env: Env): Promise<AgentTree | null> {
  return (await fromServer(asked, env)) ?? fromFiles(asked, env);
}

function fromServer({ provider, thread }: StatusAsked, env: Env): Promise<AgentTree | null> {
  const server = notedInstance(env);
  if (server === null) return Promise.resolve(null);
  const url = new URL(`/api/agents/${encodeURIComponent(formatUri(provider, thread, null))}`, server.url);
  const headers = server.token === null ? {} : { Authorization: `Bearer ${server.token}` };
  return new Promise((resolve) => {
    const request = get(url, { headers, timeout: ANSWER_MS }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => resolve(answer.statusCode === 200 ? (JSON.parse(Buffer.concat(parts).toString("utf8")) as AgentTree) : null));
      answer.on("error", () => resolve(null));
    });
    request.on("timeout", () => request.destroy());
    request.on("error", () => resolve(null));
  });
}

/** Loaded only where no server runs. Without costs: the price list takes longer to load than all the rest. */
async function fromFiles({ provider, thread, transcript, folder }: StatusAsked, env: Env): Promise<AgentTree | null> {
  const [{ openLibrary }, { loadSettings }, { treeOf }, { knownRoots }] = await Promise.all([
    import("./open.ts"),
    import("./settings.ts"),
    import("../core/record.ts"),
    import("./discover.ts"),
  ]);
  const settings = await loadSettings(env);
  const library = await openLibrary({ env, settings, talk: () => {} });
  try {
    library.lookBelow(knownRoots(env, settings.values["roots.<provider>"]));
    await library.refreshPaths([...(transcript === null ? [] : [transcript]), ...(folder === null ? [] : filesBelow(folder))]);
    const key = threadKey(provider, thread);
    const forest = library.forestOf([key]);
    return forest.agents.has(key) ? treeOf(forest, key, () => null) : null;
  } finally {
    library.close();
  }
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) => (entry.isFile() ? [join(entry.parentPath, entry.name)] : []));
  } catch {
    // It has no agents yet.
    return [];
  }
}
